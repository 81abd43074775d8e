"""The front's end of its control socket: one JSON object per line, one answer. Only this user can reach its folder."""

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from roost.domain.errors import RoostError

log = logging.getLogger("roost.serving")
LONGEST_LINE = 64 * 1024
LONGEST_WAIT = 60.0
Op = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Control:
    """Answers requests by a table of ops; a connection may send many, one after the other."""

    def __init__(self, ops: dict[str, Op]) -> None:
        self._ops = ops

    async def listen(self, folder: Path, name: str) -> asyncio.Server:
        """Replaces a socket that a killed front left there."""
        (folder / name).unlink(missing_ok=True)
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:  # through the open folder: its path may be longer than a socket's address
            return await asyncio.start_unix_server(self._serve, f"/proc/self/fd/{opened}/{name}", limit=LONGEST_LINE)
        finally:
            os.close(opened)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write(json.dumps(await self._answer(line)).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError):
            pass  # the client is gone, or sent an endless line: no answer is possible
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            question = json.loads(line)
            op = self._ops.get(str(question.get("op"))) if isinstance(question, dict) else None
        except ValueError:
            return {"error": "The question is no JSON object."}
        if op is None:
            return {"error": f"There is no such op; they are {', '.join(sorted(self._ops))}."}
        try:
            return await op(question)
        except RoostError as error:
            return {"error": str(error.message)}
        except (TypeError, ValueError) as error:
            return {"error": f"The question has a field that cannot be: {error}."}
