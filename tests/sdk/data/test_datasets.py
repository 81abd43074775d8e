"""Datasets in people's hands: made, stepped through, registered, found, fetched, read; what they refuse."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas
import pytest
from tests.shared.folders import tree
from tests.shared.web import serving

from roost import DataPath, Dataset, Datastore, DataType, FileDataset, PromoteHeadersBehavior, TabularDataset, Workspace
from roost.data import mounting
from roost.domain.errors import Conflict, DataNotFound, InvalidInput
from roost.sdk.data import dataset_files
from roost.sdk.data.partitioning import write_parquet
from roost_job.exceptions import UserErrorException

ADDRESS = "http://127.0.0.1:1/x.csv"


@pytest.fixture
def store(workspace: Workspace, tmp_path: Path) -> Datastore:
    tree(
        tmp_path / "data",
        {
            "train/a.csv": "day,city,price\n2024-01-01,Oslo,1\n2024-01-02,Rome,2\n",
            "train/b.csv": "day,city,price\n2024-01-03,Oslo,3\n2024-01-04,Rome,4\n",
            "test/a.csv": "day,city,price\n2024-01-05,Oslo,5\n",
            "lines.jsonl": '{"x": 1}\n{"x": 2}\n',
            "readme.txt": "text",
        },
    )
    return Datastore.register_folder(workspace, "mine", tmp_path / "data")


def test_files_by_reference(store: Datastore, tmp_path: Path) -> None:
    files = Dataset.File.from_files(path=[(store, "train/*.csv"), DataPath(store, "test")])
    assert files.to_path() == ["/train/a.csv", "/train/b.csv", "/test/a.csv"]
    assert (files.id, files.name, files.version, files.tags) == (None, None, None, {})
    assert files.take(2).to_path() == ["/train/a.csv", "/train/b.csv"]
    assert files.skip(2).to_path() == ["/test/a.csv"]
    first, second = files.random_split(0.5, seed=3)
    assert sorted(first.to_path() + second.to_path()) == sorted(files.to_path())
    assert Dataset.File.from_files(store).filter(files.file_metadata["Size"] < 10).to_path() == ["/readme.txt"]
    made = files.download(str(tmp_path / "here"))
    assert [Path(path).relative_to(tmp_path / "here").as_posix() for path in made] == [
        *("train/a.csv", "train/b.csv", "test/a.csv"),
    ]
    with pytest.raises(Conflict, match="is there already"):
        files.download(str(tmp_path / "here"))
    assert len(files.download(str(tmp_path / "here"), overwrite=True)) == 3
    with files.mount() as place:
        assert (Path(place.mount_point) / "test/a.csv").read_text().startswith("day")
    assert isinstance(files.data_changed_time, datetime)


def test_what_cannot_be_read_in_a_mount_is_said_once(
    store: Datastore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def talking(*given: Any, tell: Callable[[str], None], **more: Any) -> mounting.Mount:
        for _ in range(2):
            tell("a.csv cannot be read: The disk is full.")
        return mount(*given, tell=tell, **more)

    mount = mounting.mount
    monkeypatch.setattr(mounting, "mount", talking)
    with Dataset.File.from_files((store, "train")).mount():
        assert capsys.readouterr().err == "a.csv cannot be read: The disk is full.\n"


@pytest.mark.slow
def test_what_is_changed_through_a_mount_is_warned_of(store: Datastore) -> None:
    files = Dataset.File.from_files((store, "train"))
    place = files.mount()
    (Path(place.mount_point) / "a.csv").write_text("other")
    with pytest.warns(UserWarning, match=r"a\.csv was changed while the dataset was mounted: .*; download\(\) gives"):
        place.stop()


@pytest.mark.slow
def test_upload_a_directory(store: Datastore, tmp_path: Path) -> None:
    tree(tmp_path / "new", {"a.txt": "1", "sub/b.txt": "2", "c.bin": "3"})
    made = Dataset.File.upload_directory(str(tmp_path / "new"), (store, "up"), pattern="**/*.txt", show_progress=False)
    assert made.to_path() == ["/a.txt", "/sub/b.txt"]


@pytest.mark.slow
def test_partitions(store: Datastore) -> None:
    files = Dataset.File.from_files((store, "*/*.csv"), partition_format="/{part}/{file}.csv")
    assert files.partition_keys == ["part", "file"]
    assert files.get_partition_key_values(["part"]) == [{"part": "test"}, {"part": "train"}]
    with pytest.raises(InvalidInput, match="not partition keys"):
        files.get_partition_key_values(["other"])


@pytest.mark.slow
def test_the_registry(workspace: Workspace, store: Datastore) -> None:
    files = Dataset.File.from_files((store, "train"))
    first = files.register(workspace=workspace, name="my birds", description="one", tags={"k": "v"})
    assert isinstance(first, FileDataset) and (first.version, first.description, first.tags) == (1, "one", {"k": "v"})
    assert files.register(workspace, "my birds", create_new_version=True).version == 1
    with pytest.raises(UserErrorException, match="already a dataset registered under name 'my birds'"):
        files.take(1).register(workspace, "my birds")
    second = files.take(1).register(workspace, "my birds", create_new_version=True)
    assert (second.version, second.to_path()) == (2, ["/a.csv"])
    assert Dataset.get_by_name(workspace, "my birds").version == 2
    assert Dataset.get_by_name(workspace, name="my birds", version=1).to_path() == ["/a.csv", "/b.csv"]
    assert Dataset.get_by_id(workspace, first.id).version == 1
    assert [each.version for each in Dataset.get_versions(workspace, "my birds")] == [2, 1]
    assert first.add_tags({"l": "w"}) == {"k": "v", "l": "w"} and first.remove_tags(["k"]) == {"l": "w"}
    assert first.update(description="two", tags={"m": "x"}).tags == {"m": "x"} and first.description == "two"
    assert {name: each.version for name, each in workspace.datasets.items()} == {"my birds": 2}
    assert first.get_runs() == []
    second.unregister_all_versions()
    assert workspace.datasets == {} and second.id is None
    with pytest.raises(UserErrorException, match="no dataset 'my birds'") as caught:
        Dataset.get_by_name(workspace, "my birds")
    assert isinstance(caught.value, DataNotFound)
    with pytest.raises(InvalidInput, match="must be registered"):
        files.add_tags({"a": "b"})
    with pytest.raises(InvalidInput, match="description must be text, got int '5'"):
        files.register(workspace, "described", description=5)  # type: ignore[arg-type]


@pytest.mark.slow
def test_tables(workspace: Workspace, store: Datastore) -> None:
    table = Dataset.Tabular.from_delimited_files(path=[(store, "train/*.csv"), (store, "test/a.csv")])
    assert list(table.to_pandas_dataframe()["price"]) == [1, 2, 3, 4, 5]
    chosen = table.keep_columns(["price", "city"], validate=True).filter(table["city"] == "Oslo").drop_columns("city")
    kept = chosen.register(workspace, "oslo")
    assert kept.to_pandas_dataframe().to_dict("list") == {"price": [1, 3, 5]}
    assert isinstance(Dataset.get_by_name(workspace, "oslo"), TabularDataset)
    timed = table.with_timestamp_columns(timestamp="day")
    assert timed.timestamp_columns == ("day", None)
    assert (
        timed.drop_columns("price").timestamp_columns == timed.keep_columns(["day"]).timestamp_columns == ("day", None)
    )
    assert (
        timed.drop_columns("day").timestamp_columns == timed.keep_columns(["price"]).timestamp_columns == (None, None)
    )
    assert list(timed.time_after(datetime(2024, 1, 4)).to_pandas_dataframe()["price"]) == [4, 5]
    between = timed.time_between(start_time=datetime(2024, 1, 2), end_time=datetime(2024, 1, 3))
    assert list(between.to_pandas_dataframe()["price"]) == [2, 3]
    assert len(timed.time_recent(timedelta(days=1)).to_pandas_dataframe()) == 0, "counted back from now"
    since = datetime.now(UTC).replace(tzinfo=None) - datetime(2024, 1, 4)
    assert list(timed.time_recent(since + timedelta(minutes=5)).to_pandas_dataframe()["price"]) == [4, 5]
    with pytest.raises(UserErrorException, match=r"Column 'price' does not hold times; its first value is 1\."):
        table.with_timestamp_columns("price").time_after(datetime(2024, 1, 4))
    with pytest.raises(UserErrorException, match="no column 'dya'"):
        table.with_timestamp_columns("dya", validate=True)
    lines = Dataset.Tabular.from_json_lines_files((store, "lines.jsonl"))
    assert list(lines.to_pandas_dataframe()["x"]) == [1, 2]


@pytest.mark.slow
def test_tables_written_out(workspace: Workspace, store: Datastore) -> None:
    frame = pandas.DataFrame({"region": ["n", "s", "n"], "x": [1, 2, 3]})
    made = Dataset.Tabular.register_pandas_dataframe(frame, (store, "frames"), "frame", show_progress=False)
    assert made.name == "frame" and made.to_pandas_dataframe().equals(frame)
    assert made.to_csv_files().to_path() == ["/part-00000.csv"]
    assert (
        Dataset.Tabular.from_parquet_files(
            (workspace.get_default_datastore(), made.to_parquet_files()._definition.sources[0].path)
        )
        .to_pandas_dataframe()
        .equals(frame)
    )
    parts = made.partition_by(["region"], target=DataPath(store, "parts"), name="by region", show_progress=False)
    assert parts.partition_keys == ["region"] and parts.get_partition_key_values() == [{"region": "n"}, {"region": "s"}]
    read = parts.to_pandas_dataframe()
    assert sorted(zip(read["region"], read["x"], strict=True)) == [("n", 1), ("n", 3), ("s", 2)]
    assert parts.version == 1
    again = made.take(1).partition_by(["region"], (store, "parts"), name="by region", show_progress=False)
    assert (again.version, len(again.to_pandas_dataframe())) == (2, 1), "nothing of the call before is in it"
    assert len(Dataset.get_by_name(workspace, "by region", version=1).to_pandas_dataframe()) == 3


@pytest.mark.slow
def test_partition_keys_have_their_types_again(workspace: Workspace, store: Datastore) -> None:
    days = pandas.to_datetime(["2024-01-02", "2024-01-01", "2024-01-01"])
    moments = pandas.to_datetime(["2024-01-01 10:00:00.25", "2024-01-01 00:00:00.00", None])
    frame = pandas.DataFrame(
        {
            "n": [7, -1, 7],
            "share": [0.1, float("nan"), 2.0],
            "good": [True, False, True],
            "day": days,
            "at": days + pandas.Timedelta("10h"),
            "moment": moments,
            "when": pandas.to_datetime(["2024-01-02T03:00:00+03:00"] * 3),
            "city": ["Oslo", None, "10"],
            "kind": pandas.Categorical(["a", "b", "a"]),
            "x": [1, 2, 3],
        }
    )
    keys = ["n", "share", "good", "day", "at", "moment", "when", "city", "kind"]
    made = Dataset.Tabular.register_pandas_dataframe(frame, (store, "frames"), "typed", show_progress=False)
    parts = made.partition_by(keys, (store, "typed"), show_progress=False)
    assert "/2024-01-01/2024-01-01T10:00:00/2024-01-01T00:00:00.000000000/" in "".join(
        item.source for item in parts._files()
    ), "names that sort"
    read = parts.to_pandas_dataframe().sort_values("x", ignore_index=True)
    kinds = {key: read[key].dtype.kind for key in keys}
    assert kinds | {"city": "", "kind": ""} == dict(zip(keys, [*"ifb", *"MMMM", "", ""], strict=True))
    for key in ("n", "good", "day", "at"):
        assert list(read[key]) == list(frame[key]), key
    assert list(read["share"].dropna()) == [0.1, 2.0] and list(read["moment"].dropna()) == list(moments.dropna())
    assert set(read["when"]) == {pandas.Timestamp("2024-01-02")}, "of UTC"
    assert list(read["city"].dropna()) == ["Oslo", "10"] and list(read["kind"]) == ["a", "b", "a"]
    assert len(parts.filter(parts["n"] > 0).to_pandas_dataframe()) == 2
    values = parts.get_partition_key_values(["n", "day", "good"])
    assert {"n": -1, "day": datetime(2024, 1, 1), "good": False} in values and len(values) == 3
    files = made.partition_by(["day"], (store, "files"), show_progress=False, partition_as_file_dataset=True)
    assert len(files.filter(files.file_metadata["day"] > datetime(2024, 1, 1)).to_path()) == 1


@pytest.mark.slow
def test_a_library_that_is_not_there_is_named_with_the_next_step(
    store: Datastore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pandas.DataFrame({"a": [1]})
    Dataset.Tabular.register_pandas_dataframe(frame, (store, "frames"), "one", show_progress=False)
    table = Dataset.get_by_name(store.workspace, "one")
    for library in ("pyarrow", "pyarrow.parquet", "fastparquet"):
        monkeypatch.setitem(sys.modules, library, None)
    hint = f"Install it here: {sys.executable} -m pip install pyarrow"
    writes = lambda: Dataset.Tabular.register_pandas_dataframe(frame, (store, "frames"), "two", show_progress=False)  # noqa: E731
    for deed, use in (("read", table.to_pandas_dataframe), ("read", table.to_csv_files), ("written", writes)):
        with pytest.raises(UserErrorException, match=f"Parquet is {deed} by pyarrow, which this environment") as caught:
            use()
        assert caught.value.hint == hint and caught.value.__suppress_context__
    with pytest.raises(UserErrorException, match="Parquet is written by pyarrow"):
        write_parquet(frame, tmp_path / "t.parquet")
    assert set(store.workspace.datasets) == {"one"}, "nothing is registered"
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserErrorException, match="pandas cannot be imported here") as caught:
        Dataset.Tabular.from_delimited_files((store, "train/a.csv"), validate=False).to_pandas_dataframe()
    assert caught.value.hint == f"Install it here: {sys.executable} -m pip install pandas"


@pytest.mark.slow
def test_tables_that_cannot_be_partitioned(store: Datastore) -> None:
    frame = pandas.DataFrame({"a": ["x/y", "\n"], "b:c": [1, 2]})
    made = Dataset.Tabular.register_pandas_dataframe(frame, (store, "frames"), "odd", show_progress=False)
    with pytest.raises(InvalidInput, match="The frame cannot be written as Parquet") as caught:
        mixed = pandas.DataFrame({"a": [1, "x"]})
        Dataset.Tabular.register_pandas_dataframe(mixed, (store, "frames"), "mixed", show_progress=False)
    assert caught.value.__suppress_context__
    for keys, words in (
        (["a"], "The value 'x/y' of column 'a' cannot be a folder's name"),
        (["d"], "no column 'd'"),
        (["a", "b:c"], "'b:c' is named twice, or has one of"),
        (["a", "a"], "'a' is named twice"),
    ):
        with pytest.raises(InvalidInput, match=words):
            made.partition_by(keys, (store, "parts"))
    for value in ("", ".", ".."):
        table = pandas.DataFrame({"a": [value, "x"], "b": ["x", value], "c": [1, 2]})
        named = Dataset.Tabular.register_pandas_dataframe(table, (store, "frames"), "named", show_progress=False)
        with pytest.raises(InvalidInput, match=f"The value {value!r} of column 'a' cannot be a folder's name"):
            named.partition_by(["a", "b"], (store, "parts"))
    with pytest.raises(InvalidInput, match="All columns of the table are partition keys"):
        made.keep_columns("a").partition_by("a", (store, "parts"))
    with pytest.raises(InvalidInput, match="no rows"):
        made.take(0).partition_by("a", (store, "parts"))


@pytest.mark.slow
def test_how_tables_are_read_is_written_down(store: Datastore) -> None:
    table = Dataset.Tabular.from_delimited_files(
        (store, "train/a.csv"),
        validate=False,
        header=PromoteHeadersBehavior.NO_HEADERS,
        separator=";",
        set_column_types={"day": DataType.to_datetime("%Y-%m-%d"), "price": DataType.to_float()},
        encoding="utf-8",
        include_path=True,
    )
    assert table._definition.format == {
        "type": "delimited",
        "separator": ";",
        "header": "no_headers",
        "encoding": "utf8",
        "infer_column_types": True,
        "support_multi_line": False,
        "empty_as_string": False,
        "include_path": True,
        "column_types": {
            "day": {"type": "datetime", "formats": ["%Y-%m-%d"]},
            "price": {"type": "float", "formats": []},
        },
    }
    late = table.with_timestamp_columns("day").time_before(datetime(2024, 1, 1, tzinfo=UTC), validate=False)
    assert late._definition.steps[-1] == {"op": "time_before", "time": "2024-01-01T00:00:00+00:00", "inclusive": True}


def test_the_first_rows_bring_the_first_files_only(workspace: Workspace) -> None:
    with serving({f"{number}.csv": f"day,n\n2024-01-0{number},{number}\n".encode() for number in range(1, 6)}) as web:
        table = Dataset.Tabular.from_delimited_files([f"{web.url}/{name}" for name in web.files])
        assert table.take(1).to_pandas_dataframe()["n"].tolist() == [1]
        table.keep_columns("n", validate=True)
        table.with_timestamp_columns("day", validate=True).time_after(datetime(2024, 1, 4))
        assert web.bodies == {"1.csv": 1}
        assert table.take(3).to_pandas_dataframe()["n"].tolist() == [1, 2, 3]
        assert "5.csv" not in web.bodies
        assert len(table.to_pandas_dataframe()) == 5


def test_expressions() -> None:
    table = Dataset.Tabular.from_delimited_files(ADDRESS, validate=False)
    expression = ((table["a"] > 1) & ~(table["b"].startswith("x"))) | (table["c"] == datetime(2024, 1, 1))
    (step,) = table.filter(expression)._definition.steps
    assert step["expression"]["op"] == "or"
    assert step["expression"]["args"][1] == {"op": "eq", "args": [{"column": "c"}, {"time": "2024-01-01T00:00:00"}]}
    with pytest.raises(InvalidInput, match="neither true nor false"):
        _ = table["a"] > 1 and table["b"] > 2
    with pytest.raises(InvalidInput, match="by an expression"):
        table.filter(True)
    with pytest.raises(InvalidInput, match="cannot be filtered by"):
        _ = table["a"] == object()


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (lambda: Dataset.File.from_files("/local/file"), "not an address"),
        (lambda: Dataset.File.from_files("https://u:hidden@host/x"), "credential in it"),
        (lambda: Dataset.File.from_files("https://u:hidden@host/x"), "yours to fetch, and to upload"),
        (lambda: Dataset.File.from_files("web/t.csv"), r"Dataset\.File\.upload_directory\("),
        (lambda: Dataset.File.from_files(("workspaceblobstore", "up")), r"\(Datastore\.get\(workspace, 'workspaceblob"),
        (
            lambda: Dataset.File.from_files("http://127.0.0.1:1/*.csv"),
            "is a pattern, and over HTTP files cannot be listed",
        ),
        (
            lambda: Dataset.File.from_files(ADDRESS, validate=False).register("ws", "x"),
            "must be a Workspace, got str 'ws'",
        ),
        (lambda: Dataset.get_by_name("birds", "ws"), "workspace must be a Workspace, got str 'birds'"),
        (lambda: Datastore.register_http("ws", "web", "https://h"), "workspace must be a Workspace"),
        (lambda: Dataset.Tabular.register_pandas_dataframe("df", None, "p"), "must be a pandas DataFrame, got str"),
        (
            lambda: Dataset.File.from_files(ADDRESS, validate=False).get_partition_key_values(),
            "has no partition format",
        ),
        (lambda: DataType.to_datetime(5), "formats must be a text or a list of texts, got 5"),
        (lambda: Dataset.File.from_files([]), "at least one source"),
        (lambda: Dataset.File.from_files(3), "cannot be made of int"),
        (lambda: Dataset.File.from_files(ADDRESS, validate=False, partition_format="x"), "in braces"),
        (lambda: Dataset.File.from_files(ADDRESS, validate=False).take(-1), "count must be"),
        (lambda: Dataset.File.from_files(ADDRESS, validate=False).random_split(2), "from 0 to 1"),
        (lambda: Dataset.File.from_files(ADDRESS, validate=False).as_hdfs(), "as_hdfs`, and none is planned"),
        (lambda: Dataset.Tabular.from_delimited_files(ADDRESS, validate=False, header="yes"), "header must be"),
        (lambda: Dataset.Tabular.from_delimited_files(ADDRESS, validate=False, encoding="klingon"), "not known"),
        (lambda: Dataset.Tabular.from_delimited_files(ADDRESS, validate=False).time_before(1), "which column"),
        (lambda: Dataset.Tabular.from_delimited_files(ADDRESS, validate=False).keep_columns([]), "Columns are named"),
        (lambda: Dataset.Tabular.from_delimited_files(ADDRESS, validate=False).to_spark_dataframe(), "none is planned"),
        (lambda: Dataset.Tabular.from_delimited_files(ADDRESS, validate=False).to_torchvision(), "FileHandlingOption"),
        (lambda: Dataset.Tabular.from_delimited_files(ADDRESS, validate=False).get_profile(), "none is planned"),
        (
            lambda: Dataset.Tabular.from_delimited_files(ADDRESS, validate=False).submit_profile_run("a", "b"),
            "none is planned",
        ),
        (
            lambda: Dataset.Tabular.from_parquet_files(ADDRESS, validate=False).to_pandas_dataframe("no"),
            "on_error must",
        ),
        (lambda: Dataset.Tabular.from_sql_query("select 1"), "none is planned"),
        (lambda: FileDataset(), "not made directly"),
    ],
)
def test_what_is_refused(deed, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserErrorException, match=words) as caught:
        deed()
    assert "hidden" not in str(caught.value)


@pytest.mark.slow
def test_no_file_there(store: Datastore) -> None:
    with pytest.raises(UserErrorException, match="A path in a datastore must be text, got list") as listed:
        Dataset.File.from_files((store, ["up", "tables"]))
    assert "[(datastore, 'a'), (datastore, 'b')]" in listed.value.hint
    with pytest.raises(UserErrorException, match="no file at mine/none"):
        Dataset.File.from_files((store, "none"))
    assert Dataset.File.from_files((store, "none"), validate=False).to_path() == []


@pytest.mark.parametrize(("count", "words"), [(0, ""), (1, ", and so is 1 other"), (3, ", and so are 3 others")])
def test_one_is_not_counted_as_many(count: int, words: str) -> None:
    assert dataset_files._and_more(count) == words
