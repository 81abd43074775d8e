"""The door's model ops: those of `roost.transport.models`, with this run's token and carrier."""

from collections.abc import Callable, Mapping
from typing import Any

from roost.agent.door.children import absolute
from roost.agent.door.door import Door
from roost.domain.errors import InvalidInput
from roost.transport.models import Models

Request = Mapping[str, Any]
_PATHS = ("model_download", "model_place")


def ops(door: Door, workspace: str) -> dict[str, Callable[[Request], object]]:
    """The model ops for the door of a run. The script's paths are absolute, and mapped by `door.reach`."""
    link = door.link
    models = Models(
        lambda: link.client,
        lambda: link.carrier,
        workspace,
        reach=lambda path: door.reach(path),
        settle=door.settle,
    )
    return {name: _checked(name, op) for name, op in models.ops.items()}


def _checked(name: str, op: Callable[[Request], object]) -> Callable[[Request], object]:
    def asked(request: Request) -> object:
        if name in _PATHS:
            absolute(request.get("path"))
        files = request.get("files")
        if files is not None and not isinstance(files, list):
            raise InvalidInput(f"`files` must be a list of [name, path], got {type(files).__name__}.")
        for pair in files or ():
            if not (isinstance(pair, list) and len(pair) == 2):
                raise InvalidInput(f"`files` must be a list of [name, path], got {pair!r} in it.")
            absolute(pair[1])
        return op(request)

    return asked
