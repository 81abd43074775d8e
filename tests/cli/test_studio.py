"""`roost open`: a link that lets a browser in, once."""

import http.client
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from roost import Experiment, Workspace

ROOST = str(Path(sys.executable).with_name("roost"))


def roost(*words: str, code: int = 0) -> str:
    done = subprocess.run([ROOST, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


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
