"""Downloads a run's files to this machine. When the control plane is on this machine they are copied from its folder."""

from collections.abc import Sequence
from pathlib import Path

from roost.domain import codec, names
from roost.domain.errors import InvalidInput, NotFound
from roost.domain.files import RunFile
from roost.machine import files
from roost.sdk.connection.connections import Connection
from roost.transport.client import path_of
from roost.transport.parallel import Look, in_parallel
from roost_job.listing import some

_AT_ONCE = 4
_STRETCH = 32
"""Files per task of a thread: for small files, a task costs as much as the copy."""


def listing(connection: Connection, run_id: str, prefix: str = "") -> list[RunFile]:
    """The run's files; with a prefix those of that folder, or that one file."""
    params = {"prefix": prefix} if prefix else None
    answer = connection.client.call("GET", path_of("runs", run_id, "files"), params=params)
    return [codec.decode(RunFile, item) for item in answer["files"]]


def fetch(connection: Connection, run_id: str, name: str, target: Path) -> int:
    """Downloads one file of a run to `target` and creates its folder; returns its size. Complete or not at all."""
    name = names.path(name)
    found = [file for file in listing(connection, run_id, name) if file.path == name]
    _make(target.parent)
    if found:
        return _bring(connection, run_id, found[0], target)
    # Not listed: an alias of a listed one, such as azureml-logs/70_driver_log.txt, or missing.
    try:
        return connection.client.download(path_of("runs", run_id, "files", name), target)
    except NotFound:
        raise NotFound(f"Run {run_id} has no file {name!r}.", hint=_there(connection, run_id)) from None


def _there(connection: Connection, run_id: str) -> str:
    every = [file.path for file in listing(connection, run_id)]
    return f"It has: {some(every, 10)}." if every else "It has no files."


def fetch_folder(
    connection: Connection,
    run_id: str,
    prefix: str,
    output_directory: str | None,
    output_paths: Sequence[str] | None,
    append_prefix: bool,
) -> None:
    """Downloads the files below `prefix`, a folder: `outputs/model` includes `outputs/model/a`, not `outputs/model.pt`."""
    if output_directory is not None and output_paths is not None:
        raise InvalidInput("Both `output_directory` and `output_paths` are given.", hint="Give one or the other.")
    folder = names.path(prefix) if prefix.strip("/") else ""
    found = [file for file in listing(connection, run_id, folder) if not folder or file.path.startswith(f"{folder}/")]
    if output_paths is not None:
        if len(output_paths) != len(found):
            raise InvalidInput(f"There are {len(output_paths)} `output_paths` for {len(found)} files.")
        fetch_all(connection, run_id, found, [Path(path) for path in output_paths])
        return
    cut = len(folder) + 1 if folder and not append_prefix and output_directory is not None else 0
    root = Path(output_directory or ".")
    fetch_all(connection, run_id, found, [root / names.path(file.path)[cut:] for file in found])


def fetch_all(connection: Connection, run_id: str, files: Sequence[RunFile], targets: Sequence[Path]) -> None:
    """Downloads files of a run, each to its target. All targets are created before the first download, each once."""
    if len(set(targets)) != len(targets):
        raise InvalidInput("Two files would be written to one place.", hint="Give each its own output path.")
    for folder in {target.parent for target in targets}:
        _make(folder)
    pairs = list(zip(files, targets, strict=True))
    if len(pairs) <= 1:
        for file, target in pairs:
            _bring(connection, run_id, file, target)
        return

    def bring(some: Sequence[tuple[RunFile, Path]], look: Look) -> None:
        for pair in some:
            look()
            _bring(connection, run_id, *pair, look)

    size = min(_STRETCH, -(-len(pairs) // _AT_ONCE))
    stretches = [pairs[start : start + size] for start in range(0, len(pairs), size)]
    in_parallel(bring, stretches, _AT_ONCE, "roost-fetch")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"The folder {folder} cannot be made: {error.strerror or error}.") from None


def _bring(connection: Connection, run_id: str, file: RunFile, target: Path, look: Look = lambda: None) -> int:
    """Downloads one file into an existing folder."""
    if target.is_dir():
        raise InvalidInput(f"{target} is a folder; {file.path!r} cannot be written there.")
    shared = connection.bytes.shared if file.blob else None
    if shared is None:
        route = path_of("runs", run_id, "files", file.path)
        return connection.client.download(route, target, progress=lambda *_: look())
    with files.replacing(target) as part:
        shared.copy_to(file.blob, part, 0o644, lambda _: look())
    return file.size
