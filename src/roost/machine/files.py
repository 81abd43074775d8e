"""Files that others see whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A path in the same folder to fill. At the end of the block it takes the target's place; when the block raises, it is
    removed and the target is as it was."""
    # Names have at most 255 bytes, a character has up to four.
    part = target.with_name(f".{target.name[:40]}.{os.getpid()}.{os.urandom(4).hex()}.part")
    try:
        yield part
        part.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def write(path: Path, data: bytes | str, *, durable: bool = False) -> None:
    """Replaces a file as a whole, readable by its owner only. `durable`: on the disk before it takes its place. An OSError names
    this path, whichever step failed."""
    content = data.encode() if isinstance(data, str) else data
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    try:
        with replacing(path) as part, open(os.open(part, flags, 0o600), "wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
