"""Tables into pandas: every form of file, and what is wrong with them in words."""

import gzip
from datetime import datetime
from pathlib import Path

import pandas
import pytest
from tests.roost_job.tables import CSV, Make, files, read

from roost_job.data import columns, frames
from roost_job.data.dataset_types import DataType
from roost_job.data.datasets import TabularDataset
from roost_job.exceptions import UserErrorException

__all__ = ["files"]


class TestDelimited:
    def test_types_are_found(self, files: Make) -> None:
        text = "n,x,word,flag,day,at\n1,1.5,NA,True,2020-01-01,2020-01-01T10:00:00Z\n2,,b,False,2020-01-02,2020-01-02T10:00\n"
        frame = read(files({"a.csv": text}))
        assert [str(kind) for kind in frame.dtypes[["n", "x", "flag"]]] == ["int64", "float64", "bool"]
        assert frame["word"].tolist() == ["NA", "b"], "a text is a text: it may be Namibia's"
        assert frame["x"].isnull().tolist() == [False, True]
        assert frame["day"].tolist() == [pandas.Timestamp("2020-01-01"), pandas.Timestamp("2020-01-02")]
        assert frame["at"][0] == pandas.Timestamp("2020-01-01T10:00:00")

    def test_nothing_is_found_when_nothing_is_wanted(self, files: Make) -> None:
        frame = read(files({"a.csv": "n,day\n007,2020-01-01\n,\n"}), infer_column_types=False)
        assert frame["n"].tolist()[0] == "007"
        assert frame["day"].tolist()[0] == "2020-01-01"
        assert frame["n"].isnull().tolist() == [False, True]

    def test_types_that_were_asked_for(self, files: Make) -> None:
        wanted = {
            "code": {"type": "string"},
            "yes": {"type": "boolean"},
            "n": {"type": "integer"},
            "x": {"type": "float"},
            "day": {"type": "datetime", "formats": ["%d.%m.%Y", "%Y/%m/%d"]},
        }
        text = "code,yes,n,x,day\n007,yes,1,2,31.12.2020\n008,0,2,bad,2021/01/02\n"
        frame = read(files({"a.csv": text}), column_types=wanted)
        assert frame["code"].tolist() == ["007", "008"]
        assert frame["yes"].tolist() == [True, False]
        assert str(frame["n"].dtype) == "int64"
        assert frame["x"].isnull().tolist() == [False, True], "what does not fit is empty"
        assert frame["day"].tolist() == [pandas.Timestamp("2020-12-31"), pandas.Timestamp("2021-01-02")]
        with pytest.raises(UserErrorException, match="cannot be of the type 'stream'"):
            columns.convert(frame, {"n": {"type": "stream"}})

    @pytest.mark.parametrize("separator", ["\n", "\r\n"])
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_each_line_is_one_field(self, files: Make, separator: str, end: str) -> None:
        lines = ['a "quoted, word"', "", '"b', "c;d"]
        given = files({"a.txt": end.join(lines)})
        frame = read(given, separator=separator, header="no_headers")
        assert frame.to_dict("list") == {"Column1": ['a "quoted, word"', '"b', "c;d"]}
        zipped = files({"n.txt.gz": gzip.compress(b"n\n1\n2\n")})
        assert read(zipped, separator=separator).to_dict("list") == {"n": [1, 2]}, "of the type that its values have"
        two = files({"1": "n\n1\n", "2": "2\n3\n"})
        top = {"op": "take", "count": 2}
        assert read(two, top, separator=separator, header="only_first_file_has_headers").to_dict("list") == {
            "n": [1, 2]
        }

    @pytest.mark.parametrize("separator", ["\t", " ", ".", "|", "||", "§", "§§", "\x01"])
    def test_separators(self, files: Make, separator: str) -> None:
        given = files({"a.txt": separator.join("xy") + "\n" + separator.join("12") + "\n"})
        assert read(given, separator=separator).to_dict("list") == {"x": [1], "y": [2]}
        headless = read(given, separator=separator, header="no_headers")
        assert headless.to_dict("list") == {"Column1": ["x", "1"], "Column2": ["y", "2"]}

    def test_text_that_only_begins_as_times_stays_text(self, files: Make) -> None:
        lines = ["day", *["2020-01-01"] * 300, "later"]
        assert read(files({"a.csv": "\n".join(lines)}))["day"].tolist()[-1] == "later"

    @pytest.mark.parametrize(
        ("header", "rows"),
        [
            ("all_files_have_same_headers", [[1, 2], [4, 3]]),
            ("combine_all_files_headers", [[1, 2], [4, 3]]),
        ],
    )
    def test_columns_go_by_name(self, files: Make, header: str, rows: list[list[int]]) -> None:
        frame = read(files({"1.csv": "a,b\n1,2\n", "2.csv": "b,a\n3,4\n"}), header=header)
        assert frame.to_numpy().tolist() == rows
        assert frame.index.tolist() == [0, 1]

    def test_other_headers(self, files: Make) -> None:
        two = files({"1.csv": "a,b\n1,2\n", "2.csv": "3,4\n"})
        assert read(two, header="only_first_file_has_headers").to_numpy().tolist() == [[1, 2], [3, 4]]
        assert read(two[1:], header="no_headers").to_dict("records") == [{"Column1": 3, "Column2": 4}]
        with pytest.raises(UserErrorException, match=r"(?s)2\.csv of the dataset has other columns.*COMBINE"):
            read(two)
        more = files({"1.csv": "a\n1\n", "2.csv": "b\n2\n"})
        assert list(read(more, header="combine_all_files_headers").columns) == ["a", "b"]

    def test_separator_encoding_compression_lines_and_empty_texts(self, files: Make) -> None:
        latin = "a;b\né;\n".encode("latin-1")
        frame = read(files({"a.csv": latin}), separator=";", encoding="latin1", empty_as_string=True)
        assert frame.to_numpy().tolist() == [["é", ""]]
        assert read(files({"a.csv.gz": gzip.compress(b"a,b\n1,2\n")})).to_numpy().tolist() == [[1, 2]]
        assert read(files({"a.csv": "a||b\n1||2\n"}), separator="||").to_numpy().tolist() == [[1, 2]]
        multi = read(files({"a.csv": 'a,b\n"one\ntwo",2\n'}), support_multi_line=True)
        assert multi["a"].tolist() == ["one\ntwo"]

    def test_errors_name_the_file(self, files: Make) -> None:
        with pytest.raises(UserErrorException, match=r"bad\.csv of the dataset cannot be read: .*Expected 2 fields"):
            read(files({"bad.csv": "a,b\n1,2\n1,2,3\n"}))
        with pytest.raises(UserErrorException, match=r"bad\.csv of the dataset cannot be read: .*utf-8"):
            read(files({"bad.csv": b"a\n\xff\n"}))

    @pytest.mark.parametrize("row", ["1,2,3", "1,2,"])
    @pytest.mark.parametrize("kept", [[], ["b"]])
    def test_a_first_row_of_more_fields_is_not_shifted(self, files: Make, row: str, kept: list[str]) -> None:
        keep = [{"op": "keep_columns", "columns": kept}] if kept else []
        with pytest.raises(
            UserErrorException, match=r"bad\.csv of .* cannot be read: .*Expected 2 fields in line 2, saw 3"
        ):
            read(files({"bad.csv": f"a,b\n{row}\n{row}\n"}), *keep)
        with pytest.raises(UserErrorException, match="Expected 2 fields in line 2, saw 3"):
            read(files({"bad.csv": f"a,b\n{row}\n".replace(",", "||")}), *keep, separator="||")
        two = files({"1.csv": "a,b\n1,2\n", "2.csv": f"{row}\n"})
        with pytest.raises(
            UserErrorException, match=r"2\.csv of .* cannot be read: Expected 2 fields in line 1, saw 3"
        ):
            read(two, *keep, header="only_first_file_has_headers")

    def test_columns_of_files_without_a_header_are_those_of_the_first(self, files: Make) -> None:
        given = files({"0.csv": "", "1.csv": "a,b,c\n1,2,3\n", "2.csv": "4,5,6\n"})
        keep = {"op": "keep_columns", "columns": ["c", "b"]}
        frame = read(given, keep, header="only_first_file_has_headers")
        assert frame.to_dict("list") == {"c": [3, 6], "b": [2, 5]}
        some = read(given, {"op": "keep_columns", "columns": ["d", "b"]}, header="only_first_file_has_headers")
        assert some.to_dict("list") == {"b": [2, 5]}

    def test_an_empty_file(self, files: Make) -> None:
        assert len(read(files({"empty.csv": ""}))) == 0


class TestOthers:
    def test_parquet_with_some_columns(self, files: Make, tmp_path: Path) -> None:
        frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
        frame.to_parquet(tmp_path / "p")
        given = files({"year=2020/p.parquet": (tmp_path / "p").read_bytes()})
        form = {"type": "parquet", "include_path": True}
        step = {"op": "keep_columns", "columns": ["b", "year"]}
        found = frames.read({"format": form, "partition_format": "year={year}/p.parquet", "steps": [step]}, given)
        assert found.to_dict("records") == [{"b": "x", "year": "2020"}, {"b": "y", "year": "2020"}]
        whole = frames.read({"format": form}, given)
        assert list(whole.columns) == ["Path", "a", "b"]
        assert whole["Path"][0] == "/year=2020/p.parquet"

    def test_json_lines(self, files: Make) -> None:
        given = files({"j.jsonl": '{"a": 1, "b": {"c": 2}}\n\nnot json\n{"a": 2, "d": "é"}\n'})
        frame = frames.read({"format": {"type": "json_lines", "invalid_lines": "drop"}}, given)
        assert list(frame.columns) == ["a", "b", "d"]
        assert frame["b"][0] == {"c": 2}
        with pytest.raises(UserErrorException, match=r"Line 3 of j\.jsonl is not a JSON object"):
            frames.read({"format": {"type": "json_lines"}}, given)
        take = {"format": {"type": "json_lines"}, "steps": [{"op": "take", "count": 1}]}
        assert len(frames.read(take, given)) == 1, "what comes after is not read"
        keep = dict(take, steps=[{"op": "take", "count": 1}, {"op": "keep_columns", "columns": ["a"]}])
        assert list(frames.read(keep, given).columns) == ["a"]

    def test_an_unknown_kind(self) -> None:
        with pytest.raises(UserErrorException, match="'avro'"):
            frames.read({"format": {"type": "avro"}}, [])


def test_without_pandas_it_says_what_to_add(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    monkeypatch.setenv("ROOST_RUN_ID", "train_1")
    with pytest.raises(UserErrorException, match="Add pandas to the packages"):
        frames.read({"format": CSV}, [])


def test_what_to_read_a_file_by_instead(files: Make) -> None:
    for content, hint in (
        ("a;b\n1,5;2\n", "separator=';'"),
        ("a\tb\n1,2\t3\n", "separator='\\t'"),
        ("caf\xe9,b\n1,2\n".encode("latin-1"), "encoding='iso88591'"),
    ):
        with pytest.raises(UserErrorException, match=r"a\.csv of the dataset cannot be read") as caught:
            read(files({"a.csv": content}))
        assert hint in caught.value.hint and caught.value.__suppress_context__, "no trace of pandas"
    with pytest.raises(UserErrorException) as caught:
        read(files({"a.csv": "a,b\n1,2,3\n"}))
    assert caught.value.hint == ""


def test_a_job_reads_with_the_same_choices_as_the_sdk() -> None:
    table = TabularDataset(None, {"kind": "tabular"})
    with pytest.raises(UserErrorException, match="out_of_range_datetime must be 'null' or 'fail', got 'x'"):
        table.to_pandas_dataframe(out_of_range_datetime="x")
    old = table.with_timestamp_columns(fine_grain_timestamp="day").time_before(datetime(2020, 1, 1), validate=False)
    assert [(each["op"], each.get("fine")) for each in old._definition["steps"]] == [
        ("timestamps", "day"),
        ("time_before", None),
    ]
    with pytest.raises(UserErrorException, match="are not known"):
        table.with_timestamp_columns(coarse="day")


def test_a_format_that_is_none() -> None:
    with pytest.raises(UserErrorException, match="'%Q' is no format of times"):
        DataType.to_datetime("%Q")


def test_a_table_whose_files_are_gone_is_not_an_empty_one() -> None:
    definition = {"format": CSV, "sources": [{"datastore": "own", "path": "d/gone.csv"}]}
    with pytest.raises(UserErrorException, match=r"no files now at own/d/gone\.csv"):
        frames.read(definition, [])
    limited = {**definition, "steps": [{"op": "take", "count": 1}]}
    with pytest.raises(UserErrorException, match="no files now"):
        frames.read(limited, frames.FilesOnDemand([], lambda some: []))


class TestParquetWithAnIndex:
    """Written by pandas: `frame.set_index("day").to_parquet(…)`."""

    @pytest.fixture
    def given(self, files: Make, tmp_path: Path) -> list[tuple[str, str, str]]:
        days = pandas.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"])
        pandas.DataFrame({"x": [1, 2, 3], "y": [4, 5, 6]}, index=pandas.Index(days, name="day")).to_parquet(
            tmp_path / "p"
        )
        return files({"a.parquet": (tmp_path / "p").read_bytes(), "b.parquet": (tmp_path / "p").read_bytes()})

    def test_it_is_a_column(self, given: list[tuple[str, str, str]]) -> None:
        both = read(given, type="parquet")
        assert (list(both.columns), len(both)) == (["x", "y", "day"], 6)
        assert list(read(given[:1], type="parquet").columns) == ["x", "y", "day"]
        kept = read(given, {"op": "keep_columns", "columns": ["day"]}, type="parquet")
        assert list(kept.columns) == ["day"]
        assert list(read(given, {"op": "keep_columns", "columns": ["y"]}, type="parquet").columns) == ["y"]
        step = {"op": "timestamps", "fine": "day", "coarse": None}
        after = {"op": "time_after", "time": "2020-01-03T00:00:00", "inclusive": True}
        assert read(given, step, after, type="parquet")["x"].tolist() == [3, 3]

    def test_one_that_counts_is_a_column_too(self, files: Make, tmp_path: Path) -> None:
        pandas.DataFrame({"id": [1, 2, 3], "x": [4, 5, 6]}).set_index("id").to_parquet(tmp_path / "q")
        frame = read(files({"q.parquet": (tmp_path / "q").read_bytes()}), {"op": "skip", "count": 1}, type="parquet")
        assert frame.to_dict("list") == {"x": [5, 6], "id": [2, 3]}

    def test_numbers_of_rows_are_none(self, files: Make, tmp_path: Path) -> None:
        pandas.DataFrame({"x": [1, 2, 3]})[1:].set_index(pandas.Index([7, 9])).to_parquet(tmp_path / "q")
        frame = read(files({"q.parquet": (tmp_path / "q").read_bytes()}), type="parquet")
        assert (list(frame.columns), list(frame.index), frame["x"].tolist()) == (["x"], [0, 1], [2, 3])

    def test_one_named_as_a_column_is_only_numbers(self, files: Make, tmp_path: Path) -> None:
        levels = [pandas.Index([7, 8], name="x"), pandas.Index(["a", "b"], name="y")]
        made = pandas.DataFrame({"x": [1, 2]}, index=pandas.MultiIndex.from_arrays(levels))
        for name, frame in (("p", made), ("q", made.droplevel("y"))):
            frame.to_parquet(tmp_path / name)
        given = files({name: (tmp_path / name).read_bytes() for name in ("p", "q")})
        assert read(given[:1], type="parquet").to_dict("list") == {"x": [1, 2], "y": ["a", "b"]}
        assert read(given[1:], type="parquet").to_dict("list") == {"x": [1, 2]}
