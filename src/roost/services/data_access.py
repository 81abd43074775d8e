"""What a run's token reaches of a workspace's data: what its run declared as inputs, asked for by name, or fills."""

from collections.abc import Iterator

from roost.domain import globs
from roost.domain.datasets import Direction, Source, destination
from roost.domain.datastores import DEFAULT, Datastore
from roost.domain.errors import Forbidden
from roost.domain.people import Caller
from roost.domain.runs import Run
from roost.services.house import House


def require_workspace(house: House, caller: Caller, workspace: str) -> None:
    """A person, or the token of a run in that workspace."""
    if caller.is_run and house.store.runs.get(caller.run_id).workspace != workspace:
        raise Forbidden(f"The token of run {caller.run_id} does not reach workspace {workspace!r}.")


def require_listing(house: House, caller: Caller, datastore: Datastore, path: str) -> None:
    if not caller.is_run:
        return
    wanted = globs.checked(path)
    if not any(_covers(source.path, wanted) for source in _declared(house, caller, datastore)):
        _refuse(caller, datastore, path)


def require_file(house: House, caller: Caller, datastore: Datastore, path: str) -> None:
    if caller.is_run and not any(globs.matcher(each.path)(path) for each in _declared(house, caller, datastore)):
        _refuse(caller, datastore, path)


def require_write(house: House, caller: Caller, datastore: Datastore, path: str) -> None:
    """A run writes below the places of its own outputs."""
    if not caller.is_run:
        return
    run = _run_of(house, caller, datastore)
    if not any(path.startswith(f"{each.path}/") for each in _filled(house, run) if each.datastore == datastore.name):
        _refuse(caller, datastore, path)


def _declared(house: House, caller: Caller, datastore: Datastore) -> Iterator[Source]:
    run = _run_of(house, caller, datastore)
    uses = house.store.datasets.uses_of_run(run.id)
    inputs = [each.definition for each in run.spec.inputs] + [
        each.definition for each in uses if each.direction is Direction.INPUT
    ]
    for definition in inputs:
        yield from (each for each in definition.sources if each.datastore == datastore.name)
    yield from (each for each in _filled(house, run) if each.datastore == datastore.name)


def _filled(house: House, run: Run) -> Iterator[Source]:
    """Where the run's outputs go."""
    default = house.store.datastores.default(run.workspace) or DEFAULT
    for output in run.spec.outputs:
        yield Source(datastore=output.datastore or default, path=destination(output, run.id))


def _run_of(house: House, caller: Caller, datastore: Datastore) -> Run:
    require_workspace(house, caller, datastore.workspace)
    return house.store.runs.get(caller.run_id)


def _covers(declared: str, wanted: str) -> bool:
    """Whether all that is wanted was declared."""
    if declared in ("", wanted):
        return True
    if globs.is_pattern(declared):
        return not globs.is_pattern(wanted) and globs.matcher(declared)(wanted)
    return globs.base(wanted) == declared or globs.base(wanted).startswith(f"{declared}/")


def _refuse(caller: Caller, datastore: Datastore, path: str) -> None:
    raise Forbidden(
        f"Run {caller.run_id} did not declare {path!r} of datastore {datastore.name!r}.",
        hint="Give it to the run as an input (dataset.as_mount(), .as_download(), .as_named_input()) or as an output.",
    )
