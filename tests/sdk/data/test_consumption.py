"""How a configuration names data, and what becomes of it in the run: without a control plane."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from roost import (
    DataReference,
    DataReferenceConfiguration,
    DatasetConsumptionConfig,
    FileDataset,
    OutputFileDatasetConfig,
    OutputTabularDatasetConfig,
    RunConfiguration,
    ScriptRunConfig,
    TabularDataset,
)
from roost.domain.datasets import DatasetKind, Definition, Mode, Source, token
from roost.domain.datastores import Datastore as Record
from roost.domain.datastores import DatastoreKind
from roost.domain.errors import InvalidInput
from roost.sdk.data.datastores import Datastore
from roost_job.exceptions import UserErrorException


@pytest.fixture
def files() -> FileDataset:
    return FileDataset._of(Definition(sources=(Source(datastore="store", path="images"),)), None)


@pytest.fixture
def table() -> TabularDataset:
    definition = Definition(kind=DatasetKind.TABULAR, sources=(Source(datastore="store", path="p.csv"),))
    return TabularDataset._of(definition, None)


@pytest.fixture
def store() -> Datastore:
    """One that nobody asks anything."""
    made = Datastore.__new__(Datastore)
    made._record = Record(workspace="w", name="store", kind=DatastoreKind.FOLDER)
    made._workspace = SimpleNamespace(name="w")  # type: ignore[assignment]
    return made


def spec(**given: Any) -> Any:
    return ScriptRunConfig(".", **given).spec("")


class TestInputs:
    def test_in_arguments(self, files: FileDataset) -> None:
        unnamed, named = files.as_mount(), files.as_named_input("birds").as_download("/tmp/birds")
        made = spec(script="train.py", arguments=["--data", unnamed, named, 3, "--same", unnamed])
        assert made.arguments == ("--data", token(unnamed.name), token("birds"), "3", "--same", token(unnamed.name))
        first, second = made.inputs
        assert (first.name, first.mode, first.definition) == (unnamed.name, Mode.MOUNT, files._definition)
        assert (second.name, second.mode, second.path_on_compute) == ("birds", Mode.DOWNLOAD, "/tmp/birds")

    def test_an_unnamed_one_has_a_name_of_its_own(self, files: FileDataset) -> None:
        first, second = files.as_mount(), files.as_mount()
        assert first.name != second.name
        assert first.name.startswith("input__")
        assert len(first.name) == len("input__") + 8

    def test_in_a_text(self, files: FileDataset) -> None:
        made = spec(command=f"cat {files.as_mount()} | wc -l")
        (given,) = made.inputs
        assert made.command == (f"cat {token(given.name)} | wc -l",)
        assert made.shell

    def test_a_text_that_names_what_is_not_given_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match=f"'{token('absent')}' stands for data that the run is not given"):
            spec(command=f"cat {token('absent')}")

    @pytest.mark.parametrize("form", ["{}", "${{{0}}}"])
    def test_a_reference_in_a_text(self, store: Datastore, form: str) -> None:
        words = store.path("words").as_mount()
        text = form.format(str(words) if form == "{}" else str(words)[1:])
        for made in (spec(command=f"ls {text}/sub"), spec(script="t.py", arguments=["--d", text])):
            (given,) = made.inputs
            assert (given.name, given.mode) == (words.data_reference_name, Mode.MOUNT)
            assert given.definition.sources == (Source(datastore="store", path="words"),)
        made = spec(script="t.py", arguments=[f"--to={store.path('made').as_upload('out')}"])
        assert [(each.path, each.source) for each in made.outputs] == [("made", "out")]

    def test_a_reference_in_a_text_and_given_otherwise(self, store: Datastore) -> None:
        words = store.path("words", data_reference_name="words")
        configuration = RunConfiguration()
        configuration.data_references = {"words": words.as_download().to_config()}
        (given,) = ScriptRunConfig(".", "t.py", arguments=[str(words)], run_config=configuration).spec("").inputs
        assert given.mode is Mode.DOWNLOAD
        (given,) = spec(script="t.py", arguments=[str(words), words.as_download()]).inputs
        assert given.mode is Mode.DOWNLOAD

    @pytest.mark.parametrize(
        "given",
        [
            {"command": "ls $AZUREML_DATAREFERENCE_none"},
            {"script": "t.py", "arguments": ["--d=${AZUREML_DATAREFERENCE_none}/a"]},
        ],
    )
    def test_a_reference_that_the_run_is_not_given_is_refused(self, given: Any) -> None:
        with pytest.raises(
            InvalidInput, match=r"'\$AZUREML_DATAREFERENCE_none' stands for data that the run is not"
        ) as e:
            spec(**given)
        assert "data_references" in e.value.hint

    def test_a_table_is_neither_mounted_nor_downloaded(self, table: TabularDataset) -> None:
        for deed in (table.as_named_input("a").as_mount, lambda: DatasetConsumptionConfig(None, table, "mount")):
            with pytest.raises(
                UserErrorException, match=r"TabularDataset does not support mount\. Only FileDataset"
            ) as e:
                deed()
            assert "as_named_input" in e.value.hint and "to_csv_files" in e.value.hint  # type: ignore[attr-defined]
        with pytest.raises(UserErrorException, match=r"does not support download\. Only FileDataset supports download"):
            table.as_named_input("a").as_download()
        with pytest.raises(InvalidInput, match=r"arguments\[0\] is a TabularDataset") as caught:
            ScriptRunConfig(".", script="t.py", arguments=[table])  # type: ignore[list-item]
        assert "as_named_input" in caught.value.hint and "as_mount" not in caught.value.hint

    def test_in_the_run_configuration(self, files: FileDataset) -> None:
        configuration = RunConfiguration()
        configuration.data = {"birds": files.as_named_input("birds")}
        (given,) = ScriptRunConfig(".", script="t.py", run_config=configuration).spec("").inputs
        assert (given.name, given.mode) == ("birds", Mode.DIRECT)

    def test_two_of_one_name_are_refused_and_one_twice_is_not(self, files: FileDataset) -> None:
        with pytest.raises(InvalidInput, match="Two inputs or outputs of the run are named 'a'"):
            spec(script="t.py", arguments=[files.as_named_input("a").as_mount(), files.as_named_input("a")])
        with pytest.raises(InvalidInput, match="are named 'a'"):
            spec(script="t.py", arguments=[files.as_named_input("a"), OutputFileDatasetConfig("a")])

    def test_a_bare_dataset_is_refused_wherever_it_stands(self, files: FileDataset, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match=r"arguments\[1\] is a FileDataset") as caught:
            ScriptRunConfig(".", script="t.py", arguments=["--data", files])  # type: ignore[list-item]
        assert "as_mount()" in caught.value.hint
        configuration = RunConfiguration()
        configuration.data = {"birds": files}
        with pytest.raises(InvalidInput, match=r"data\['birds'\] is a FileDataset"):
            ScriptRunConfig(str(tmp_path), script="t.py", run_config=configuration).check()
        configuration.data = {"birds": 3}
        with pytest.raises(InvalidInput, match=r"data\['birds'\] of RunConfiguration cannot be a int"):
            ScriptRunConfig(str(tmp_path), script="t.py", run_config=configuration).check()

    @pytest.mark.parametrize("name", ["", "9lives", "a-b", "a b", "é", 3])
    def test_names_are_variables(self, files: FileDataset, name: Any) -> None:
        with pytest.raises(InvalidInput, match="it is a variable of the run too"):
            files.as_named_input(name)

    @pytest.mark.parametrize("path", ["/", "../up", "a/../../b", 3, "a\0b"])
    def test_places_that_cannot_be(self, files: FileDataset, path: Any) -> None:
        with pytest.raises(InvalidInput):
            files.as_mount(path)

    def test_what_cannot_be(self, files: FileDataset) -> None:
        with pytest.raises(InvalidInput, match="mode must be one of direct, mount, download"):
            DatasetConsumptionConfig("a", files, "hdfs")
        with pytest.raises(InvalidInput, match="as_hdfs`, and none is planned"):
            files.as_named_input("a").as_hdfs()
        with pytest.raises(InvalidInput, match="dataset must be a dataset, got str"):
            DatasetConsumptionConfig("a", "images")  # type: ignore[arg-type]


class TestOutputs:
    def test_as_a_run_carries_it(self, store: Datastore) -> None:
        config = OutputFileDatasetConfig("made", (store, "/results/{run-id}/"), source="out")
        (output,) = spec(script="t.py", arguments=["--to", config]).outputs
        assert (output.datastore, output.path, output.source) == ("store", "results/{run-id}", "out")
        assert (output.mode, output.overwrite) == (Mode.MOUNT, True), "a second run may write where the first one did"
        assert config.as_mount()._carried() == output
        uploaded = config.as_upload()._carried()
        assert (uploaded.mode, uploaded.overwrite) == (Mode.UPLOAD, False)
        kept = config.as_upload(overwrite=True, source_globs="*.csv").register_on_complete("n", "d", {"a": 1})  # type: ignore[dict-item]
        (output,) = spec(script="t.py", arguments=[kept]).outputs
        assert (output.globs, output.overwrite) == (("*.csv",), True)
        assert (output.register_as, output.register_description, output.register_tags) == ("n", "d", {"a": "1"})
        assert OutputFileDatasetConfig().name.startswith("output__")

    def test_a_datastore_may_be_named(self) -> None:
        config = OutputFileDatasetConfig("made", ("store", "results"))
        assert (config._carried().datastore, config.destination) == ("store", ("store", "results"))
        assert config.as_input()._carried().definition.sources == (Source(datastore="store", path="results"),)
        assert OutputFileDatasetConfig("made").destination == (None, "dataset/{run-id}/{output-name}")
        with pytest.raises(InvalidInput, match="Datastore name 'a b' is not allowed"):
            OutputFileDatasetConfig("made", ("a b", "results"))

    @pytest.mark.parametrize("path", ["{foo}/x", "results/{run_id}", "{}"])
    def test_what_nothing_is_filled_into_is_refused(self, path: str) -> None:
        with pytest.raises(InvalidInput, match="which stands for nothing") as caught:
            OutputFileDatasetConfig("made", ("store", path))
        assert "{run-id} and {output-name}" in caught.value.hint

    def test_a_table(self, store: Datastore) -> None:
        table = OutputFileDatasetConfig("t", store).read_delimited_files(separator="\t").keep_columns("a")
        assert isinstance(table, OutputTabularDatasetConfig)
        (output,) = spec(script="t.py", arguments=[table.register_on_complete("t")]).outputs
        assert output.definition.kind is DatasetKind.TABULAR
        assert output.definition.format["separator"] == "\t"
        assert output.definition.steps == ({"op": "keep_columns", "columns": ["a"]},)
        parquet = OutputFileDatasetConfig("t", store).read_parquet_files().drop_columns(["b"])
        assert parquet._carried().definition.format["type"] == "parquet"
        with pytest.raises(InvalidInput, match="`path_glob`"):
            OutputFileDatasetConfig("t").read_parquet_files(path_glob="*.p")
        with pytest.raises(InvalidInput, match="not made directly"):
            OutputTabularDatasetConfig()

    def test_as_the_input_of_another(self, store: Datastore) -> None:
        fixed = OutputFileDatasetConfig("made", (store, "results/{output-name}")).as_input("given")
        assert fixed._carried().definition.sources == (Source(datastore="store", path="results/made"),)
        assert fixed.mode == "mount"
        table = OutputFileDatasetConfig("made", (store, "results")).read_parquet_files().as_input()
        assert table.mode == "direct"
        with pytest.raises(InvalidInput, match="goes to another place with each run"):
            OutputFileDatasetConfig("made", (store, "results/{run-id}")).as_input()

    def test_what_cannot_be(self, store: Datastore) -> None:
        with pytest.raises(InvalidInput, match="destination must be a datastore"):
            OutputFileDatasetConfig("a", "store")  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match=r"climbs|not allowed"):
            OutputFileDatasetConfig("a", (store, "../up"))
        with pytest.raises(InvalidInput, match="as_hdfs`, and none is planned"):
            OutputFileDatasetConfig("a").as_hdfs()
        with pytest.raises(InvalidInput, match="no parameter 'when'"):
            OutputFileDatasetConfig("a").register_on_complete("n", when="now")
        with pytest.raises(InvalidInput, match="source must be the path"):
            OutputFileDatasetConfig("a", source=" ")


class TestReferences:
    def test_forms(self, store: Datastore) -> None:
        place = store.path("images", data_reference_name="images")
        assert str(place) == "$AZUREML_DATAREFERENCE_images"
        assert place.path("small").path_on_datastore == "images/small"
        made = spec(script="t.py", arguments=[place.as_mount(), store.as_download("local")])
        assert made.arguments[0] == "$AZUREML_DATAREFERENCE_images"
        first, second = made.inputs
        assert (first.name, first.mode) == ("images", Mode.MOUNT)
        assert (second.mode, second.path_on_compute) == (Mode.DOWNLOAD, "local")
        assert second.definition.sources == (Source(datastore="store", path=""),)

    def test_upload(self, store: Datastore) -> None:
        configuration = RunConfiguration()
        reference = store.path("made", data_reference_name="m").as_upload("out", overwrite=True)
        configuration.data_references = {"m": reference.to_config()}
        (output,) = ScriptRunConfig(".", script="t.py", run_config=configuration).spec("").outputs
        assert (output.name, output.path, output.source, output.overwrite) == ("m", "made", "out", True)

    def test_without_a_name_the_key_is_its_name(self) -> None:
        configuration = RunConfiguration()
        plain = DataReferenceConfiguration(datastore_name="store", path_on_datastore="a", mode="download")
        configuration.data_references = {"images": plain}
        (given,) = ScriptRunConfig(".", script="t.py", run_config=configuration).spec("").inputs
        assert (given.name, given.mode) == ("images", Mode.DOWNLOAD)
        assert given.definition.sources == (Source(datastore="store", path="a"),)

    def test_what_cannot_be(self, store: Datastore) -> None:
        with pytest.raises(InvalidInput, match="datastore must be a Datastore"):
            DataReference("store")  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="mode must be one of"):
            DataReference(store, mode="copy")
