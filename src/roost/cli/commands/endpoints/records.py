"""`roost endpoint records`: recorded requests and their answers, and what scripts collected."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from roost.cli import rendering, session
from roost.cli.inputs.parameters import AS_JSON, ENDPOINT
from roost.sdk.calls import endpoints
from roost.sdk.services.webservices import Webservice

_LONGEST = 100
"""Characters of a body that are shown."""


def records(
    name: str = ENDPOINT,
    limit: int = typer.Option(20, "--limit", "-n", help="How many of the newest."),
    as_json: bool = AS_JSON,
) -> None:
    """Print recorded requests and answers, the newest first. What is recorded: roost endpoint update NAME --record 0.1"""
    service = Webservice(session.workspace(), name)
    found = endpoints.records(service.workspace, name, limit)
    if as_json:
        rendering.as_json(found)
    elif found:
        _table(found)
    elif share := service._record.spec.recorded:
        print(f"Nothing is recorded yet: {share * 100:g} % of the requests to come will be.", file=sys.stderr)
    else:
        print(f"Nothing is recorded. Begin with: roost endpoint update {name} --record 0.1", file=sys.stderr)


def _table(found: Sequence[Mapping[str, Any]]) -> None:
    """Recorded requests, one in a line."""
    rows = [
        _collected(each)
        if "collected" in each
        else (
            rendering.clock(float(each["time"])),
            str(each["status"]),
            f"{float(each['seconds']) * 1000:.1f} ms",
            str(each.get("models", "")),
            _body(each, "request"),
            _body(each, "answer"),
        )
        for each in found
    ]
    columns = ("time", "status", "took", "models", "request", "answer")
    rendering.table(columns, rows, drop=("models",), cut=("request", "answer"))


def _collected(each: Mapping[str, Any]) -> tuple[str, ...]:
    """What a script collected, in the row of a request."""
    said = each["collected"]
    number = said.get("row_count")
    rows = f"{number} row{'' if number == 1 else 's'}: {said.get('rows')}"
    words = f"{said.get('designation')} of {said.get('model')}, {rows}"
    return rendering.clock(float(each["time"])), "collected", "", str(each.get("models", "")), words[:_LONGEST], ""


def _body(record: Mapping[str, Any], what: str) -> str:
    text = str(record[what]) if what in record else f"{record.get(f'{what}_bytes', 0)} bytes"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
