"""A run's requests over HTTP: the same ops that the agent's door answers inside a job (docs/how-it-works/wire.md).

So the job library's `Run` works unchanged in a notebook, and on any run that a person opens.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.files import RunFile
from roost.sdk.calls import downloads
from roost.sdk.calls.run_records import pairs
from roost.sdk.connection.connections import Connection
from roost.transport.client import path_of


class HttpLink:
    """`ask(op, **fields)` for one run. `flush` implements the op of that name: ship what this process logged."""

    def __init__(self, connection: Connection, run_id: str, flush: Callable[[], None] = lambda: None) -> None:
        self._connection = connection
        self._run_id = run_id
        self._ops: Mapping[str, Callable[..., Any]] = {
            "run": self._run,
            "annotate": self._annotate,
            "upload": self._upload,
            "files": self._files,
            "download": self._download,
            "metrics": self._metrics,
            "flush": flush,
            "bear": self._bear,
            "children": self._children,
            "report": self._report,
            "cancel": self._cancel,
            "mark": self._mark,
            "restore": self._restore,
            "secrets": self._secrets,
            "uses": self._uses,
        }

    def ask(self, op: str, **fields: Any) -> Any:
        """The answer; raises the errors of `roost.domain.errors`. The transport sets the time limits."""
        fields.pop("timeout_seconds", None)
        return self._ops[op](**fields)

    def _secrets(self, names: Sequence[str]) -> Any:
        route = path_of("runs", self._run_id, "secrets", "values")
        return self._connection.client.call("GET", route, params={"name": list(names)})["secrets"]

    def _uses(self) -> Any:
        return self._connection.client.call("GET", path_of("runs", self._run_id, "datasets"))["uses"]

    def _run(self, after: int | None = None, wait: float = 0.0) -> Any:
        params = {"after": after, "wait": wait} if after is not None else None
        client = self._connection.client if after is None else self._connection.watcher
        return client.call("GET", path_of("runs", self._run_id), params=params, timeout=wait + 30.0)

    def _annotate(self, **changes: Any) -> Any:
        given = {name: value for name, value in changes.items() if value is not None}
        return self._connection.client.call("PATCH", path_of("runs", self._run_id), json=given)

    def _upload(self, files: Sequence[Sequence[str]]) -> Any:
        """Checks the names before the first byte is sent."""
        wanted = {names.path(name): Path(path) for name, path in files}
        try:
            carried = self._connection.bytes.carry(list(wanted.values()))
            times = [path.stat().st_mtime for path in wanted.values()]
        except OSError as error:
            raise InvalidInput(f"{error.filename} cannot be read: {error.strerror or error}.") from None
        put = [
            RunFile(path=name, blob=blob, size=size, modified_at=modified)
            for name, (blob, size), modified in zip(wanted, carried, times, strict=True)
        ]
        return self._connection.client.call(
            "PUT", path_of("runs", self._run_id, "files"), json={"files": [vars(file) for file in put]}
        )

    def _files(self, prefix: str = "") -> list[str]:
        return [file.path for file in downloads.listing(self._connection, self._run_id, prefix)]

    def _download(self, name: str, path: str) -> dict[str, int]:
        return {"size": downloads.fetch(self._connection, self._run_id, name, Path(path))}

    def _bear(self, children: Sequence[Mapping[str, Any]], start: bool = True) -> Any:
        body = {"children": list(children), "start": start}
        return self._connection.client.call("POST", path_of("runs", self._run_id, "children"), json=body)["runs"]

    def _children(
        self,
        recursive: bool = False,
        status: str | None = None,
        kind: str | None = None,
        tags: Mapping[str, str | None] | None = None,
        properties: Mapping[str, str | None] | None = None,
    ) -> Any:
        params = {
            "recursive": "true" if recursive else None,
            "status": status,
            "kind": kind,
            "tag": pairs(tags),
            "property": pairs(properties),
        }
        route = path_of("runs", self._run_id, "children")
        return self._connection.client.call("GET", route, params=params)["runs"]

    def _report(self, **said: str) -> Any:
        return self._connection.client.call("POST", path_of("runs", self._run_id, "events"), json=said)

    def _cancel(self) -> Any:
        return self._connection.client.call("POST", path_of("runs", self._run_id, "cancel"))

    def _mark(self, to: str, message: str) -> Any:
        body = {"to": to, "message": message}
        return self._connection.client.call("POST", path_of("runs", self._run_id, "mark"), json=body)

    def _restore(self, snapshot: str, path: str) -> dict[str, int]:
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        return {"count": self._connection.bytes.lay_out(names.blob(snapshot), folder)}

    def _metrics(self, name: str | None = None, recursive: bool = False, kind: str | None = None) -> Any:
        params = {"name": name, "recursive": "true" if recursive else None, "kind": kind}
        answer = self._connection.client.call("GET", path_of("runs", self._run_id, "metrics"), params=params)
        return answer["metrics"]
