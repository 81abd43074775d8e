"""The line to whoever started this server: that it is ready, or why not. By a pipe: a log on a full disk takes no words."""

import contextlib
import json
import os


class Starter:
    """Says one thing, once: later the file descriptor may be another's."""

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor

    def ready(self, address: str) -> None:
        self._say(f"ready {address}")

    def failed(self, message: str, hint: str = "") -> None:
        self._say(f"failed {json.dumps({'message': message, 'hint': hint})}")

    def _say(self, line: str) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        with contextlib.suppress(OSError):  # it has not waited
            os.write(descriptor, f"{line}\n".encode())
        os.close(descriptor)
