"""Lays out a run's inputs on its node before the script starts, and puts their paths into arguments and variables. The run's log
shows the method and the duration. Inputs are inside the run's folder; an absolute `path_on_compute` is used only in a container,
since other paths of a machine belong to all of its runs.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from roost.agent.door.datasets import Datasets
from roost.agent.folder import Folder
from roost.agent.preparing.variables import passed
from roost.data.mounting import HERE_ALREADY, Way
from roost.domain import names
from roost.domain.datasets import Input, Mode, token, whereabouts
from roost.domain.datastores import Item
from roost.domain.errors import InvalidInput, NotFound, RoostError
from roost.domain.globs import is_pattern
from roost.domain.runs import RunSpec
from roost.launch.expansion import fill

VARIABLE = "AZUREML_DATAREFERENCE_"
_OURS = ("ROOST_", "PYTHON")
_FIRST_WORD, _EVERY = 2.0, 5.0
_WAYS = {
    Way.LINKS: "links to files of this machine",
    Way.FUSE: "mounted",
    Way.CACHE: "fetched into this node's cache",
}


class Teller:
    """Writes to the run's log what the agent does for it; `send` ships the log at once."""

    def __init__(self, log: Path, send: Callable[[], None] = lambda: None) -> None:
        self._log = log
        self._send = send

    def say(self, line: str) -> None:
        with open(self._log, "ab", buffering=0) as file:
            file.write(f"{line}\n".encode("utf-8", "replace"))
        self._send()

    def progress(self, name: str, count: int) -> Callable[[int, int], None]:
        """A function that logs now and then how much of an input is downloaded, so that every wait has a visible reason."""
        due = time.monotonic() + _FIRST_WORD

        def told(done: int, total: int) -> None:
            nonlocal due
            if done < total and time.monotonic() >= due:
                due = time.monotonic() + _EVERY
                self.say(f"Downloading input {name}: {size(done)} of {size(total)}, {files(count)} in all.")

        return told


def lay_out(folder: Folder, spec: RunSpec, data: Datasets, teller: Teller) -> dict[str, str]:
    """The value of each input: a path, or for a direct input the id of a dataset that the script reads. Raises RoostError."""
    return {each.name: _laid(folder, each, data, teller) for each in spec.inputs}


def _laid(folder: Folder, given: Input, data: Datasets, teller: Teller) -> str:
    if given.mode is Mode.DIRECT:
        return given.dataset_id or given.name
    began = time.monotonic()
    place = _place(folder, given)
    try:
        items = data.items(given.definition)
        if not items:
            raise NotFound(
                f"it has no files now at {whereabouts(given.definition)}.",
                hint="Look at its path or pattern, and whether its files are there.",
            )
        progress = teller.progress(given.name, len(items))
        note = ""
        if given.mode is Mode.MOUNT and not data.contained:
            mount = data.mount(given.definition, items, place, progress, f"Input {given.name}")
            way, note = _WAYS[mount.way], mount.note
            if note == HERE_ALREADY:
                way = "links to this node's cache"
        else:
            data.bring(given.definition, items, place, progress)
            way = "copied here by way of this node's cache" if any(item.url for item in items) else "copied here"
    except RoostError as error:
        raise type(error)(f"Input {given.name!r}: {error.message}", hint=error.hint) from None
    total = sum(item.size or 0 for item in items)
    took = time.monotonic() - began
    teller.say(f"Input {given.name}: {files(len(items))}, {size(total)}, {way}, in {took:.1f} s. {note}".rstrip())
    seen = _seen(given, place, data.contained)
    if given.path_on_compute.startswith("/") and not data.contained:
        teller.say(
            f"Input {given.name} is at {seen}, not at {given.path_on_compute}: without a container an absolute path would "
            "belong to all runs of the machine. Its argument and its variable say where it is."
        )
    return str(seen / items[0].name if _is_file(given, items) else seen)


def _is_file(given: Input, items: Sequence[Item]) -> bool:
    """True when the input names one file. A folder or pattern stays a folder even if it has only one file now."""
    if len(items) != 1 or len(given.definition.sources) != 1:
        return False
    source = given.definition.sources[0]
    return bool(source.url) or (not is_pattern(source.path) and items[0].name == source.path.rpartition("/")[2])


def _place(folder: Folder, given: Input) -> Path:
    """The path of its files on this node."""
    if given.path_on_compute and not given.path_on_compute.startswith("/"):
        place = folder.work / names.path(given.path_on_compute)
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            raise InvalidInput(
                f"Input {given.name!r} cannot be at {given.path_on_compute!r}: the snapshot has something there.",
                hint="Give another path_on_compute, or none.",
            )
        return place
    return folder.inputs / given.name


def _seen(given: Input, place: Path, contained: bool) -> Path:
    """The path at which the script sees it."""
    absolute = given.path_on_compute.startswith("/")
    return Path(given.path_on_compute) if contained and absolute else place


def variables(paths: Mapping[str, str]) -> dict[str, str]:
    """Variables with the paths of inputs and outputs: by name, except names that the machine uses (PATH), and with a prefix."""
    plain = {name: path for name, path in paths.items() if not passed({name: path}) and not name.startswith(_OURS)}
    return {**plain, **{f"{VARIABLE}{name}": path for name, path in paths.items()}}


def filled(spec: RunSpec, paths: Mapping[str, str]) -> RunSpec:
    """The spec with paths in place of the tokens of inputs and outputs."""
    tokens = {token(name): path for name, path in paths.items()}
    return replace(
        spec,
        arguments=fill(spec.arguments, tokens),
        command=fill(spec.command, tokens, shell=spec.shell),
        environment_variables={name: fill([value], tokens)[0] for name, value in spec.environment_variables.items()},
    )


def files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def size(count: int) -> str:
    for unit, amount in (("GB", 1000**3), ("MB", 1000**2), ("kB", 1000)):
        if count >= amount:
            return f"{count / amount:.3g} {unit}"
    return "1 byte" if count == 1 else f"{count} bytes"
