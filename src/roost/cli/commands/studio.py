"""`roost open`: lets a browser into the studio, with a link that works once."""

import json
import os
import sys
import webbrowser
from urllib.parse import urlencode

import typer

from roost.cli import session
from roost.cli.inputs.parameters import AS_JSON
from roost.cli.inputs.runs import find_run

_RUN = typer.Argument(
    None, metavar="[RUN]", help="The run to show: its id, a part of it, or @latest. All runs without."
)


def open_studio(
    run: str | None = _RUN,
    browser: bool = typer.Option(True, help="Open the link in a browser, if there is one."),
    as_json: bool = AS_JSON,
) -> None:
    """Print a link to the studio, the pages that show runs, and open it. The link works once, within a minute."""
    workspace = session.workspace()
    asked = {} if run is None else {"run": find_run(workspace, run).id}
    connection = workspace._connection
    invitation = connection.client.call("POST", "/api/sessions")
    link = f"{connection.url}/login?{urlencode({'code': invitation['code'], **asked})}"
    if as_json:
        print(json.dumps({"link": link, "seconds": invitation["seconds"]}, indent=2))
        return
    print(link)
    if browser and sys.stdout.isatty() and not _show(link):
        print("Open it within a minute; it works once.", file=sys.stderr)


def _show(link: str) -> bool:
    """Whether a browser of a desktop could be started; one in the terminal itself would be in the way."""
    has_desktop = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(has_desktop) and webbrowser.open(link)
