"""Datasets: registered, found, listed into files; and which of them runs read and wrote."""

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from roost.domain import globs, names
from roost.domain.datasets import (
    Dataset,
    DataUse,
    Definition,
    Direction,
    Mode,
    Source,
    checked,
    checked_name,
    destination,
    place_of,
    whereabouts,
)
from roost.domain.datastores import Datastore, DatastoreKind, Item
from roost.domain.errors import Conflict, InvalidInput, NotFound
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.domain.runs import Run, RunSpec
from roost.services import data_access, datastores, stored_files, submissions
from roost.services.context import Context
from roost.services.data_access import Reach
from roost_job.data.dataset_types import is_saved

MAX_DESCRIPTION = 20_000
MAX_USES = 1000
MAX_PLACE = 200
MAX_DECLARED = 2000
"""Places that a script may declare one by one; every request of the script is compared with all of them."""


@dataclass(frozen=True, kw_only=True)
class NewDataset:
    definition: Definition
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    create_new_version: bool = False


@dataclass(frozen=True, kw_only=True)
class Listing:
    items: tuple[Item, ...]
    """The files of the sources in datastores, in the order of the sources."""
    urls: tuple[int, ...]
    """Indexes of the sources that are web addresses; the reader fetches those itself."""
    left_out: str = ""
    """A sentence about files that are left out because of their names; empty when there are none."""
    count: int = 0
    """The number of all items, including those beyond the limit."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """Where and how a run's output was written."""

    path: str = ""
    """Its path in its datastore; empty for the path that was planned."""
    mode: Mode = Mode.UPLOAD


@dataclass(frozen=True, kw_only=True)
class Declared:
    """Data that a script reads or writes beyond the run's declared inputs and outputs."""

    direction: Direction
    definition: Definition


def register(context: Context, caller: Caller, workspace: str, name: str, new: NewDataset) -> tuple[Dataset, bool]:
    """Returns the dataset and True when it is a new version. Its data is not read: it may come later. When a run registers it,
    the run's lineage lists it as written."""
    caller.require(Action.DATASET_REGISTER)
    dataset, is_new = _register(context, caller, workspace, name, new)
    if caller.is_run:
        _note(context, caller.run_id, Direction.OUTPUT, _label(dataset), dataset.definition, dataset.id)
    return dataset, is_new


def _register(context: Context, caller: Caller, workspace: str, name: str, new: NewDataset) -> tuple[Dataset, bool]:
    place = data_access.workspace_of(context, caller, workspace)
    definition = _known(context, place, new.definition)
    _require_sources(context, caller, place, definition)
    submissions.check_labels(new.tags, {})
    _check_description(new.description)
    dataset = Dataset(
        id=str(uuid.uuid4()),
        workspace=place,
        name=checked_name(name),
        version=0,
        definition=definition,
        description=new.description,
        tags=dict(new.tags),
        user=caller.user,
        created_at=context.clock(),
    )
    return context.store.datasets.register(dataset, new_version=new.create_new_version)


def get(context: Context, caller: Caller, workspace: str, name: str, version: int | None = None) -> Dataset:
    """The newest version when none is given. When a run gets it, the run's lineage lists it as read, and the run may list its
    files."""
    caller.require(Action.DATASET_READ)
    place = data_access.workspace_of(context, caller, workspace)
    return _read_by(context, caller, context.store.datasets.get(place, checked_name(name), version))


def by_id(context: Context, caller: Caller, workspace: str, dataset_id: str) -> Dataset:
    caller.require(Action.DATASET_READ)
    place = data_access.workspace_of(context, caller, workspace)
    return _read_by(context, caller, context.store.datasets.by_id(place, dataset_id))


def listing(context: Context, caller: Caller, workspace: str, name: str | None = None) -> Sequence[Dataset]:
    """The newest version of each name, sorted by name; or all versions of one name, newest first. Datasets that were only saved
    have no name and are not listed."""
    caller.require(Action.DATASET_READ)
    place = data_access.workspace_of(context, caller, workspace)
    if name is not None:
        return context.store.datasets.list(place, checked_name(name))
    return [each for each in context.store.datasets.list(place) if not is_saved(each.name)]


def annotate(
    context: Context,
    caller: Caller,
    workspace: str,
    dataset_id: str,
    *,
    tags: Mapping[str, str],
    remove_tags: Sequence[str],
    description: str | None,
) -> Dataset:
    caller.require(Action.DATASET_CHANGE)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    submissions.check_labels(tags, {})
    _check_description(description or "")
    return context.store.datasets.annotate(
        place, dataset_id, tags=tags, remove_tags=remove_tags, description=description
    )


def delete(context: Context, caller: Caller, workspace: str, name: str) -> int:
    """Deletes all versions; returns how many. The data and the lineage of runs stay."""
    caller.require(Action.DATASET_DELETE)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    return context.store.datasets.delete(place, checked_name(name))


# ---- into files


def items(
    context: Context, caller: Caller, workspace: str, definition: Definition, *, shared: bool, limit: int | None = None
) -> Listing:
    """The files of a dataset's sources; the reader applies its steps. With one datastore, names are relative to the folder that
    contains all sources; with several, each name begins with its datastore's name. InvalidInput when a path has no file but
    others have: a part would be taken for the whole. `limit` bounds the number of items."""
    caller.require(Action.DATASET_READ)
    place = data_access.workspace_of(context, caller, workspace)
    wanted = _known(context, place, definition)
    named = dict.fromkeys(source.datastore for source in wanted.sources if source.datastore)
    stores = {name: datastores.find(context, place, name) for name in named}
    several = len(stores) > 1
    found: dict[int, Sequence[Item]] = {}
    odd: list[str] = []
    gone: list[str] = []
    for name, datastore in stores.items():
        paths = {at: source.path for at, source in enumerate(wanted.sources) if source.datastore == name}
        reach = data_access.reach(context, caller, datastore)
        below = _folder(context, reach, datastore, list(paths.values()))
        for at, path in paths.items():
            some = stored_files.items_in(context, reach, datastore, path, shared=shared, below=below)
            odd += some.odd
            gone += [] if some.items or some.odd or globs.is_pattern(path) else [f"{name}/{path}"]
            found[at] = [replace(each, name=f"{name}/{each.name}") for each in some.items] if several else some.items
    once = list({item.source: item for at in sorted(found) for item in found[at]}.values())
    urls = tuple(i for i, each in enumerate(wanted.sources) if each.url)
    if gone and (once or urls):
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        raise InvalidInput(
            f"The dataset names {gone[0]}{more}, and there is no file.",
            hint="Put it back, or make the dataset anew without it; a pattern such as `2024/*.csv` means what is there.",
        )
    shown = once if limit is None else once[: max(0, limit)]
    return Listing(items=tuple(shown), urls=urls, left_out=names.left_out(list(dict.fromkeys(odd))), count=len(once))


def _folder(context: Context, reach: Reach, datastore: Datastore, paths: Sequence[str]) -> str:
    """The folder that contains all these paths; a file counts as the folder that holds it."""
    folders = []
    for path in paths:
        base = globs.base(path)
        if base and base == path and _is_file(context, reach, datastore, path):
            base = path.rpartition("/")[0]
        folders.append(base)
    return globs.common(folders)


def _is_file(context: Context, reach: Reach, datastore: Datastore, path: str) -> bool:
    if datastore.kind is DatastoreKind.HTTP:
        return True
    reach.require_listing(path)
    return datastores.place_of(context, datastore).head(path) is not None


# ---- lineage


def note_submitted(context: Context, run: Run) -> None:
    """Notes the inputs of a submitted run in its lineage. Safe twice."""
    uses = [
        DataUse(
            run_id=run.id,
            direction=Direction.INPUT,
            name=each.name,
            definition=each.definition,
            mode=each.mode,
            dataset_id=each.dataset_id,
            at=run.created_at,
        )
        for each in run.spec.inputs
    ]
    if uses:
        context.store.datasets.note(uses)


def note_written(context: Context, caller: Caller, run_id: str, name: str, written: Written) -> DataUse:
    """An output has been written: registers it if the run asked for that, and notes it in the run's lineage."""
    caller.require(Action.RUN_DECLARE_DATA)
    run = context.store.runs.get(names.run_id(run_id))
    output = next((each for each in run.spec.outputs if each.name == name), None)
    if output is None:
        raise NotFound(f"Run {run_id} has no output {name!r}.")
    store = datastores.find(context, run.workspace, output.datastore)
    path = destination(output, run.id)
    given = globs.checked(written.path) or path
    if given != path and not given.startswith(f"{path}/"):
        raise InvalidInput(f"Output {name!r} goes to {path!r}, not to {given!r}.")
    definition = replace(output.definition, sources=(Source(datastore=store.name, path=given),))
    dataset_id = ""
    if output.register_as:
        new = NewDataset(
            definition=definition,
            description=output.register_description,
            tags=output.register_tags,
            create_new_version=True,
        )
        dataset_id = _register(context, caller, run.workspace, output.register_as, new)[0].id
    use = DataUse(
        run_id=run.id,
        direction=Direction.OUTPUT,
        name=name,
        definition=definition,
        mode=written.mode,
        dataset_id=dataset_id,
        at=context.clock(),
    )
    context.store.datasets.note([use])
    return use


def declare(context: Context, caller: Caller, run_id: str, declared: Declared) -> DataUse:
    """A script declares data by asking for it: from now on its run may reach that data and has it in its lineage. A path that was
    declared already, or whose folder was, is not noted again. Safe twice."""
    caller.require(Action.RUN_DECLARE_DATA)
    run = context.store.runs.get(names.run_id(run_id))
    definition = _known(context, run.workspace, declared.definition)
    paths: dict[str, list[str]] = {}
    for source in definition.sources:
        if source.datastore:
            paths.setdefault(source.datastore, []).append(source.path)
    stores = [datastores.find(context, run.workspace, name) for name in paths]
    if declared.direction is Direction.OUTPUT:
        _require_writable(definition, stores)
    uses = context.store.datasets.uses_of_run(run.id)
    if declared.direction is Direction.INPUT:
        known = all(data_access.covers_reading(run, uses, store, paths[store.name]) for store in stores)
    else:
        known = all(data_access.covers_writing(uses, store, path) for store in stores for path in paths[store.name])
    use = DataUse(
        run_id=run.id,
        direction=declared.direction,
        name=_places(definition),
        definition=definition,
        at=context.clock(),
    )
    if known and stores:
        return next((each for each in uses if (each.direction, each.name) == (use.direction, use.name)), use)
    if len(uses) >= MAX_DECLARED:
        raise InvalidInput(
            f"Run {run.id} has named {len(uses)} places in datastores one by one; {whereabouts(definition)} is one too many.",
            hint="Name a folder that they are in: it stands for all that is below it.",
        )
    context.store.datasets.note([use])
    return use


def _require_writable(definition: Definition, stores: Sequence[Datastore]) -> None:
    for source in definition.sources:
        if source.url or globs.is_pattern(source.path):
            raise InvalidInput(
                f"{place_of(source)} cannot be written to.", hint="Give the path of a file or folder in a datastore."
            )
    for store in stores:
        if store.read_only:
            raise Conflict(f"Datastore {store.name!r} is read only.", hint="Upload to another one.")


def _places(definition: Definition) -> str:
    """The name of a use of data that has none of its own; other sources give another name."""
    first, others = place_of(definition.sources[0]), len(definition.sources) - 1
    if len(first) > MAX_PLACE or others:
        digest = hashlib.sha256(repr(definition.sources).encode()).hexdigest()[:8]
        first = f"{first[:MAX_PLACE]} and {others} more ({digest})" if others else f"{first[:MAX_PLACE]}… ({digest})"
    return first


def uses_of_run(context: Context, caller: Caller, run_id: str) -> Sequence[DataUse]:
    """Inputs first."""
    caller.require(Action.RUN_READ)
    return context.store.datasets.uses_of_run(names.run_id(run_id))


def uses_of_dataset(context: Context, caller: Caller, workspace: str, dataset_id: str) -> Sequence[DataUse]:
    """Newest run first; works for a version that is not registered any more too."""
    caller.require(Action.DATASET_TRACE)
    context.store.workspaces.get(names.workspace(workspace))
    found = context.store.datasets.uses_of_dataset(dataset_id, MAX_USES)
    return [use for use in found if context.store.runs.get(use.run_id).workspace == workspace]


def check_run(context: Context, caller: Caller, workspace: str, spec: RunSpec) -> None:
    """Checks the inputs and outputs of a submission; changes nothing. A run's children reach no more than the run."""
    known: set[str] = set()
    for name in (*(each.name for each in spec.inputs), *(each.name for each in spec.outputs)):
        if not name.isidentifier() or len(name) > 255:
            raise InvalidInput(
                f"{name!r} cannot name an input or output: it is a variable of the run too.",
                hint="Use letters, digits and `_`, the first no digit.",
            )
        if name in known:
            raise InvalidInput(f"Two inputs or outputs of the run are named {name!r}.")
        known.add(name)
    for each in spec.inputs:
        _require_sources(context, caller, workspace, _known(context, workspace, each.definition))
    for output in spec.outputs:
        store = datastores.find(context, workspace, output.datastore)
        if store.read_only:
            raise InvalidInput(f"Output {output.name!r} goes to datastore {output.datastore!r}, which is read only.")
        place = destination(output, "run")
        if output.path or not store.is_default:
            data_access.require_write(context, caller, store, [f"{place}/"])
        if output.register_as:
            checked_name(output.register_as)


def _known(context: Context, workspace: str, definition: Definition) -> Definition:
    """The checked definition; raises when it is not valid or a datastore does not exist."""
    made = checked(definition)
    for name in {source.datastore for source in made.sources if source.datastore}:
        datastores.find(context, workspace, name)
    return made


def _require_sources(context: Context, caller: Caller, workspace: str, definition: Definition) -> None:
    """A run registers, or gives to its children, only data that it may read itself. Below a declared pattern that is single
    files, not a folder whose name the pattern matches."""
    if not caller.is_run:
        return
    for name in {source.datastore for source in definition.sources if source.datastore}:
        datastore = datastores.find(context, workspace, name)
        reach = data_access.reach(context, caller, datastore)
        for path in (source.path for source in definition.sources if source.datastore == name):
            reach.require_listing(path)
            if not reach.covers(path) and not _is_file(context, reach, datastore, path):
                reach.refuse(path)


def _read_by(context: Context, caller: Caller, dataset: Dataset) -> Dataset:
    if caller.is_run:
        known = context.store.datasets.uses_of_run(caller.run_id)
        if not any(use.dataset_id == dataset.id and use.direction is Direction.INPUT for use in known):
            _note(context, caller.run_id, Direction.INPUT, _label(dataset), dataset.definition, dataset.id)
    return dataset


def _label(dataset: Dataset) -> str:
    return f"{dataset.name}:{dataset.version}"


def _note(
    context: Context, run_id: str, direction: Direction, name: str, definition: Definition, dataset_id: str
) -> None:
    use = DataUse(
        run_id=run_id,
        direction=direction,
        name=name,
        definition=definition,
        dataset_id=dataset_id,
        at=context.clock(),
    )
    context.store.datasets.note([use])


def _check_description(text: str) -> None:
    if len(text) > MAX_DESCRIPTION:
        raise InvalidInput(f"The description has {len(text)} characters; at most {MAX_DESCRIPTION} are kept.")
