"""Models: from a run's files and from what was put; who may; what keeps their blobs, and what frees them."""

import pytest
from tests.shared.contexts import ANN, Clock, as_run, submit, submit_interactive

from roost.domain.endpoints import Endpoint, EndpointSpec, Version
from roost.domain.errors import (
    DataNotFound,
    Forbidden,
    InvalidInput,
    InvalidModel,
    ModelConflict,
    ModelNotFound,
    ModelPathNotFound,
    NotFound,
)
from roost.domain.files import Entry, EntryKind, RunFile, write_manifest
from roost.domain.models import Model, Resources
from roost.domain.people import Caller
from roost.domain.runs import Run, RunStatus
from roost.domain.workspaces import Workspace
from roost.services import files, models, runs, upkeep
from roost.services.context import Context
from roost.services.models import ModelChanges, ModelQuery, NewModel

_keys = iter(f"key{number:08d}" for number in range(10**8))


def register(context: Context, caller: Caller = ANN, name: str = "net", **given: object) -> Model:
    new = NewModel(name=name, key=next(_keys), **given)  # type: ignore[arg-type]
    return models.register(context, caller, "vision", new)[0]


def put(context: Context, **contents: bytes) -> str:
    entries = [
        Entry(path=f"net/{name}", size=len(data), content=context.blobs.put(data)) for name, data in contents.items()
    ]
    return context.blobs.put(write_manifest(entries))


def run_with(context: Context, *paths: str) -> Run:
    run = submit_interactive(context)
    kept = [RunFile(path=path, blob=context.blobs.put(path.encode()), size=0, modified_at=1.0) for path in paths]
    files.put(context, ANN, run.id, kept)
    return run


def paths(context: Context, model: Model) -> list[str]:
    return [entry.path for entry in models.files(context, "vision", model.id)]


# ---- from a run


@pytest.mark.parametrize(
    ("asked", "path", "found"),
    [
        ("outputs/model.pt", "model.pt", ["model.pt"]),
        ("outputs/", "outputs", ["outputs/model.json", "outputs/model.pt", "outputs/model/a", "outputs/model/b/c"]),
        ("./outputs", "outputs", ["outputs/model.json", "outputs/model.pt", "outputs/model/a", "outputs/model/b/c"]),
        ("outputs/model", "model", ["model/a", "model/b/c"]),
        ("outputs/model/b", "b", ["b/c"]),
        ("outputs/model.", "", ["model.json", "model.pt"]),
        ("outputs/model.j", "model.json", ["model.json"]),
        ("top", "top", ["top"]),
    ],
)
def test_a_runs_file_folder_or_beginning_of_names(context: Context, asked: str, path: str, found: list[str]) -> None:
    kept = ("outputs/model.pt", "outputs/model.json", "outputs/model/a", "outputs/model/b/c", "outputs2/x", "top")
    run = run_with(context, *kept)
    before = sum(1 for _ in context.blobs.walk())
    model = register(context, run_id=run.id, run_path=asked)
    assert (model.path, paths(context, model)) == (path, found)
    assert (model.run_id, model.experiment, model.framework) == (run.id, "train", "Custom")
    assert model.size == sum(entry.size for entry in models.files(context, "vision", model.id)) > 0
    assert sum(1 for _ in context.blobs.walk()) == before + 1, "only the manifest is new"


def test_a_path_that_the_run_has_not_names_what_it_has(context: Context) -> None:
    run = run_with(context, "outputs/model.pt", "logs/a.txt")
    with pytest.raises(ModelPathNotFound, match=r"model_path outputs/net in .*: \[logs/a.txt, outputs/model.pt\]"):
        register(context, run_id=run.id, run_path="outputs/net")
    for wrong in ("../x", "/etc/passwd", "a\nb", "x" * 2000):
        with pytest.raises(InvalidInput):
            register(context, run_id=run.id, run_path=wrong)
    with pytest.raises(NotFound):
        register(context, run_id="train_9_none", run_path="outputs")
    assert models.listing(context, ANN, "vision", ModelQuery()) == []


# ---- from what was put


def test_what_was_put(context: Context) -> None:
    model = register(
        context,
        manifest=put(context, a=b"a", b=b"bb"),
        framework="Onnx",
        framework_version="1.2",
        tags={"t": "1"},
        properties={"p": "1"},
        description="d",
        resources=Resources(cpu=1.0, memory_gb=0.5),
    )
    assert (model.id, model.path, model.size, model.run_id, model.user) == ("net:1", "net", 3, "", "ann")
    assert models.get(context, ANN, "vision", "net") == model == models.resolve(context, "vision", "net:1")
    child = register(context, manifest=put(context, a=b"a"), name="onnx", parent="net")
    assert child.parent == "net:1"


def test_sent_twice_is_one_version(context: Context) -> None:
    new = NewModel(name="net", key="k" * 32, manifest=put(context, a=b"a"))
    first, again = (models.register(context, ANN, "vision", new) for _ in range(2))
    assert first[0] == again[0] and (first[1], again[1]) == (True, False)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ([], "no files"),
        ([Entry(path="net", kind=EntryKind.FOLDER, mode=0o755)], "no files"),
        ([Entry(path="a", size=1, content="ab" * 32)], "is not here"),
        ([Entry(path="../a", size=1, content="ab" * 32)], "climbs out"),
        ([Entry(path="a", kind=EntryKind.LINK, content="../../etc")], "leads outside"),
    ],
)
def test_manifests_that_are_refused(context: Context, entries: list[Entry], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        register(context, manifest=context.blobs.put(write_manifest(entries)))
    assert models.listing(context, ANN, "vision", ModelQuery()) == []


def test_sizes_and_names_in_a_manifest_must_be_true(context: Context) -> None:
    blob = context.blobs.put(b"abc")
    with pytest.raises(InvalidModel, match="has 3 bytes, not 4"):
        register(context, manifest=context.blobs.put(write_manifest([Entry(path="a", size=4, content=blob)])))
    twice = [Entry(path="a", size=3, content=blob)] * 2
    with pytest.raises(InvalidModel, match="'a' twice"):
        register(context, manifest=context.blobs.put(write_manifest(twice)))
    with pytest.raises(InvalidModel, match="is not here"):
        register(context, manifest="cd" * 32)
    with pytest.raises(InvalidModel, match="one of the two"):
        register(context)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": ""}, "not allowed"),
        ({"name": "../net"}, "not allowed"),
        ({"name": "a/b"}, "not allowed"),
        ({"name": ".hidden"}, "not allowed"),
        ({"name": "ü"}, "not allowed"),
        ({"name": "n" * 256}, "not allowed"),
        ({"name": "net:3"}, "not allowed"),
        ({"framework_version": "1"}, "without a framework"),
        ({"framework": "x" * 300}, "at most 255"),
        ({"framework": "a\nb"}, "printable"),
        ({"description": "x" * 20_001}, "at most 20000"),
        ({"tags": {"": "x"}}, "1 to 255"),
        ({"tags": {"x": "y" * 9000}}, "at most 8192"),
        ({"resources": Resources(cpu=0.0)}, "more than zero"),
        ({"resources": Resources(memory_gb=-1.0)}, "more than zero"),
        ({"resources": Resources(gpu=-1)}, "more than zero"),
        ({"datasets": (("only one",),)}, "what for and its id"),
        ({"run_id": "", "run_path": "outputs", "manifest": ""}, "no run is named"),
    ],
)
def test_what_breaks_a_rule_changes_nothing(context: Context, given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        register(context, **{"manifest": put(context, a=b"a"), **given})  # type: ignore[arg-type]
    assert models.listing(context, ANN, "vision", ModelQuery()) == []


def test_datasets_and_parents_must_be_there(context: Context) -> None:
    manifest = put(context, a=b"a")
    with pytest.raises(DataNotFound):
        register(context, manifest=manifest, datasets=(("training data", "no-such"),))
    with pytest.raises(DataNotFound):
        register(context, manifest=manifest, sample_input="no-such")
    with pytest.raises(ModelNotFound):
        register(context, manifest=manifest, parent="none:1")


# ---- finding and changing


def test_filters(context: Context) -> None:
    run = run_with(context, "outputs/a")
    register(context, run_id=run.id, run_path="outputs", tags={"stage": "test"})
    register(context, manifest=put(context, a=b"a"), tags={"stage": "live", "x": ""}, properties={"p": "1"})
    register(context, manifest=put(context, a=b"a"), name="other", framework="Onnx")

    def ids(**wanted: object) -> list[str]:
        return [each.id for each in models.listing(context, ANN, "vision", ModelQuery(**wanted))]  # type: ignore[arg-type]

    assert sorted(ids()) == ["net:1", "net:2", "other:1"]
    assert ids(tags={"stage": "live"}) == ["net:2"] and sorted(ids(tags={"stage": None})) == ["net:1", "net:2"]
    assert ids(tags={"stage": "test"}, latest=True) == [], "the newest version of each name, if it fits"
    assert ids(tags={"x": ""}) == ["net:2"] and ids(properties={"p": "2"}) == []
    assert ids(run_id=run.id) == ["net:1"] and ids(framework="Onnx") == ["other:1"]
    assert ids(name="net", limit=1) == ["net:2"] and ids(dataset_id="no-such") == []


def test_changes(context: Context, clock: Clock) -> None:
    register(context, manifest=put(context, a=b"a"), tags={"a": "1", "b": "2"}, properties={"p": "1"})

    def change(**given: object) -> Model:
        return models.change(context, ANN, "vision", "net", 1, ModelChanges(**given))  # type: ignore[arg-type]

    clock.pass_by(5)
    assert change(tags={"c": "3"}, remove_tags=("a", "none")).tags == {"b": "2", "c": "3"}
    assert change(tags={"d": ""}, replace_tags=True).tags == {"d": ""}
    made = change(properties={"p": "1", "q": "2"}, description="d", resources=Resources(cpu=2.0))
    assert (made.properties, made.description, made.resources.cpu) == ({"p": "1", "q": "2"}, "d", 2.0)
    assert made.modified_at == made.created_at + 5
    with pytest.raises(ModelConflict, match="'p' of model net:1 is '1'"):
        change(properties={"p": "2"}, description="lost")
    assert models.get(context, ANN, "vision", "net") == made
    with pytest.raises(ModelNotFound):
        models.change(context, ANN, "vision", "net", 2, ModelChanges())
    for wrong in (0, -1, 1 << 40):
        with pytest.raises(InvalidModel):
            models.get(context, ANN, "vision", "net", wrong)


# ---- what a run's token may


def test_a_run_registers_its_own_and_its_childrens(context: Context) -> None:
    run, other = run_with(context, "outputs/a"), run_with(context, "outputs/a")
    child = submit(context, parent_id=run.id)
    caller = as_run(run.id)
    own = register(context, caller, run_id=run.id, run_path="outputs")
    assert own.run_id == run.id
    brought = register(context, caller, manifest=put(context, a=b"a"))
    assert (brought.run_id, brought.experiment) == (run.id, "train"), "what a job registers is known to be its"
    assert register(context, caller, run_id=child.id, manifest=put(context, a=b"a")).run_id == child.id
    with pytest.raises(Forbidden):
        register(context, caller, run_id=other.id, run_path="outputs")
    models.change(context, caller, "vision", "net", own.version, ModelChanges(tags={"a": "1"}))
    register(context, manifest=put(context, a=b"a"), name="persons")
    with pytest.raises(Forbidden):
        models.change(context, caller, "vision", "persons", 1, ModelChanges(tags={"a": "1"}))
    with pytest.raises(Forbidden):
        models.change(context, as_run(other.id), "vision", "net", own.version, ModelChanges())
    context.store.workspaces.ensure(Workspace(name="else", user="ann", created_at=1.0))
    with pytest.raises(Forbidden):
        models.listing(context, caller, "else", ModelQuery())


def test_a_run_that_asks_for_a_model_has_used_it(context: Context) -> None:
    run = run_with(context, "outputs/a")
    own = register(context, run_id=run.id, run_path="outputs")
    other = register(context, manifest=put(context, a=b"a"), name="other")
    caller = as_run(run.id)
    for name in ("net", "other", "other"):
        models.get(context, caller, "vision", name)
    assert models.of_run(context, ANN, run.id) == ([own], ["other:1"])
    assert models.users(context, ANN, "vision", "other", 1) == ([run.id], [])
    assert other.run_id == ""


# ---- what keeps blobs


def test_a_model_keeps_its_blobs_when_its_run_is_deleted_and_frees_them_when_it_goes(
    context: Context, clock: Clock
) -> None:
    run = run_with(context, "outputs/a", "outputs/b")
    model = register(context, run_id=run.id, run_path="outputs")
    runs.report(context, ANN, run.id, runs.Report(to=RunStatus.COMPLETED))
    runs.delete(context, ANN, run.id)
    clock.pass_by(10 * upkeep.GRACE_SECONDS)
    content = [entry.content for entry in models.files(context, "vision", model.id)]
    upkeep.sweep(context, ANN)
    assert context.blobs.missing([*content, model.manifest]) == []
    used = upkeep.usage(context, ANN)
    assert used.model_bytes >= model.size and used.unused_bytes == 0
    assert {name for name, _ in upkeep.referred(context)} >= {*content, model.manifest}, "a back-up has them"
    assert models.delete(context, ANN, "vision", "net", 1) and not models.delete(context, ANN, "vision", "net", 1)
    upkeep.sweep(context, ANN)
    assert context.blobs.missing([*content, model.manifest]) == [*content, model.manifest]
    assert upkeep.usage(context, ANN).model_bytes == 0


def test_a_second_version_costs_what_changed(context: Context) -> None:
    many = {f"f{number}": bytes([number]) * 1000 for number in range(50)}
    register(context, manifest=put(context, **many))
    before = sum(1 for _ in context.blobs.walk())
    register(context, manifest=put(context, **{**many, "f7": b"changed"}))
    assert sum(1 for _ in context.blobs.walk()) == before + 2, "one file and the manifest"


def test_one_that_is_deployed_stays(context: Context) -> None:
    model = register(context, manifest=put(context, a=b"a"))
    spec = EndpointSpec(versions=(Version(models=("net:1",), handler="onnx"),))
    endpoint = Endpoint(workspace="vision", name="birds", spec=spec, port=5000, user="ann")
    context.store.endpoints.create(endpoint, b"", generations=1)
    with pytest.raises(ModelConflict, match="net:1 is deployed: birds"):
        models.delete(context, ANN, "vision", "net", 1)
    assert models.get(context, ANN, "vision", "net") == model
