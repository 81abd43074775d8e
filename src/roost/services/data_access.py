"""The data of a workspace that a run's token reaches: the run's declared inputs, the data its script asked for (asking is
declaring: `datasets.declare`), and its outputs.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from roost.domain import globs, names
from roost.domain.datasets import DataUse, Direction, Source, destination
from roost.domain.datastores import DEFAULT, Datastore
from roost.domain.errors import Forbidden
from roost.domain.people import Caller
from roost.domain.permissions import Role
from roost.domain.runs import Run
from roost.services import datastores, scopes
from roost.services.context import Context


class Reach:
    """The part of one datastore that a caller may read. It is computed once for many checks: plain paths are looked up, patterns
    are tried one after another."""

    def __init__(self, caller: Caller, datastore: Datastore, declared: Iterable[str]) -> None:
        self._caller, self._datastore = caller, datastore
        self._declared = frozenset(declared)
        patterns = {path for path in self._declared if globs.is_pattern(path)}
        self._plain = self._declared - patterns
        self._patterns = [globs.matcher(path) for path in patterns]

    def covers(self, wanted: str) -> bool:
        """True when everything that a path or pattern can match was declared."""
        return wanted in self._declared or self._is_below(globs.base(wanted))

    def reads(self, path: str) -> bool:
        """True when a file of that path was declared."""
        return self._is_below(path) or any(meant(path) for meant in self._patterns)

    def require_listing(self, path: str) -> None:
        """Forbidden unless the path may be listed. Where a pattern was declared, a plain path may only be a file; `require_file`
        checks the files that are found."""
        wanted = globs.checked(path)
        if not self.covers(wanted) and (globs.is_pattern(wanted) or not self.reads(wanted)):
            self.refuse(path)

    def require_file(self, path: str) -> None:
        if not self.reads(path):
            self.refuse(path)

    def refuse(self, path: str) -> NoReturn:
        raise Forbidden(
            f"Run {self._caller.run_id} did not declare {path!r} of datastore {self._datastore.name!r}.",
            hint="Give it to the run as an input (dataset.as_mount(), .as_download(), .as_named_input()) or as an output.",
        )

    def _is_below(self, path: str) -> bool:
        """True when the path, or a folder above it, was declared."""
        while path and path not in self._plain:
            path = path.rpartition("/")[0]
        return path in self._plain


def workspace_of(context: Context, caller: Caller, workspace: str) -> str:
    """The name of an existing workspace. A run gets the same error for a missing workspace and for one that is not its own."""
    scopes.require_workspace(context, caller, workspace)
    return context.store.workspaces.get(names.workspace(workspace)).name


def datastore_of(context: Context, caller: Caller, workspace: str, name: str) -> Datastore:
    return datastores.find(context, workspace_of(context, caller, workspace), name)


def reach(context: Context, caller: Caller, datastore: Datastore) -> Reach:
    """A person reaches the whole datastore."""
    return Reach(caller, datastore, _declared(context, caller, datastore) if caller.is_run else [""])


def require_write(context: Context, caller: Caller, datastore: Datastore, paths: Iterable[str]) -> None:
    """A run may write below the paths of its own outputs, and to paths that its script declared for writing."""
    if not caller.is_run:
        return
    run = scopes.run_in(context, caller, datastore.workspace)
    filled = tuple(f"{each.path}/" for each in _filled(context, run) if each.datastore == datastore.name)
    others = [path for path in paths if not path.startswith(filled)]
    uses = context.store.datasets.uses_of_run(run.id) if others else ()
    for path in others:
        if not covers_writing(uses, datastore, path):
            Reach(caller, datastore, ()).refuse(path)


def covers_writing(uses: Iterable[DataUse], datastore: Datastore, path: str) -> bool:
    """True when the run's script declared that it writes to that path, or to a folder above it."""
    said = (each.path for each in _written(uses) if each.datastore == datastore.name)
    return any(not each or f"{path}/".startswith(f"{each}/") for each in said)


def covers_reading(run: Run, uses: Sequence[DataUse], datastore: Datastore, paths: Iterable[str]) -> bool:
    """True when the run already reads all these paths."""
    read = Reach(Caller(user=run.user, role=Role.RUN, run_id=run.id), datastore, _read(run, uses, datastore))
    return all(read.covers(path) for path in paths)


def _declared(context: Context, caller: Caller, datastore: Datastore) -> Iterator[str]:
    run = scopes.run_in(context, caller, datastore.workspace)
    uses = context.store.datasets.uses_of_run(run.id)
    yield from _read(run, uses, datastore)
    yield from (each.path for each in [*_filled(context, run), *_written(uses)] if each.datastore == datastore.name)


def _read(run: Run, uses: Iterable[DataUse], datastore: Datastore) -> Iterator[str]:
    inputs = [each.definition for each in run.spec.inputs] + [
        each.definition for each in uses if each.direction is Direction.INPUT
    ]
    for definition in inputs:
        yield from (each.path for each in definition.sources if each.datastore == datastore.name)


def _written(uses: Iterable[DataUse]) -> Iterator[Source]:
    """What its script writes beside its outputs. A use with a registered dataset records data that was made; it permits no more
    writing."""
    for use in uses:
        if use.direction is Direction.OUTPUT and not use.dataset_id:
            yield from use.definition.sources


def _filled(context: Context, run: Run) -> Iterator[Source]:
    """Where the run's outputs go."""
    default = context.store.datastores.default(run.workspace) or DEFAULT
    for output in run.spec.outputs:
        yield Source(datastore=output.datastore or default, path=destination(output, run.id))
