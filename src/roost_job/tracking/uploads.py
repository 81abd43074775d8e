"""Files for the agent: the caller's paths are checked and made absolute before any request."""

import os
from contextlib import contextmanager
from typing import Any, Iterator, List, Optional, Sequence, Tuple

from roost_job.exceptions import UserErrorException

BATCH = 1000
"""Files per request, so that a large folder does not become one endless line."""


def check_file_name(name: object) -> str:
    """The file's name in the run's history. The agent checks where it leads."""
    if not isinstance(name, str) or not name.strip("/"):
        raise UserErrorException(
            "A file's name in the run must be text that is not empty, got %.80r." % (name,),
            hint="Give a relative path with forward slashes, such as `outputs/model.pt`.",
        )
    return name


def check_no_datastore(datastore_name: Optional[str]) -> None:
    if datastore_name is not None:
        raise UserErrorException(
            "A run's own files are kept with the run, not in the datastore %.80r." % datastore_name,
            hint="Leave `datastore_name` out; Datastore.get(workspace, name).upload_files([path]) writes to a datastore.",
        )


def one_file(path: Any) -> str:
    """The absolute path of an existing file."""
    try:
        absolute = os.path.abspath(os.fsdecode(path))
    except TypeError:
        raise UserErrorException("A path must be text, got %s %.80r." % (type(path).__name__, path)) from None
    if os.path.isdir(absolute):
        raise UserErrorException("%s is a folder, not a file." % absolute, hint="Use `run.upload_folder(name, path)`.")
    if not os.path.isfile(absolute):
        raise UserErrorException("There is no file at %s." % absolute)
    if not os.access(absolute, os.R_OK):
        raise UserErrorException("The file %s cannot be read." % absolute)
    return absolute


def paired(names: Any, paths: Any) -> List[Tuple[str, str]]:
    """Names with their files; all are checked before the first is sent."""
    if isinstance(names, str) or isinstance(paths, str):
        raise UserErrorException(
            "`names` and `paths` must be lists.", hint="Use `run.upload_file(name, path)` for one file."
        )
    names, paths = list(names), list(paths)
    if len(names) != len(paths):
        raise UserErrorException("There are %d names for %d paths." % (len(names), len(paths)))
    return [(check_file_name(name), one_file(path)) for name, path in zip(names, paths)]


def folder(name: str, path: Any) -> List[Tuple[str, str]]:
    """All files below a folder, named `name/<path within it>`."""
    prefix = check_file_name(name).rstrip("/")
    absolute = os.path.abspath(os.fsdecode(path))
    if not os.path.isdir(absolute):
        raise UserErrorException("There is no folder at %s." % absolute)
    found = []
    for root, folders, files in os.walk(absolute, onerror=_refuse):
        folders.sort()
        for each in sorted(files):
            full = os.path.join(root, each)
            inside = os.path.relpath(full, absolute).replace(os.sep, "/")
            found.append(("%s/%s" % (prefix, inside), one_file(full)))
    return found


def folder_name(path: Any) -> str:
    """The prefix of a folder's files in the run: its path relative to the current folder, or its own name if it is elsewhere."""
    absolute = os.path.abspath(os.fsdecode(path))
    parts = os.path.relpath(absolute).split(os.sep)
    if parts == ["."]:
        return "outputs"
    return os.path.basename(absolute) if parts[0] == os.pardir else "/".join(parts)


def _refuse(error: OSError) -> None:
    raise UserErrorException("The folder %s cannot be read: %s." % (error.filename, error.strerror))


def batches(files: Sequence[Tuple[str, str]]) -> Iterator[List[List[str]]]:
    for start in range(0, len(files), BATCH):
        yield [list(pair) for pair in files[start : start + BATCH]]


@contextmanager
def as_file(path_or_stream: Any, suffix: str = "") -> Iterator[str]:
    """The path of a file; a stream is written to a file that exists during the block."""
    if not hasattr(path_or_stream, "read"):
        yield one_file(path_or_stream)
        return
    with temporary(suffix) as path:
        with open(path, "wb") as target:
            while True:
                piece = path_or_stream.read(1 << 20)
                if not piece:
                    break
                target.write(piece.encode("utf-8") if isinstance(piece, str) else piece)
        yield path


@contextmanager
def drawn(plot: Any) -> Iterator[str]:
    """A figure (anything with `savefig`, such as matplotlib's pyplot) as a PNG file that exists during the block."""
    if not hasattr(plot, "savefig"):
        raise UserErrorException(
            "`plot` must be a matplotlib figure or pyplot, got %s." % type(plot).__name__,
            hint="Give an image file with `path=`.",
        )
    with temporary(".png") as path:
        plot.savefig(path, format="png")
        yield path


@contextmanager
def written(text: str) -> Iterator[str]:
    """Text as a file that exists during the block."""
    with temporary(".json") as path:
        with open(path, "wb") as target:
            target.write(text.encode("utf-8"))
        yield path


@contextmanager
def temporary(suffix: str) -> Iterator[str]:
    """The path of an empty file that exists during the block."""
    import tempfile  # loaded on use: few scripts upload streams, and it is a third of what this library loads

    handle, path = tempfile.mkstemp(prefix="roost-", suffix=suffix)
    os.close(handle)
    try:
        yield path
    finally:
        try:
            os.unlink(path)
        except OSError:
            pass


class Uploads(object):
    """The upload calls of a run, with checks; the run supplies the functions that send one or many files."""

    def upload_file(self, name: str, path_or_stream: Any, datastore_name: Optional[str] = None) -> None:
        """Stores a file, or the rest of a stream, with the run as `name`. It is copied when this returns."""
        check_no_datastore(datastore_name)
        self._send_one(check_file_name(name), path_or_stream)

    def upload_files(
        self,
        names: Sequence[str],
        paths: Sequence[str],
        timeout_seconds: Optional[int] = None,
        datastore_name: Optional[str] = None,
    ) -> None:
        """Uploads several files; all are checked before the first is sent. `timeout_seconds` limits the wait for each
        thousand."""
        check_no_datastore(datastore_name)
        self._send(paired(names, paths), timeout_seconds)

    def upload_folder(self, name: str, path: str, datastore_name: Optional[str] = None) -> None:
        """Uploads all files below `path`, as `name/…`."""
        check_no_datastore(datastore_name)
        self._send(folder(name, path), None)

    def _send_one(self, name: str, path_or_stream: Any) -> None:
        raise NotImplementedError

    def _send(self, files: Sequence[Tuple[str, str]], timeout_seconds: Optional[float]) -> None:
        raise NotImplementedError
