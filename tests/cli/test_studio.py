"""`roost open`: a link that lets a browser in, once."""

import http.client
import json
from urllib.parse import urlsplit

from tests.cli.test_cli import roost

from roost import Experiment, Workspace


def visit(link: str) -> tuple[str, bool]:
    """Where it leads, and whether a cookie came with it."""
    place = urlsplit(link)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)
    try:
        connection.request("GET", f"{place.path}?{place.query}")
        answer = connection.getresponse()
        return answer.headers["location"], "set-cookie" in answer.headers
    finally:
        connection.close()


def test_a_link_that_works_once(workspace: Workspace) -> None:
    link = roost("open").strip()
    assert link.startswith(f"{workspace._connection.url}/login?code=roost_")
    assert [visit(link), visit(link)] == [("/", True), ("/?login=expired", False)]
    run = Experiment(workspace, "birds").start_logging()
    run.complete()
    shown = json.loads(roost("open", "@latest", "--json"))
    assert shown["seconds"] == 60
    assert visit(shown["link"]) == (f"/runs/{run.id}", True)
    assert "There is no run 'nothing'" in roost("open", "nothing", code=1)
