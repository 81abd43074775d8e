"""HTTP to the control plane: keep-alive, patient, safe to use from many threads and after a fork.

Every route may be called twice (docs/how-it-works/wire.md), so a call whose connection broke is repeated, at the address that
`locate` then returns: this finds a restarted control plane.
"""

import contextlib
import json as jsonlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from urllib.parse import quote, urlencode

from roost.domain.errors import Busy, DiskFull, RoostError, Unavailable, raise_for

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPResponse

Body = bytes | memoryview | Path
"""The body of a request: bytes, or a file that is read while it is sent."""
Params = Mapping[str, object]
Progress = Callable[[int, int], None]
"""Called with (bytes so far, total bytes or 0)."""

T = TypeVar("T")

START_ONE = "`roost status` shows what is known of it; `roost up` starts the embedded one."
AGAIN = "retry-after"
CLOCK = "roost-clock"
"""The header with the sender's own time."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_LONGEST_WAIT = 10.0
_MOST_IDLE = 8
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Endpoint:
    url: str
    token: str


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class _Later(Exception):
    """The call should be repeated in `seconds`, as the control plane requests."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.status)
        self.response = response
        said = response.headers.get(AGAIN, "")
        share = 0.75 + time.monotonic_ns() % 1000 / 2000  # varied, so that waiting clients do not return all at once
        self.seconds = min(float(said) if said.isdigit() else 1.0, _LONGEST_WAIT) * share


def _answered(answer: "HTTPResponse") -> Response:
    """The whole answer; raises _Later when the call should be repeated: it was too slow, or the control plane is overloaded. A
    503 without the header for a retry means a longer outage, for example of an object store."""
    got = Response(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
    if got.status == 408 or (got.status == 503 and AGAIN in got.headers):
        raise _Later(got)
    return got


def path_of(*parts: str) -> str:
    """`/api/…` with each part quoted; slashes in the last part are kept, as routes for files expect."""
    return "/api/" + "/".join([*(quote(part, safe="") for part in parts[:-1]), quote(parts[-1], safe="/")])


class Client:
    """Requests to one control plane. `patience`: seconds that a call keeps trying without an answer; infinite for agents."""

    def __init__(
        self,
        locate: Callable[[], Endpoint],
        *,
        patience: float = 10.0,
        wanted: Callable[[], bool] = lambda: True,
        hint: str = START_ONE,
    ) -> None:
        """`wanted` is called between tries: when it returns False, the call gives up. `hint`: the next step without an answer."""
        self._locate = locate
        self._patience = patience
        self._wanted = wanted
        self._hint = hint
        self._lock = threading.Lock()
        self._idle: list[tuple[str, HTTPConnection]] = []
        self._pid = os.getpid()
        self._away, self._away_since = 0.0, None  # type: tuple[float, float | None]

    @property
    def away(self) -> float:
        """Total seconds without an answer."""
        with self._lock:
            return self._away + (0.0 if self._away_since is None else time.monotonic() - self._away_since)

    def _note_away(self, *, answers: bool) -> None:
        with self._lock:
            if not answers and self._away_since is None:
                self._away_since = time.monotonic()
            elif answers and self._away_since is not None:
                self._away, self._away_since = self._away + time.monotonic() - self._away_since, None

    def call(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: object = None,
        body: Body | None = None,
        timeout: float = 60.0,
        during: Callable[[], object] = lambda: None,
        clocked: bool = False,
    ) -> Any:
        """The JSON value of the answer; raises the class of `domain.errors` that an error answer names. `during` is called while
        a large file is sent; an error from it ends the call. `clocked`: every try sends this machine's time, so that times in the
        body can be compared with it."""
        response = self.fetch(
            method, path, params=params, json=json, body=body, timeout=timeout, during=during, clocked=clocked
        )
        if not response.body:
            return None
        try:
            return jsonlib.loads(response.body)
        except ValueError:
            fail(response.status, response.body)

    def fetch(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: object = None,
        body: Body | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        during: Callable[[], object] = lambda: None,
        clocked: bool = False,
    ) -> Response:
        """The raw answer; raises for an error answer, and OSError for a file that cannot be read."""
        from roost.transport import exchanges  # noqa: PLC0415 - with the first call: mail parsing and TLS cost 20 ms to import

        if json is not None:
            body = jsonlib.dumps(json).encode()
        target = _with_params(path, params)
        with contextlib.ExitStack() as stack:
            given = stack.enter_context(body.open("rb", buffering=0)) if isinstance(body, Path) else body

            def exchange(connection: "HTTPConnection", token: str) -> Response:
                own = {**(headers or {}), CLOCK: repr(time.time())} if clocked else headers
                answer = exchanges.send(
                    connection, method, target, token, given, json is not None, own, timeout, during
                )
                return _answered(answer)

            response = self._patiently(exchange)
        if response.status >= 400:
            fail(response.status, response.body)
        return response

    def download(
        self,
        path: str,
        target: Path,
        *,
        params: Params | None = None,
        timeout: float = 60.0,
        mode: int = 0o666,
        progress: Progress | None = None,
    ) -> int:
        """Writes the answer's bytes to a file, whole or not at all; returns its size."""
        from roost.transport import exchanges  # noqa: PLC0415 - as above

        part = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.part")

        def exchange(connection: "HTTPConnection", token: str) -> int:
            answer = exchanges.send(connection, "GET", _with_params(path, params), token, None, False, None, timeout)
            if answer.status >= 400:
                fail(answer.status, _answered(answer).body)
            length = answer.getheader("Content-Length")
            if file.tell():  # left from a broken try
                file.seek(0)
                file.truncate()
            size = exchanges.save(connection, answer, file, lambda done: progress and progress(done, int(length or 0)))
            if length is not None and int(length) != size:
                raise exchanges.IncompleteRead(b"", int(length) - size)
            return size

        try:
            with open(os.open(part, _NEW, mode), "wb", buffering=0) as file:
                size = self._patiently(exchange)
            part.replace(target)
        except OSError as error:
            raise DiskFull(f"{target} cannot be written: {error.strerror or error}.") from error
        finally:
            with contextlib.suppress(OSError):
                part.unlink()
        return size

    def close(self) -> None:
        with self._lock:
            for _, connection in self._idle:
                connection.close()
            self._idle.clear()

    def _patiently(self, exchange: "Callable[[HTTPConnection, str], T]") -> T:
        """Repeats an exchange until it succeeds, the patience ends or it is not wanted any more. An error of a file on this
        machine ends it at once, with that OSError."""
        from roost.transport import exchanges  # noqa: PLC0415 - as above

        deadline = time.monotonic() + self._patience
        pause = _FIRST_PAUSE
        where, taken = "the control plane", False
        while True:
            try:
                endpoint = self._locate()
                where = endpoint.url
                connection, used = self._take(endpoint.url)
                taken = False
                try:
                    result = exchange(connection, endpoint.token)
                except exchanges.BROKEN as error:
                    taken = connection.sock is not None
                    connection.close()
                    if used and not isinstance(error, TimeoutError):
                        continue  # the server had closed an idle connection: it may still be up
                    raise
                except (RoostError, _Later):
                    self._give_back(endpoint.url, connection)
                    raise
                except BaseException:
                    connection.close()
                    raise
                self._give_back(endpoint.url, connection)
                self._note_away(answers=True)
                return result
            except exchanges.FileFault as fault:
                raise fault.problem from None
            except _Later as later:  # the server is up, and nothing was changed
                self._note_away(answers=True)
                if time.monotonic() + later.seconds > deadline or not self._wanted():
                    fail(later.response.status, later.response.body)
                time.sleep(later.seconds)
                continue
            except (*exchanges.BROKEN, Unavailable) as error:
                self._note_away(answers=False)
                if time.monotonic() + pause > deadline or not self._wanted():
                    if isinstance(error, Unavailable):
                        raise  # from `locate`, with the reason
                    raise self._given_up(where, error, taken) from None  # the cause would not help a notebook's user
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _given_up(self, where: str, error: Exception, taken: bool) -> Unavailable:
        """The error to raise when the patience is over. `taken`: there was a connection."""
        if taken and isinstance(error, TimeoutError):
            return Busy(
                f"The control plane at {where} took the request, and has not answered in time.",
                hint="It may have more to do than it can. Try again in a moment; `roost status` shows whether it answers.",
            )
        return Unavailable(f"No control plane answers at {where} ({type(error).__name__}: {error}).", hint=self._hint)

    def _take(self, url: str) -> "tuple[HTTPConnection, bool]":
        """An idle or a new connection, and True when it was used before."""
        from roost.transport import exchanges  # noqa: PLC0415 - as above

        with self._lock:
            if self._pid != os.getpid():  # after a fork: the parent still uses those
                self._idle, self._pid = [], os.getpid()
            while self._idle:
                at, connection = self._idle.pop()
                if at == url and connection.sock is not None:
                    return connection, True
                connection.close()
        return exchanges.connect(url), False

    def _give_back(self, url: str, connection: "HTTPConnection") -> None:
        with self._lock:
            if connection.sock is not None and len(self._idle) < _MOST_IDLE and self._pid == os.getpid():
                self._idle.append((url, connection))
                return
        connection.close()


def _with_params(path: str, params: Params | None) -> str:
    if not params:
        return path
    given = {k: v for k, v in params.items() if v is not None}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def fail(status: int, body: bytes) -> NoReturn:
    """Raises the error in an error answer of the control plane."""
    try:
        parsed = jsonlib.loads(body)
    except ValueError:
        parsed = body.decode("utf-8", "replace")
    raise_for(status, parsed)
