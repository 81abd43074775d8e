"""`@rawhttp`, AMLRequest and AMLResponse: HTTP for an entry script, with the interface of Flask, which Azure's hosts used.

Read-only views on one request; parsed only on access. Python 3.6 and later, standard library only.
"""

import io
import json
from http.cookies import CookieError, SimpleCookie
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, TypeVar, Union
from urllib.parse import parse_qsl

from roost_job.scoring import multipart
from roost_job.scoring.messages import JSON, Refused, Request, plain

Run = TypeVar("Run", bound=Callable[..., Any])
_asked: List[
    Callable[..., Any]
] = []  # decorated functions: another decorator above may hide the mark on the function itself


def rawhttp(func: Run) -> Run:
    """Decorates `run(request)`: it gets the request itself, an AMLRequest, of any method."""
    _asked.append(func)
    return func


def wanted() -> bool:
    """True when any function of this process is decorated with it."""
    return bool(_asked)


class Values(Dict[str, Any]):
    """Names with one or more values each: `values["a"]` is the first, `values.getlist("a")` all."""

    def __init__(self, pairs: List[Tuple[str, Any]]) -> None:
        super(Values, self).__init__()
        self._all: Dict[str, List[Any]] = {}
        for name, value in pairs:
            self._all.setdefault(name, []).append(value)
            self.setdefault(name, value)

    def get(self, key: str, default: Any = None, type: Optional[Callable[[Any], Any]] = None) -> Any:  # noqa: A002
        """The first value, converted by `type`, or the default when that fails."""
        if key not in self:
            return default
        try:
            return self[key] if type is None else type(self[key])
        except ValueError:
            return default

    def getlist(self, key: str) -> List[Any]:
        return list(self._all.get(key, ()))

    def to_dict(self, flat: bool = True) -> Dict[str, Any]:
        return dict(self) if flat else {name: list(values) for name, values in self._all.items()}


class Headers(object):
    """Headers with case-insensitive names."""

    def __init__(self, given: Union[Mapping[str, Any], None] = None) -> None:
        self._held: Dict[str, Tuple[str, str]] = {}
        for name, value in (given or {}).items():
            self[name] = value

    def __getitem__(self, name: str) -> str:
        return self._held[name.lower()][1]

    def __setitem__(self, name: str, value: Any) -> None:
        self._held[name.lower()] = (name, str(value))

    def __delitem__(self, name: str) -> None:
        del self._held[name.lower()]

    def __contains__(self, name: object) -> bool:
        return str(name).lower() in self._held

    def __iter__(self) -> Iterator[Tuple[str, str]]:
        return iter(self._held.values())

    def __len__(self) -> int:
        return len(self._held)

    def get(self, name: str, default: Optional[str] = None) -> Optional[str]:
        return self._held.get(name.lower(), (name, default))[1]

    def keys(self) -> List[str]:
        return [name for name, _ in self._held.values()]

    def values(self) -> List[str]:
        return [value for _, value in self._held.values()]

    def items(self) -> List[Tuple[str, str]]:
        return list(self._held.values())

    def add(self, name: str, value: Any) -> None:
        """Adds a value to this name."""
        before = self.get(name)
        self[name] = value if before is None else "%s, %s" % (before, value)

    add_header = set_header = add

    def set(self, name: str, value: Any) -> None:
        self[name] = value

    def remove(self, name: str) -> None:
        self._held.pop(name.lower(), None)

    def update(self, more: Mapping[str, Any]) -> None:
        for name, value in more.items():
            self[name] = value


class AMLRequest(object):
    """The request, as a function under `@rawhttp` gets it."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._form: Optional[Tuple[Values, Values]] = None
        self.method = request.method
        self.path = request.path
        self.headers = Headers({name.title(): value for name, value in request.headers.items()})
        self.environ = {"REQUEST_METHOD": request.method, "PATH_INFO": request.path, "QUERY_STRING": request.query}

    # Its target

    @property
    def query_string(self) -> bytes:
        return self._request.query.encode("utf-8")

    @property
    def full_path(self) -> str:
        return "%s?%s" % (self.path, self._request.query)

    @property
    def host(self) -> str:
        return self.headers.get("host") or "localhost"

    @property
    def scheme(self) -> str:
        return "http"

    @property
    def host_url(self) -> str:
        return "http://%s/" % self.host

    @property
    def base_url(self) -> str:
        return "http://%s%s" % (self.host, self.path)

    @property
    def url(self) -> str:
        return self.base_url + ("?" + self._request.query if self._request.query else "")

    @property
    def args(self) -> Values:
        return Values(parse_qsl(self._request.query, keep_blank_values=True))

    @property
    def values(self) -> Values:
        return Values(
            parse_qsl(self._request.query, keep_blank_values=True)
            + [(name, value) for name in self.form for value in self.form.getlist(name)]
        )

    @property
    def cookies(self) -> Dict[str, str]:
        try:
            return {name: morsel.value for name, morsel in SimpleCookie(self.headers.get("cookie") or "").items()}
        except CookieError:
            return {}

    # Its content

    @property
    def content_type(self) -> Optional[str]:
        return self.headers.get("content-type")

    @property
    def mimetype(self) -> str:
        return (self.content_type or "").partition(";")[0].strip().lower()

    @property
    def content_length(self) -> int:
        return len(self._request.body)

    @property
    def is_json(self) -> bool:
        return self.mimetype == JSON or (self.mimetype.startswith("application/") and self.mimetype.endswith("+json"))

    @property
    def data(self) -> bytes:
        """The body; empty for a form, which `form` and `files` have."""
        return b"" if self.mimetype in multipart.FORMS else self._request.body

    @property
    def stream(self) -> io.BytesIO:
        return io.BytesIO(self._request.body)

    def get_data(self, cache: bool = True, as_text: bool = False) -> Union[bytes, str]:  # noqa: ARG002 - Flask's name
        """The body of any type."""
        return self._request.text() if as_text else self._request.body

    def get_json(self, force: bool = False, silent: bool = False, cache: bool = True) -> Any:  # noqa: ARG002 - Flask's
        """The body as JSON; None when it has another type, unless forced. 400 to the caller when it is not JSON."""
        if not force and not self.is_json:
            return None
        try:
            return self._request.json()
        except Refused:
            if silent:
                return None
            raise

    @property
    def json(self) -> Any:
        return self.get_json()

    @property
    def form(self) -> Values:
        return self._parsed()[0]

    @property
    def files(self) -> Values:
        """Files of a multipart form, each a `multipart.FileStorage`."""
        return self._parsed()[1]

    def _parsed(self) -> Tuple[Values, Values]:
        if self._form is None:
            fields, files = multipart.parse(self.content_type or "", self._request.body)
            self._form = Values(fields), Values(files)
        return self._form

    def __repr__(self) -> str:
        return "<AMLRequest %r [%s]>" % (self.url, self.method)


class AMLResponse(object):
    """An answer with a status and headers. `json_str=True` writes the message as JSON; else it is sent as it is."""

    def __init__(
        self,
        message: Any,
        status_code: int = 200,
        response_headers: Optional[Mapping[str, str]] = None,
        json_str: bool = False,
        run_function_failed: bool = False,
        headers: Optional[Mapping[str, str]] = None,
    ) -> None:
        as_json = json_str or message is None
        if as_json:
            message = json.dumps({} if message is None else message, default=plain)
        elif not isinstance(message, (str, bytes, bytearray, memoryview)):
            message = b"".join(piece.encode("utf-8") if isinstance(piece, str) else bytes(piece) for piece in message)
        self.data = message.encode("utf-8") if isinstance(message, str) else bytes(message)
        self.status_code = int(status_code)
        self.headers = Headers({"Content-Type": JSON if as_json else "text/html; charset=utf-8"})
        if run_function_failed:
            self.headers["x-ms-run-function-failed"] = "true"
        self.headers.update(response_headers or {})
        self.headers.update(headers or {})

    def get_data(self, as_text: bool = False) -> Union[bytes, str]:
        return self.data.decode("utf-8") if as_text else self.data
