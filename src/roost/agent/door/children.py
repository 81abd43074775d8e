"""The door's ops for child runs and snapshots: they create, list, watch and end children.

The run's token is valid for the runs below it; the control plane checks this.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from roost.agent.link import Link
from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.files import read_manifest
from roost.transport.client import path_of
from roost.transport.guarded_files import OPEN_AT_ONCE, lay, opened

Request = Mapping[str, Any]
LONGEST_WAIT = 25.0
_AT_ONCE = 1024 * 1024


class Family:
    """`settle` returns when the script's uploads are at the control plane; `reach` maps the script's paths to this node's."""

    def __init__(self, link: Link, settle: Callable[[], None], reach: Callable[[Path], Path]) -> None:
        self._link = link
        self._reach = reach
        self._settle = settle
        self.ops: Mapping[str, Callable[[Request], object]] = {
            "bear": self._bear,
            "children": self._children,
            "report": self._report,
            "cancel": self._cancel,
            "mark": self._mark,
            "tail": self._tail,
            "restore": self._restore,
            "carry": self._carry,
            "has": self._has,
        }

    def path(self, request: Request, *parts: str) -> str:
        """The route of the run that the request names; by default the job's own run."""
        return path_of("runs", names.run_id(request.get("run") or self._link.run_id), *parts)

    def _bear(self, request: Request) -> object:
        body = {"children": request.get("children"), "start": request.get("start", True)}
        return self._link.client.call("POST", self.path(request, "children"), json=body)["runs"]

    def _children(self, request: Request) -> object:
        params = {
            "recursive": "true" if request.get("recursive") else None,
            "status": request.get("status"),
            "kind": request.get("kind"),
            "tag": pairs(request.get("tags")),
            "property": pairs(request.get("properties")),
        }
        return self._link.client.call("GET", self.path(request, "children"), params=params)["runs"]

    def _report(self, request: Request) -> object:
        """Reports the start or end of a child, after the script's uploads to it have arrived."""
        self._settle()
        said = {name: request.get(name, "") for name in ("to", "reason", "message")}
        return self._link.client.call("POST", self.path(request, "events"), json=said)

    def _cancel(self, request: Request) -> object:
        return self._link.client.call("POST", self.path(request, "cancel"))

    def _mark(self, request: Request) -> object:
        said = {name: request.get(name, "") for name in ("to", "message")}
        return self._link.client.call("POST", self.path(request, "mark"), json=said)

    def _tail(self, request: Request) -> object:
        """A part of a run's log; each byte is sent as the character of that number, since JSON has no bytes."""
        params = {"offset": int(request.get("offset") or 0), "wait": wait_of(request), "limit": _AT_ONCE}
        route = self.path(request, "streams", names.path(request.get("name")))
        answer = self._link.client.fetch("GET", route, params=params, timeout=LONGEST_WAIT + 30)
        return {
            "data": answer.body.decode("latin-1"),
            "offset": int(answer.headers["roost-offset"]),
            "status": answer.headers["roost-status"],
        }

    def _restore(self, request: Request) -> object:
        folder = self._reach(absolute(request.get("path")))
        carrier = self._link.carrier
        entries = read_manifest(carrier.get(names.blob(request.get("snapshot"))))
        lay(carrier.source(entries), entries, folder)
        return {"count": len(entries)}

    def _carry(self, request: Request) -> object:
        """Stores files as blobs, for the snapshot of a submitted child."""
        paths = request.get("paths")
        if not isinstance(paths, list):
            raise InvalidInput(f"`paths` must be a list, got {type(paths).__name__}.")
        real = [self._reach(absolute(path)) for path in paths]
        carried: list[tuple[str, int]] = []
        try:
            for start in range(0, len(real), OPEN_AT_ONCE):
                with opened(real[start : start + OPEN_AT_ONCE]) as some:
                    carried += self._link.carrier.carry(some)
            return carried
        except OSError as error:
            raise InvalidInput(f"{error.filename} cannot be read: {error.strerror}.") from None

    def _has(self, request: Request) -> object:
        wanted = [names.blob(request.get("name"))]
        return not self._link.client.call("POST", "/api/blobs/missing", json={"names": wanted})["missing"]


def wait_of(request: Request) -> float:
    return min(float(request.get("wait") or 0), LONGEST_WAIT)


def pairs(wanted: object) -> list[str] | None:
    """Labels in the form of a URL's query: `k` for any value, `k=v` for one value."""
    if not isinstance(wanted, Mapping):
        return None
    return [str(key) if value is None else f"{key}={value}" for key, value in wanted.items()]


def absolute(path: object) -> Path:
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        raise InvalidInput(f"An absolute path is needed, got {path!r}.")
    return Path(path)
