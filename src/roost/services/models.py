"""Models: registered from a run's files or from uploaded blobs, found, listed, changed, deleted. The server never reads their
content.

Registering writes one row, after every blob and id that it names was found: a registration that breaks off leaves nothing.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from roost.domain import labels, names
from roost.domain.errors import (
    Forbidden,
    InvalidInput,
    InvalidModel,
    ModelConflict,
    ModelPathNotFound,
)
from roost.domain.files import Entry, EntryKind, read_manifest, write_manifest
from roost.domain.models import Model, Resources, checked_name, parse_id
from roost.domain.people import Caller
from roost.domain.permissions import Action
from roost.services import data_access, lineage, submissions
from roost.services import files as run_files
from roost.services.context import Context

MAX_DESCRIPTION = 20_000
MAX_WORD = 255
MAX_DATASETS = 100
MAX_USERS = 1000
_SHOWN = 50
_KEY = re.compile(r"[0-9a-zA-Z]{8,64}")


@dataclass(frozen=True, kw_only=True)
class NewModel:
    name: str
    key: str
    """The key of this request: sent twice, it makes one version."""
    manifest: str = ""
    """The manifest of uploaded files; or empty, and `run_id` and `run_path` name files of a run."""
    run_id: str = ""
    run_path: str = ""
    """A file of the run, a folder, or the beginning of paths; the model keeps its last segment."""
    framework: str = ""
    framework_version: str = ""
    description: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    datasets: tuple[tuple[str, str], ...] = ()
    sample_input: str = ""
    sample_output: str = ""
    resources: Resources = field(default_factory=Resources)
    parent: str = ""


@dataclass(frozen=True, kw_only=True)
class ModelChanges:
    """Every field is optional."""

    tags: Mapping[str, str] = field(default_factory=dict)
    remove_tags: tuple[str, ...] = ()
    replace_tags: bool = False
    """True: `tags` replaces all tags."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """Added; an existing one cannot be changed."""
    description: str | None = None
    datasets: tuple[tuple[str, str], ...] = ()
    """Added."""
    sample_input: str | None = None
    sample_output: str | None = None
    resources: Resources | None = None


@dataclass(frozen=True, kw_only=True)
class ModelQuery:
    """A selection of models; newest first."""

    name: str | None = None
    tags: Mapping[str, str | None] = field(default_factory=dict)
    """Each key must exist; a value other than None must be equal."""
    properties: Mapping[str, str | None] = field(default_factory=dict)
    run_id: str | None = None
    dataset_id: str | None = None
    framework: str | None = None
    latest: bool = False
    """Only the newest version of each name."""
    limit: int | None = None


def register(context: Context, caller: Caller, workspace: str, new: NewModel) -> tuple[Model, bool]:
    """Returns the registered version and True when it is new."""
    caller.require(Action.MODEL_REGISTER)
    place = data_access.workspace_of(context, caller, workspace)
    name = checked_name(new.name)
    _check_words(new)
    submissions.check_labels(new.tags, new.properties)
    _check_datasets(context, place, new.datasets, (new.sample_input, new.sample_output))
    _check_resources(new.resources)
    parent = resolve(context, place, new.parent).id if new.parent else ""
    run_id = new.run_id or caller.run_id
    if run_id:  # before the look-up: a run must not learn which other runs exist
        caller.require_run(names.run_id(run_id), lineage.above(context, run_id))
    run = context.store.runs.get(names.run_id(run_id)) if run_id else None
    if run is not None and run.workspace != place:
        raise InvalidModel(f"Run {run.id} is in workspace {run.workspace!r}, not in {place!r}.")
    if bool(new.manifest) == bool(new.run_path):
        raise InvalidModel("A model is made of files that were put, or of a run's: one of the two.")
    if new.run_path and run is None:
        raise InvalidModel(f"{new.run_path!r} is a path among the files of a run, but no run is named.")
    entries = _put(context, new.manifest) if new.manifest else _of_run(context, caller, run_id, new.run_path)
    model = Model(
        workspace=place,
        name=name,
        version=0,
        manifest=new.manifest or context.blobs.put(write_manifest(entries)),
        path=_segment(entries),
        size=sum(entry.size for entry in entries),
        framework=new.framework or "Custom",
        framework_version=new.framework_version,
        description=new.description,
        tags=dict(new.tags),
        properties=dict(new.properties),
        run_id=run_id,
        experiment=run.experiment if run else "",
        parent=parent,
        datasets=tuple((purpose, dataset_id) for purpose, dataset_id in new.datasets),
        sample_input=new.sample_input,
        sample_output=new.sample_output,
        resources=new.resources,
        user=caller.user,
        created_at=context.clock(),
        modified_at=context.clock(),
    )
    return context.store.models.register(model, new.key)


def get(context: Context, caller: Caller, workspace: str, name: str, version: int | None = None) -> Model:
    """The newest version when none is given. When a run gets it, the run is noted as its user."""
    caller.require(Action.MODEL_READ)
    place = data_access.workspace_of(context, caller, workspace)
    model = context.store.models.get(place, checked_name(name), None if version is None else _version(version))
    if caller.is_run and caller.run_id != model.run_id:
        _note_use(context, caller.run_id, model.id)
    return model


def _note_use(context: Context, run_id: str, model_id: str) -> None:
    """Reads first: most runs are noted already, and a read does not wait for the store's writer."""
    if model_id not in context.store.models.used_by_run(run_id):
        context.store.models.note_use(run_id, model_id, context.clock())


def resolve(context: Context, workspace: str, model_id: str) -> Model:
    """The model of an id, `name:version`, or the newest of a name."""
    name, version = parse_id(model_id)
    return context.store.models.get(names.workspace(workspace), name, version)


def files(context: Context, workspace: str, model_id: str) -> list[Entry]:
    """Its files, by path."""
    return read_manifest(context.blobs.get(resolve(context, workspace, model_id).manifest))


def listing(context: Context, caller: Caller, workspace: str, query: ModelQuery) -> list[Model]:
    caller.require(Action.MODEL_READ)
    place = data_access.workspace_of(context, caller, workspace)
    name = None if query.name is None else checked_name(query.name)
    found = context.store.models.list(
        place, name=name, run_id=query.run_id, framework=query.framework, latest=query.latest
    )
    matching = [model for model in found if _fits(model, query)]
    return matching if query.limit is None else matching[: max(0, query.limit)]


def _fits(model: Model, query: ModelQuery) -> bool:
    for wanted, held in ((query.tags, model.tags), (query.properties, model.properties)):
        if any(key not in held or value not in (None, held[key]) for key, value in wanted.items()):
            return False
    given = {dataset_id for _, dataset_id in model.datasets} | {model.sample_input, model.sample_output}
    return query.dataset_id is None or query.dataset_id in given


def change(context: Context, caller: Caller, workspace: str, name: str, version: int, changes: ModelChanges) -> Model:
    """A run may change models that it, or a run below it, registered."""
    caller.require(Action.MODEL_CHANGE)
    place = data_access.workspace_of(context, caller, workspace)
    _version(version)
    submissions.check_labels(changes.tags, changes.properties)
    _check_description(changes.description or "")
    _check_datasets(context, place, changes.datasets, (changes.sample_input or "", changes.sample_output or ""))
    if changes.resources is not None:
        _check_resources(changes.resources)
    if caller.is_run:
        _require_own(context, caller, context.store.models.get(place, checked_name(name), version))
    now = context.clock()
    return context.store.models.change(place, checked_name(name), version, lambda model: _changed(model, changes, now))


def _require_own(context: Context, caller: Caller, model: Model) -> None:
    if not model.run_id:
        raise Forbidden(f"Run {caller.run_id} did not register model {model.id}.")
    caller.require_run(model.run_id, lineage.above(context, model.run_id))


def _changed(model: Model, changes: ModelChanges, now: float) -> Model:
    for key, value in changes.properties.items():
        if model.properties.get(key, value) != value:
            raise ModelConflict(
                f"Property {key!r} of model {model.id} is {model.properties[key]!r} and cannot become {value!r}.",
                hint="Properties stay as they are; use a tag for what changes.",
            )
    kept = {} if changes.replace_tags else {k: v for k, v in model.tags.items() if k not in changes.remove_tags}
    tags, properties = {**kept, **changes.tags}, {**model.properties, **changes.properties}
    labels.check_merged("tag", model.tags, tags)
    labels.check_merged("property", model.properties, properties)
    datasets = tuple(dict.fromkeys((*model.datasets, *((purpose, each) for purpose, each in changes.datasets))))
    if len(datasets) > MAX_DATASETS:
        raise InvalidModel(f"Model {model.id} would have {len(datasets)} datasets; at most {MAX_DATASETS} are kept.")
    given = {
        name: value
        for name in ("description", "sample_input", "sample_output", "resources")
        if (value := getattr(changes, name)) is not None
    }
    return replace(model, tags=tags, properties=properties, datasets=datasets, modified_at=now, **given)


def delete(context: Context, caller: Caller, workspace: str, name: str, version: int) -> bool:
    """True when it existed; ModelConflict while a service uses it. The next sweep frees its content, unless something else refers
    to it."""
    caller.require(Action.MODEL_DELETE)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    services = context.store.endpoints.using(place, f"{checked_name(name)}:{_version(version)}")
    if services:
        raise ModelConflict(
            f"Model {name}:{version} is deployed: {', '.join(services[:_SHOWN])}.",
            hint="Delete the service first, or deploy another model there: Webservice(workspace, name).delete().",
            cli_hint=f"Delete the service first: roost endpoint delete {services[0]}",
        )
    return context.store.models.delete(place, checked_name(name), _version(version))


def users(
    context: Context, caller: Caller, workspace: str, name: str, version: int
) -> tuple[Sequence[str], Sequence[str]]:
    """The runs that read it, newest first, and the services that use it."""
    caller.require(Action.MODEL_TRACE)
    place = context.store.workspaces.get(names.workspace(workspace)).name
    model_id = f"{checked_name(name)}:{_version(version)}"
    return context.store.models.users(place, model_id, MAX_USERS), context.store.endpoints.using(place, model_id)


def of_run(context: Context, caller: Caller, run_id: str) -> tuple[Sequence[Model], Sequence[str]]:
    """The models that a run registered, newest first, and the ids of those that it used."""
    caller.require(Action.RUN_READ)
    run = context.store.runs.get(names.run_id(run_id))
    return context.store.models.list(run.workspace, run_id=run.id), context.store.models.used_by_run(run.id)


# ---- what a model is made of


def _put(context: Context, manifest: str) -> list[Entry]:
    """The entries of an uploaded manifest; InvalidModel unless every blob it lists is stored, in the listed size."""
    size = context.blobs.keep(names.blob(manifest))
    if size is None:
        raise InvalidModel(f"Manifest {manifest} is not here.", hint="Put the manifest and its blobs first.")
    if size > submissions.MAX_MANIFEST:
        raise InvalidModel(
            f"The model's manifest has {size} bytes; at most {submissions.MAX_MANIFEST} are read.",
            hint="A model of so many files is better one archive.",
        )
    entries = read_manifest(context.blobs.get(manifest))
    if not any(entry.kind is EntryKind.FILE for entry in entries):
        raise InvalidModel("The model has no files.", hint="Give the path of a file, or of a folder with files.")
    seen: set[str] = set()
    for entry in entries:
        if entry.path in seen:
            raise InvalidModel(f"The model has {entry.path!r} twice.")
        seen.add(entry.path)
        if entry.kind is EntryKind.FILE and (there := context.blobs.keep(entry.content)) != entry.size:
            fact = "is not here" if there is None else f"has {there} bytes, not {entry.size}"
            raise InvalidModel(f"Blob {entry.content} of {entry.path!r} {fact}.", hint="Put the blobs first.")
    return entries


def _of_run(context: Context, caller: Caller, run_id: str, run_path: str) -> list[Entry]:
    """A run's file or folder, else all files whose paths begin with `run_path`; their paths start at its last segment."""
    path = run_files.real_path(run_path)
    every = [file for file in run_files.listing(context, caller, run_id) if file.blob]
    found = [file for file in every if file.path == path or file.path.startswith(f"{path}/")]
    found = found or [file for file in every if file.path.startswith(path)]
    if not found:
        there = [file.path for file in every]
        shown = ", ".join(there[:_SHOWN]) + (f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else "")
        raise ModelPathNotFound(
            f"Could not locate the provided model_path {path} in the set of files uploaded to the run: [{shown}].",
            hint="`run.get_file_names()` lists them; `run.upload_file(name, path)` adds one while the run goes on.",
            cli_hint=f"roost run show {run_id} lists them.",
        )
    cut = len(path.rpartition("/")[0]) + 1 if "/" in path else 0
    for file in found:
        if context.blobs.keep(file.blob) is None:
            raise InvalidInput(f"The content of {file.path!r} of run {run_id} is not here any more.")
    return [Entry(path=file.path[cut:], size=file.size, content=file.blob) for file in found]


def _segment(entries: Sequence[Entry]) -> str:
    """The one file or folder that contains all entries; empty when there are several."""
    first = {entry.path.partition("/")[0] for entry in entries}
    return first.pop() if len(first) == 1 else ""


# ---- rules


def _version(version: int) -> int:
    if not 0 < version < 1 << 31:
        raise InvalidModel(f"{version} is not the version of a model.", hint="Versions count from 1.")
    return version


def _check_words(new: NewModel) -> None:
    if not _KEY.fullmatch(new.key):
        raise InvalidModel(f"The key of a registration is 8 to 64 letters or digits, got {new.key[:80]!r}.")
    _check_description(new.description)
    for what, word in (("framework", new.framework), ("framework version", new.framework_version)):
        if len(word) > MAX_WORD or not word.isprintable():
            raise InvalidModel(f"The {what} of a model has at most {MAX_WORD} printable characters, got {word[:80]!r}.")
    if new.framework_version and not new.framework:
        raise InvalidModel(
            f"Framework version {new.framework_version!r} is given without a framework.",
            hint="model_framework=Model.Framework.TENSORFLOW, …",
            cli_hint="Give --framework too.",
        )


def _check_description(text: str) -> None:
    if len(text) > MAX_DESCRIPTION:
        raise InvalidModel(f"The description has {len(text)} characters; at most {MAX_DESCRIPTION} are kept.")


def _check_datasets(
    context: Context, workspace: str, datasets: Sequence[tuple[str, str]], samples: Sequence[str]
) -> None:
    if len(datasets) > MAX_DATASETS:
        raise InvalidModel(f"{len(datasets)} datasets were given; at most {MAX_DATASETS} are kept.")
    for pair in datasets:
        if len(pair) != 2 or not 0 < len(pair[0]) <= MAX_WORD:
            raise InvalidModel(f"A dataset is given as what for and its id, got {list(pair)!r}.")
    for dataset_id in (*(pair[1] for pair in datasets), *samples):
        if dataset_id:
            context.store.datasets.by_id(workspace, dataset_id)


def _check_resources(resources: Resources) -> None:
    for what, value, least in (
        ("cpu", resources.cpu, 0.0),
        ("memory", resources.memory_gb, 0.0),
        ("gpu", resources.gpu, -1.0),
    ):
        if value is not None and not (math.isfinite(value) and value > least):
            raise InvalidModel(f"The {what} of a resource configuration must be more than zero, got {value}.")
