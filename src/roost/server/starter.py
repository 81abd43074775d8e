"""Reports to the process that started this server that it is ready, or why not. Through a pipe: on a full disk a log cannot be
written."""

import contextlib
import json
import os


class Starter:
    """Sends one line, once: afterwards the file descriptor may belong to another file."""

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
        with contextlib.suppress(OSError):  # the parent does not wait any more
            os.write(descriptor, f"{line}\n".encode())
        os.close(descriptor)
