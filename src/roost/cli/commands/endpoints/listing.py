"""`roost endpoint list`."""

import sys
from collections.abc import Sequence
from typing import Any

from roost.cli import rendering, session
from roost.cli.inputs.parameters import AS_JSON
from roost.domain import codec
from roost.sdk.services.webservices import Webservice


def listing(as_json: bool = AS_JSON) -> None:
    """List the endpoints of the workspace."""
    ws = session.workspace()
    found = Webservice.list(ws)
    if as_json:
        rendering.as_json([{**codec.encode(each._record), "scoring_uri": each.scoring_uri} for each in found])
        return
    rows = [
        (
            each.name,
            each._record.state.value,
            ", ".join(_served(each)),
            rendering.ago(each._record.updated_at),
            each.scoring_uri or "",
        )
        for each in found
    ]
    if rows:
        rendering.table(
            ("endpoint", "state", "models", "changed", "address"), rows, drop=("models", "changed"), cut=("models",)
        )
    else:
        words = "Add one with: roost endpoint deploy NAME --model MODEL"
        print(f"No endpoints in workspace {ws.name!r} yet. {words}", file=sys.stderr)


def _served(service: Webservice) -> Sequence[str]:
    found: dict[str, Any] = {each: None for version in service._record.spec.versions for each in version.models}
    return list(found)
