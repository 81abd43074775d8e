"""A worker: listens on a Unix socket, takes requests from fronts in order, answers each when it is done.

`concurrency` threads share the work (the main thread is one of them, the only one when it is 1, so that scripts run where they
were loaded): a free thread holds the lock, waits for the sockets, takes the next request and releases the lock. When all threads
are busy, none reads; so a watcher reads from time to time, or an ABORT would be missed. Python 3.6 and later, standard library
only.
"""

import faulthandler
import json
import os
import select
import signal
import socket
import sys
import threading
import time
from collections import deque
from typing import Any, Deque, Dict, Optional, Tuple

from roost_job.scoring import frames, traces
from roost_job.scoring.handlers import Handler
from roost_job.scoring.messages import JSON, NotJson, Refused, Request, Response, response_of

PROTOCOL = 1
PLAIN_HEAD = b'{"status":200,"headers":{"content-type":"application/json"}}'
"""The head of most answers: both sides recognise it without parsing."""
_PLAIN_HEADERS = {"content-type": JSON}
_READ = 1 << 18
_LOOK_SECONDS = 0.2
_COLLECTED = 100
_LINGER_SECONDS = 5.0
"""Time that a stopping worker without work waits for its fronts to disconnect."""


class Connection(object):
    """One front. Several threads may send answers."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self.unpacker = frames.Unpacker()
        self._sending = threading.Lock()

    def send(self, frame: bytes, body: bytes = b"") -> None:
        """Sends a frame; a front that is gone needs no answer."""
        try:
            with self._sending:
                self.socket.sendall(frame)
                if body:
                    self.socket.sendall(body)
        except OSError:
            pass


Task = Tuple[Connection, int, bytes, bytes]


class Worker(object):
    """`serve()` returns after a stop, once all received requests are answered."""

    def __init__(self, path: str, handler: Handler, concurrency: int = 1) -> None:
        self._path = path
        self._handler = handler
        self._concurrency = max(1, concurrency)
        self._lock = threading.Lock()
        self._tasks: Deque[Task] = deque()
        self._running: Dict[Tuple[int, int], float] = {}
        self._connections: Dict[int, Connection] = {}
        self._stopping = False
        self._told = self._over = False
        self._wake_read, self._wake_write = os.pipe()
        self._here = threading.local()
        """`connection`: the front of this thread's current request."""
        self._collected: Deque[bytes] = deque(maxlen=_COLLECTED)
        """Data that was collected before a front connected."""
        self._pid = os.getpid()
        self._hello = frames.pack(
            frames.HELLO,
            0,
            {
                "pid": os.getpid(),
                "version": PROTOCOL,
                "python": "%d.%d.%d" % sys.version_info[:3],
                "raw": bool(handler.raw),
                "concurrency": self._concurrency,
                "schema": handler.schema(),
            },
        )

    def listen(self) -> None:
        """From here on fronts can connect."""
        if os.path.exists(self._path):
            os.unlink(self._path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self._path)
        os.chmod(self._path, 0o600)
        self._listener.listen(16)
        self._listener.setblocking(False)
        self._poll = select.epoll()
        self._poll.register(self._listener.fileno(), select.EPOLLIN)
        self._poll.register(self._wake_read, select.EPOLLIN)
        signal.signal(signal.SIGTERM, self._on_signal)

    def serve(self) -> None:
        for number in range(1, self._concurrency):
            threading.Thread(target=self._loop, name="scoring-%d" % number, daemon=True).start()
        threading.Thread(target=self._watch, name="scoring-watch", daemon=True).start()
        self._loop()
        while self._running:  # the other threads' requests
            time.sleep(0.01)
        self._close_listener()

    def stop(self) -> None:
        """Finishes the received requests, then ends. From any thread, or a signal."""
        self._stopping = True
        os.write(self._wake_write, b"x")

    def collected(self, body: bytes) -> bool:
        """Sends the front the data that the script collects; False in a child process of the script, which has no front."""
        if os.getpid() != self._pid:
            return False
        front = getattr(self._here, "connection", None) or next(iter(list(self._connections.values())), None)
        if front is None:
            self._collected.append(body)
        else:
            front.send(frames.pack_raw(frames.COLLECTED, 0, b"", body))
        return True

    def _on_signal(self, number: int, frame: Any) -> None:  # noqa: ARG002 - what a signal brings
        self.stop()

    def _loop(self) -> None:
        while True:
            task = self._take()
            if task is None:
                return
            self._work(task)

    def _take(self) -> Optional[Task]:
        """The next request; None when there will be no more."""
        with self._lock:
            while not self._tasks:
                if self._over:
                    return None
                if not self._stopping:
                    self._pump(-1)
                elif not self._connections or not self._pump(_LINGER_SECONDS):
                    self._over = True
            task = self._tasks.popleft()
            self._running[(id(task[0]), task[1])] = time.time()
            return task

    def _work(self, task: Task) -> None:
        connection, number, head, body = task
        key = (id(connection), number)
        self._here.connection = connection
        response = self._answer(Request(head, body))
        if response.status == 200 and response.headers == _PLAIN_HEADERS:
            said = PLAIN_HEAD
        else:
            said = json.dumps({"status": response.status, "headers": response.headers}).encode("utf-8")
        self._running.pop(key, None)
        if len(response.body) < frames.LARGE:
            connection.send(frames.pack_raw(frames.RESPONSE, number, said, response.body))
        else:
            connection.send(frames.opening(frames.RESPONSE, number, said, len(response.body)), response.body)

    def _answer(self, request: Request) -> Response:
        """There is always an answer: even SystemExit is only an exception of the script here."""
        try:
            response = response_of(self._handler.answer(request))
            if len(response.body) > frames.MAX_LENGTH - (1 << 20):
                raise ValueError("The answer has %d bytes, which is too many." % len(response.body))
            return response
        except Refused as error:
            return _error(error.status, error.message)
        except NotJson as error:
            sys.stderr.write("What run() returned cannot be sent: %s.\n" % error)
            sys.stderr.flush()
            return _error(502, "TypeError: %s" % error, {"x-ms-run-function-failed": "true"})
        except BaseException as error:  # noqa: BLE001 - a worker outlives its script's mistakes
            sys.stderr.write(traces.text_of(error))
            sys.stderr.flush()
            return _error(502, "%s: %s" % (type(error).__name__, error), {"x-ms-run-function-failed": "true"})

    def _pump(self, seconds: float) -> bool:
        """Waits for the sockets and reads them; False when nothing came. Under the lock."""
        ready = self._poll.poll(seconds)
        for number, _ in ready:
            if number == self._wake_read:
                os.read(self._wake_read, 4096)
            elif number in self._connections:
                self._read(number, self._connections[number])
            else:
                self._accept()
        if self._stopping and not self._told:
            self._told = True
            self._close_listener()
            for connection in self._connections.values():
                connection.send(frames.pack(frames.STOP))
        return bool(ready)

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        sock.setblocking(True)
        connection = Connection(sock)
        self._connections[sock.fileno()] = connection
        self._poll.register(sock.fileno(), select.EPOLLIN)
        connection.send(self._hello)
        while self._collected:
            connection.send(frames.pack_raw(frames.COLLECTED, 0, b"", self._collected.popleft()))

    def _read(self, number: int, connection: Connection) -> None:
        try:
            data = connection.socket.recv(_READ)
            if data:
                for frame in connection.unpacker.feed(data):
                    self._taken_in(connection, *frame)
                return
        except (OSError, frames.BadFrame) as error:
            sys.stderr.write("A front's connection broke: %s\n" % error)
        self._poll.unregister(number)
        del self._connections[number]
        self._tasks = deque(task for task in self._tasks if task[0] is not connection)
        connection.socket.close()

    def _taken_in(self, connection: Connection, kind: int, number: int, head: bytes, body: bytes) -> None:
        if kind == frames.REQUEST:
            self._tasks.append((connection, number, head, body))
        elif kind == frames.ABORT:
            if not self._forget(connection, number):
                self._abort(connection, number)
        elif kind == frames.RECALL:
            if self._forget(connection, number):
                connection.send(frames.pack(frames.RETURNED, number))
        elif kind == frames.STOP:
            self._stopping = True

    def _forget(self, connection: Connection, number: int) -> bool:
        """Removes a waiting request; True when it was waiting."""
        before = len(self._tasks)
        self._tasks = deque(task for task in self._tasks if not (task[0] is connection and task[1] == number))
        return len(self._tasks) < before

    def _abort(self, connection: Connection, number: int) -> None:
        begun = self._running.get((id(connection), number))
        if begun is None:
            return  # answered by now
        told = "Gave up on a request after %.1f seconds; the worker is begun anew. It was here:\n" % (
            time.time() - begun
        )
        os.write(2, told.encode("utf-8"))  # not through sys.stderr, whose lock the stuck thread may hold
        faulthandler.dump_traceback(file=2, all_threads=True)
        self._close_listener()
        os._exit(frames.EXIT_ABORTED)

    def _watch(self) -> None:
        """Reads while every thread is busy."""
        while True:
            time.sleep(_LOOK_SECONDS)
            if self._lock.acquire(False):
                try:
                    self._pump(0)
                finally:
                    self._lock.release()

    def _close_listener(self) -> None:
        if self._listener.fileno() < 0:
            return
        self._poll.unregister(self._listener.fileno())
        self._listener.close()
        try:
            os.unlink(self._path)
        except OSError:
            pass


def _error(status: int, message: str, headers: Optional[Dict[str, str]] = None) -> Response:
    return Response(json.dumps({"message": message}), status, dict(_PLAIN_HEADERS, **(headers or {})))
