"""Datasets: versions, the files that a definition means, lineage both ways; what a run may hand on."""

from dataclasses import replace

import pytest
from tests.shared.contexts import ANN, as_run, submission, submit

from roost.domain.datasets import DatasetKind, Definition, Direction, Input, Mode, Output, Source
from roost.domain.datastores import DatastoreKind
from roost.domain.errors import Conflict, DataConflict, DataNotFound, Forbidden, InvalidInput, NotFound
from roost.domain.people import Caller
from roost.domain.runs import RunKind
from roost.services import children, datasets, datastores, runs, stored_files
from roost.services.children import Newborn
from roost.services.context import Context
from roost.services.datasets import Declared, NewDataset, Written
from roost.services.datastores import NewDatastore

OWN = "workspaceblobstore"


def put(context: Context, *paths: str, name: str = OWN) -> None:
    for path in paths:
        place = stored_files.may_write(context, ANN, "vision", name, [path], overwrite=True)
        stored_files.write(place, path, [path.encode()])


def of(*paths: str, name: str = OWN, **changes: object) -> Definition:
    return replace(Definition(sources=tuple(Source(datastore=name, path=path) for path in paths)), **changes)


def names(context: Context, definition: Definition, caller: Caller = ANN) -> list[str]:
    return [item.name for item in datasets.items(context, caller, "vision", definition, shared=False).items]


def register(context: Context, definition: Definition, name: str = "birds", caller: Caller = ANN, **given: object):  # type: ignore[no-untyped-def]
    new = NewDataset(definition=definition, **given)  # type: ignore[arg-type]
    return datasets.register(context, caller, "vision", name, new)[0]


def test_names_are_relative_to_the_folder_that_all_sources_share(
    context: Context, tmp_path_factory: pytest.TempPathFactory
) -> None:
    put(context, "d/train/a.csv", "d/train/b.csv", "d/test/a.csv", "e.txt")
    assert names(context, of("d/train/*.csv")) == ["a.csv", "b.csv"]
    assert names(context, of("d/train")) == ["a.csv", "b.csv"]
    assert names(context, of("d/train/a.csv")) == ["a.csv"]
    assert names(context, of("d/train/*.csv", "d/test/a.csv")) == ["train/a.csv", "train/b.csv", "test/a.csv"]
    assert names(context, of("d/**/*.csv")) == ["test/a.csv", "train/a.csv", "train/b.csv"]
    assert names(context, of("e.txt", "d/test")) == ["e.txt", "d/test/a.csv"]
    assert names(context, of("d/train/*.csv", "d/train/a.csv")) == ["a.csv", "b.csv"]
    assert names(context, of("gone/*")) == []
    folder = tmp_path_factory.mktemp("more")
    new = NewDatastore(kind=DatastoreKind.FOLDER, settings={"path": str(folder)}, credential={})
    datastores.register(context, ANN, "vision", "more", new)
    put(context, "d/train/a.csv", name="more")
    both = Definition(sources=(Source(datastore=OWN, path="d/train/a.csv"), Source(datastore="more", path="d/train")))
    assert names(context, both) == [f"{OWN}/a.csv", "more/a.csv"]
    last = Definition(sources=(*both.sources, Source(datastore=OWN, path="d/train/b.csv")))
    assert names(context, last) == [f"{OWN}/a.csv", "more/a.csv", f"{OWN}/b.csv"], "in the order of the sources"


def test_a_place_that_it_names_and_that_is_gone(context: Context) -> None:
    put(context, "d/a.csv", "d/b.csv")
    with pytest.raises(InvalidInput, match=f"names {OWN}/d/gone.csv and 1 more, and there is no file"):
        names(context, of("d/a.csv", "d/gone.csv", "e"))
    web = Definition(sources=(Source(url="http://127.0.0.1:1/x"), Source(datastore=OWN, path="e")))
    with pytest.raises(InvalidInput, match=f"names {OWN}/e, and"):
        names(context, web)
    assert names(context, of("d/a.csv", "e/*.csv")) == ["d/a.csv"], "a pattern means what is there"
    assert names(context, of("d/gone.csv", "e")) == [], "none of it is there: who reads it says so"


def test_addresses_are_the_readers_own(context: Context) -> None:
    put(context, "a")
    mixed = Definition(sources=(Source(url="http://127.0.0.1:1/x"), Source(datastore=OWN, path="a")))
    found = datasets.items(context, ANN, "vision", mixed, shared=True)
    assert (found.urls, [item.name for item in found.items]) == ((0,), ["a"])


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (Definition(), "at least one source"),
        (Definition(sources=(Source(),)), "one of the two"),
        (of("../x"), "climbs out"),
        (of("x", name="a/b"), "not allowed"),
        (Definition(sources=(Source(url="file:///etc/passwd"),)), "not an address"),
        (Definition(sources=(Source(url="https://ann:pw-to-hide@host/x"),)), "credential in it"),
        (Definition(sources=(Source(url="https://host/x?se=1&sig=pw-to-hide"),)), "credential in it"),
        (Definition(sources=(Source(url="https://host/x?X-Amz-Signature=pw-to-hide"),)), "credential in it"),
        (of("x", steps=({"op": "run", "code": "1"},)), "not a step"),
        (of("x", steps=({"op": "keep_columns", "columns": ["a"]},)), "for tables"),
        (of("x", steps=({"op": "filter", "expression": {"op": "eval", "args": []}},)), "not an expression"),
        (of("x", kind=DatasetKind.TABULAR), "type"),
    ],
)
def test_what_cannot_be_is_refused_and_shows_nothing(context: Context, definition: Definition, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        register(context, definition)
    assert "pw-to-hide" not in str(caught.value)
    with pytest.raises(InvalidInput, match=words):
        datasets.items(context, ANN, "vision", definition, shared=False)
    assert datasets.listing(context, ANN, "vision") == []


def test_a_definition_of_a_datastore_that_is_not_there(context: Context) -> None:
    with pytest.raises(DataNotFound, match="'none'"):
        register(context, of("x", name="none"))


def test_the_registry(context: Context) -> None:
    first = register(context, of("a"), description="one", tags={"k": "v"})
    assert register(context, of("a")).id == first.id
    with pytest.raises(DataConflict):
        register(context, of("b"))
    second = register(context, of("b"), create_new_version=True)
    assert (first.version, second.version) == (1, 2)
    assert datasets.get(context, ANN, "vision", "birds") == second
    assert datasets.get(context, ANN, "vision", "birds", 1).id == first.id
    assert datasets.by_id(context, ANN, "vision", first.id).description == "one"
    changed = datasets.annotate(context, ANN, "vision", first.id, tags={"l": "w"}, remove_tags=["k"], description=None)
    assert (changed.tags, changed.description) == ({"l": "w"}, "one")
    assert [each.version for each in datasets.listing(context, ANN, "vision", "birds")] == [2, 1]
    assert datasets.delete(context, ANN, "vision", "birds") == 2
    for bad in ("", " x", "a/b", "x" * 256, "\n"):
        with pytest.raises(InvalidInput, match="not allowed"):
            register(context, of("a"), bad)


def test_lineage_of_a_submission(context: Context) -> None:
    made = register(context, of("a"))
    given = Input(name="data", definition=made.definition, mode=Mode.DOWNLOAD, dataset_id=made.id)
    run = submit(context, inputs=(given,))
    (use,) = datasets.uses_of_run(context, ANN, run.id)
    assert (use.direction, use.name, use.mode, use.dataset_id) == (Direction.INPUT, "data", Mode.DOWNLOAD, made.id)
    assert [each.run_id for each in datasets.uses_of_dataset(context, ANN, "vision", made.id)] == [run.id]


def test_a_run_that_asks_by_name_has_read_it_and_may_list_it(context: Context) -> None:
    put(context, "a/1", "b/2")
    made = register(context, of("a"))
    run = submit(context)
    own = as_run(run.id)
    with pytest.raises(Forbidden, match="did not declare"):
        names(context, of("a"), own)
    assert datasets.get(context, own, "vision", "birds") == made == datasets.by_id(context, own, "vision", made.id)
    assert names(context, of("a"), own) == ["1"]
    (use,) = datasets.uses_of_run(context, ANN, run.id)
    assert (use.dataset_id, use.mode) == (made.id, Mode.DIRECT)
    with pytest.raises(Forbidden, match="did not declare"):
        register(context, of("b"), "mine", own)
    assert register(context, of("a", steps=({"op": "take", "count": 1},)), "mine", own).version == 1


def declare(context: Context, caller: Caller, direction: str, *paths: str, name: str = OWN) -> str:
    declared = Declared(direction=Direction(direction), definition=of(*paths, name=name))
    return datasets.declare(context, caller, caller.run_id, declared).name


def places(context: Context, caller: Caller) -> list[tuple[str, str]]:
    return sorted((use.direction.value, use.name) for use in datasets.uses_of_run(context, caller, caller.run_id))


def test_a_script_declares_by_asking(context: Context) -> None:
    put(context, "a/1", "a/2", "b/3")
    own = as_run(submit(context).id)
    with pytest.raises(Forbidden, match="did not declare"):
        names(context, of("a"), own)
    assert declare(context, own, "input", "/a/") == declare(context, own, "input", "a") == f"{OWN}/a"
    assert names(context, of("a"), own) == ["1", "2"]
    declare(context, own, "input", "a/1")
    declare(context, own, "input", "a/*")
    assert places(context, own) == [("input", f"{OWN}/a")], "what is below it is declared with it"
    with pytest.raises(Forbidden, match="did not declare"):
        stored_files.may_write(context, own, "vision", OWN, ["a/4"], overwrite=True)
    for wrong in (("input", "../x"), ("output", "../x")):
        with pytest.raises(InvalidInput, match="climbs out"):
            declare(context, own, *wrong)
    with pytest.raises(DataNotFound, match="'none'"):
        declare(context, own, "input", "a", name="none")
    assert len(places(context, own)) == 1


def test_a_script_writes_where_it_said(context: Context, tmp_path_factory: pytest.TempPathFactory) -> None:
    own = as_run(submit(context).id)
    declare(context, own, "output", "made")
    declare(context, own, "output", "made/below")
    assert places(context, own) == [("output", f"{OWN}/made")]
    for path in ("made/1", "made/below/2", "made"):
        stored_files.may_write(context, own, "vision", OWN, [path], overwrite=True)
    for path in ("mad", "made2/1", "x"):
        with pytest.raises(Forbidden, match="did not declare"):
            stored_files.may_write(context, own, "vision", OWN, [path], overwrite=True)
    put(context, "made/1", "in/1")
    assert names(context, of("made"), own) == ["1"], "and reads there"
    declare(context, own, "input", "made")
    assert len(places(context, own)) == 2, "that it read it too is told"
    with pytest.raises(InvalidInput, match="cannot be written to"):
        declare(context, own, "output", "made/*")
    folder = tmp_path_factory.mktemp("looked")
    new = NewDatastore(kind=DatastoreKind.FOLDER, settings={"path": str(folder)}, credential={}, read_only=True)
    datastores.register(context, ANN, "vision", "looked", new)
    with pytest.raises(Conflict, match="'looked' is read only"):
        declare(context, own, "output", "x", name="looked")
    declare(context, own, "input", "in")
    made = register(context, of("in"), "birds", own)
    assert ("output", "birds:1") in places(context, own)
    assert [use.run_id for use in datasets.uses_of_dataset(context, ANN, "vision", made.id)] == [own.run_id]
    with pytest.raises(Forbidden, match="did not declare"):  # it registered what it read: that is no place to write to
        stored_files.may_write(context, own, "vision", OWN, ["in/2"], overwrite=True)
    declare(context, own, "output", "")
    stored_files.may_write(context, own, "vision", OWN, ["anywhere"], overwrite=True)


def test_many_places_are_one_use_or_too_many(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    own = as_run(submit(context).id)
    first = declare(context, own, "input", "a/1", "a/2", "a/3")
    assert first.startswith(f"{OWN}/a/1 and 2 more (")
    assert declare(context, own, "input", "a/1", "a/2", "a/4") != first, "other places are another use"
    assert len(declare(context, own, "input", "x" * 250)) < 255
    monkeypatch.setattr(datasets, "MAX_DECLARED", 3)
    with pytest.raises(InvalidInput, match=rf"has named 3 places .* {OWN}/b is one too many"):
        declare(context, own, "input", "b")
    assert declare(context, own, "input", "a/4")


def test_a_run_hands_on_files_of_its_pattern_and_no_folder(context: Context) -> None:
    put(context, "in/a", "in/sub/b")
    run = submit(context, inputs=(Input(name="data", definition=of("in/*")),))
    own = as_run(run.id)
    assert register(context, of("in/a"), "one", own).version == 1
    for definition in (of("in/sub"), of("in/not_yet")):
        with pytest.raises(Forbidden, match="did not declare"):
            register(context, definition, "more", own)


def test_what_a_run_declared_is_looked_up_once(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [f"in/{n}" for n in range(50)]
    put(context, *paths)
    own = as_run(submit(context, inputs=(Input(name="data", definition=of(*paths)),)).id)
    asked: list[str] = []
    plain = context.store.datasets.uses_of_run
    monkeypatch.setattr(context.store.datasets, "uses_of_run", lambda run_id: asked.append(run_id) or plain(run_id))
    assert names(context, of(*paths), own) == [str(n) for n in range(50)]
    assert register(context, of(*paths[:10]), "some", own).version == 1
    assert len(asked) == 2, "once for each request, however many its sources are"


def test_a_child_reaches_no_more_than_its_parent(context: Context) -> None:
    run = submit(context, inputs=(Input(name="data", definition=of("a")),))
    own = as_run(run.id)
    for inputs, outputs in (
        ((Input(name="data", definition=of("b")),), ()),
        ((), (Output(name="out", path="a"),)),
    ):
        child = submission(context, parent_id=run.id, inputs=inputs, outputs=outputs)
        with pytest.raises(Forbidden, match="did not declare"):
            children.create(context, own, run.id, Newborn(children=(child,)))
    fine = submission(context, parent_id=run.id, inputs=run.spec.inputs, outputs=(Output(name="out"),))
    assert children.create(context, own, run.id, Newborn(children=(fine,)))


def test_an_output_is_registered_and_stands_in_the_lineage(context: Context) -> None:
    output = Output(name="out", register_as="results", register_tags={"k": "v"})
    run = submit(context, outputs=(output, Output(name="plain", path="p/{output-name}")))
    own = as_run(run.id)
    where = f"dataset/{run.id}/out"
    place = stored_files.may_write(context, own, "vision", "", [f"{where}/x"], overwrite=True)
    stored_files.write(place, f"{where}/x", [b"1"])
    use = datasets.note_written(context, own, run.id, "out", Written())
    assert use.definition.sources == (Source(datastore=OWN, path=where),)
    assert datasets.note_written(context, own, run.id, "out", Written()).dataset_id == use.dataset_id
    made = datasets.get(context, ANN, "vision", "results")
    assert (made.id, made.tags, names(context, made.definition)) == (use.dataset_id, {"k": "v"}, ["x"])
    assert [each.direction for each in datasets.uses_of_dataset(context, ANN, "vision", made.id)] == [Direction.OUTPUT]
    assert datasets.note_written(context, own, run.id, "plain", Written()).dataset_id == ""
    with pytest.raises(NotFound, match="no output 'none'"):
        datasets.note_written(context, own, run.id, "none", Written())
    with pytest.raises(InvalidInput, match="goes to"):
        datasets.note_written(context, own, run.id, "out", Written(path="elsewhere"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"inputs": (Input(name="a b", definition=of("x")),)}, "variable"),
        ({"inputs": (Input(name="a", definition=of("x")),), "outputs": (Output(name="a"),)}, "Two inputs or outputs"),
        ({"inputs": (Input(name="a", definition=Definition()),)}, "at least one source"),
        ({"outputs": (Output(name="a", path="../x"),)}, "climbs out"),
        ({"outputs": (Output(name="a", register_as="a/b"),)}, "not allowed"),
    ],
)
def test_a_submission_whose_data_cannot_be_makes_no_run(context: Context, given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        submit(context, **given)
    assert runs.listing(context, ANN, runs.RunQuery(workspace="vision")) == []


def test_an_interactive_run_may_declare_data_too(context: Context) -> None:
    run = submit(
        context,
        kind=RunKind.INTERACTIVE,
        script="",
        snapshot="",
        interpreter="",
        inputs=(Input(name="a", definition=of("x")),),
    )
    assert len(datasets.uses_of_run(context, ANN, run.id)) == 1
