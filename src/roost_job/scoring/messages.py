"""A request as a handler sees it, and the conversion of a handler's result to an answer. Python 3.6+, standard library only."""

import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union

from roost_job.scoring import frames

JSON = "application/json"
_POST = b'{"method":"POST",'
"""The start of most requests' heads: it shows the method without parsing the rest."""


class Refused(Exception):
    """A handler raises it when a request is the caller's mistake: the message is the answer, with this status."""

    def __init__(self, message: str, status: int = 400) -> None:
        super(Refused, self).__init__(message)
        self.message = message
        self.status = status


class NotJson(TypeError):
    """A handler's result has no JSON form."""


class Request(object):
    """One request. `method`, `path` and `query` are as sent; the names in `headers` are lower-case; `body` is bytes."""

    __slots__ = ("_fields", "_head", "body")

    def __init__(self, head: bytes, body: bytes) -> None:
        self._head = head
        self._fields: Optional[Dict[str, Any]] = None
        self.body = body

    def _field(self, name: str) -> Any:
        if self._fields is None:  # parsed on demand, since most handlers use only the body
            self._fields = frames.head_of(self._head)
        return self._fields.get(name)

    @property
    def method(self) -> str:
        if self._head.startswith(_POST):
            return "POST"
        return str(self._field("method") or "POST")

    @property
    def path(self) -> str:
        return str(self._field("path") or "/score")

    @property
    def query(self) -> str:
        return str(self._field("query") or "")

    @property
    def headers(self) -> Mapping[str, str]:
        found = self._field("headers")
        return found if isinstance(found, dict) else {}

    def text(self) -> str:
        """The body as UTF-8 text. Refused when it is not UTF-8."""
        try:
            return self.body.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Refused("The request's body is no UTF-8 text: %s." % error)

    def json(self) -> Any:
        """The body as JSON. Refused when it is not JSON."""
        text = self.text()
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refused("The request's body is no JSON: %s." % error)


class Response(object):
    """An answer: bytes, a status, headers."""

    __slots__ = ("body", "headers", "status")

    def __init__(
        self,
        body: Union[bytes, bytearray, memoryview, str] = b"",
        status: int = 200,
        headers: Optional[Mapping[str, str]] = None,
    ) -> None:
        self.body = body.encode("utf-8") if isinstance(body, str) else bytes(body)
        self.status = status
        self.headers = dict(headers) if headers else {"content-type": JSON}


def response_of(value: Any) -> Response:
    """A handler's result as an answer: bytes unchanged, everything else as JSON (NumPy by `tolist`).

    Text is a JSON string, as on Azure's hosts: `service.run()` returns what `run()` returns. TypeError for a value without a JSON
    form.
    """
    if isinstance(value, Response):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Response(value, headers={"content-type": "application/octet-stream"})
    if isinstance(value, Iterator):
        return _of_pieces(value)
    return Response(json.dumps(value, default=plain))


def plain(value: Any) -> Any:
    """For `json.dumps(default=)`: NumPy, pandas, torch and tensorflow values, dates, sets, paths and the like."""
    for name in ("tolist", "isoformat"):
        method = getattr(value, name, None)
        if callable(method):
            return method()
    if callable(getattr(value, "to_dict", None)):  # a pandas frame: a list of records
        return value.to_dict(orient="records")
    if callable(getattr(value, "numpy", None)):
        return value.numpy().tolist()
    if isinstance(value, (set, frozenset)):
        return list(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8")
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    raise NotJson("a value of type %s cannot be written as JSON" % type(value).__name__)


def _of_pieces(pieces: Iterator[Any]) -> Response:
    """A generator of text or bytes is one body; of anything else, a JSON list."""
    got: List[Any] = list(pieces)
    if got and all(isinstance(piece, str) for piece in got):
        return Response("".join(got))
    if got and all(isinstance(piece, (bytes, bytearray)) for piece in got):
        return Response(b"".join(got), headers={"content-type": "application/octet-stream"})
    return Response(json.dumps(got, default=plain))
