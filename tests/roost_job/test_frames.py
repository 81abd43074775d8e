"""Tables into pandas: every form of file, every step, what is wrong with them in words."""

import gzip
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas
import pytest

from roost_job.data import columns, frames, partitions, steps
from roost_job.data.dataset_types import DataType
from roost_job.data.datasets import TabularDataset
from roost_job.exceptions import UserErrorException

Make = Callable[[Mapping[str, str | bytes]], list[tuple[str, str, str]]]
CSV: dict[str, Any] = {"type": "delimited"}


@pytest.fixture
def files(tmp_path: Path) -> Make:
    """Files by name; on the disk they have other names, as in a cache."""

    def make(content: Mapping[str, str | bytes]) -> list[tuple[str, str, str]]:
        made = []
        for number, (name, data) in enumerate(content.items()):
            path = tmp_path / f"{number:08x}"
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
            made.append((name, str(path), f"ws/store@1/{name}"))
        return made

    return make


def read(given: list[tuple[str, str, str]], *applied: Mapping[str, Any], **form: Any) -> Any:
    return frames.read({"format": {**CSV, **form}, "steps": list(applied)}, given)


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


class TestSteps:
    @pytest.fixture
    def numbers(self, files: Make) -> list[tuple[str, str, str]]:
        rows = "".join(f"{n},w{n}\n" for n in range(1000))
        return files({"a.csv": f"n,word\n{rows[: len(rows)]}"})

    def test_take_and_skip(self, numbers: list[tuple[str, str, str]]) -> None:
        frame = read(numbers, {"op": "skip", "count": 2}, {"op": "take", "count": 3})
        assert frame["n"].tolist() == [2, 3, 4]
        assert frame.index.tolist() == [0, 1, 2]
        assert len(read(numbers, {"op": "take", "count": 0})) == 0

    def test_only_what_is_needed_is_read(self) -> None:
        many = [{"op": "keep_columns", "columns": ["a"]}, {"op": "skip", "count": 5}, {"op": "take", "count": 5}]
        assert steps.row_limit(many) == 10
        assert steps.row_limit([{"op": "sample", "probability": 0.5, "seed": 1}, *many]) is None
        assert steps.wanted_columns([{"op": "take", "count": 1}, *many]) == ["a"]
        assert steps.wanted_columns([{"op": "filter"}, *many]) is None

    def test_the_parts_of_a_split_are_the_whole(self, numbers: list[tuple[str, str, str]]) -> None:
        step = {"op": "split", "percentage": 0.7, "seed": 3}
        first, second = (set(read(numbers, {**step, "part": part})["n"]) for part in (0, 1))
        assert not first & second
        assert first | second == set(range(1000))
        assert 600 < len(first) < 800
        assert first == set(read(numbers, {**step, "part": 0})["n"]), "the same each time"
        assert first != set(read(numbers, {**step, "seed": 4, "part": 0})["n"])

    def test_a_sample(self, numbers: list[tuple[str, str, str]]) -> None:
        some = read(numbers, {"op": "sample", "probability": 0.1, "seed": 1})
        assert 50 < len(some) < 200

    def test_columns(self, numbers: list[tuple[str, str, str]]) -> None:
        assert list(read(numbers, {"op": "keep_columns", "columns": ["word"]}).columns) == ["word"]
        assert list(read(numbers, {"op": "drop_columns", "columns": ["word"]}).columns) == ["n"]

    def test_columns_that_are_not_there_are_passed_over(self, numbers: list[tuple[str, str, str]]) -> None:
        assert list(read(numbers, {"op": "drop_columns", "columns": ["absent", "n"]}).columns) == ["word"]
        assert list(read(numbers, {"op": "keep_columns", "columns": ["absent", "n"]}).columns) == ["n"]
        none = read(numbers, {"op": "keep_columns", "columns": ["absent"]})
        assert none.shape == (1000, 0), "as many rows as there are"
        absent = {"op": "filter", "expression": {"op": "eq", "args": [{"column": "absent"}, {"value": 1}]}}
        with pytest.raises(UserErrorException, match=r"(?s)no column 'absent'.*'n', 'word'"):
            read(numbers, absent)

    @pytest.mark.parametrize("kind", ["parquet", "json_lines", "no_headers"])
    def test_so_they_are_in_every_form(self, files: Make, tmp_path: Path, kind: str) -> None:
        frame = pandas.DataFrame({"Column1": [1, 2], "Column2": [3, 4]})
        frame.to_parquet(tmp_path / "t")
        content: dict[str, str | bytes] = {
            "parquet": (tmp_path / "t").read_bytes(),
            "json_lines": frame.to_json(orient="records", lines=True),
            "no_headers": frame.to_csv(header=False, index=False),
        }
        form = {"type": "delimited", "header": kind} if kind == "no_headers" else {"type": kind}
        given = files({"t": content[kind]})
        keep, drop = ({"op": op, "columns": ["absent", "Column2"]} for op in ("keep_columns", "drop_columns"))
        assert read(given, keep, **form).to_dict("list") == {"Column2": [3, 4]}
        assert read(given, drop, **form).to_dict("list") == {"Column1": [1, 2]}
        assert read(given, {"op": "keep_columns", "columns": ["absent"]}, **form).shape == (2, 0)

    def test_times(self, files: Make) -> None:
        given = files({"a.csv": "at,n\n2020-01-01,1\n2020-01-02,2\n2020-01-03,3\n2020-01-04T12:00:00,4\n"})
        stamps = {"op": "timestamps", "fine": "at", "coarse": None}

        def left(**step: Any) -> list[int]:
            return list(read(given, stamps, {"inclusive": True, **step})["n"])

        assert left(op="time_after", time="2020-01-02T00:00:00") == [2, 3, 4]
        assert left(op="time_after", time="2020-01-02T00:00:00", inclusive=False) == [3, 4]
        assert left(op="time_before", time="2020-01-02T01:00:00+01:00") == [1, 2]
        assert left(op="time_between", start="2020-01-02", end="2020-01-03") == [2, 3]
        with pytest.raises(UserErrorException, match="with_timestamp_columns"):
            read(given, {"op": "time_after", "time": "2020-01-02", "inclusive": True})

    def test_what_is_no_time_is_refused(self, files: Make) -> None:
        given = files({"a.csv": "n,price,word,none,day\n1,1.5,apple,,2020-01-01\n2,2.5,pear,,unknown\n"})

        def stamped(name: str) -> list[int]:
            return list(read(given, {"op": "timestamps", "fine": name, "coarse": None})["n"])

        for name in ("n", "price", "word"):
            with pytest.raises(UserErrorException, match=f"Column '{name}' does not hold times"):
                stamped(name)
        assert stamped("day") == [1, 2], "a time that cannot be read is empty, as in the SDK"
        assert stamped("none") == [1, 2]

    def test_expressions(self, files: Make) -> None:
        given = files({"a.csv": "n,word,at\n1,apple,2020-01-01\n2,,2020-01-02\n3,pear,2020-01-03\n"})
        n, word, at = {"column": "n"}, {"column": "word"}, {"column": "at"}

        def op(name: str, *args: Any) -> dict[str, Any]:
            return {"op": name, "args": [each if isinstance(each, dict) else {"value": each} for each in args]}

        def left(expression: Mapping[str, Any]) -> list[int]:
            return list(read(given, {"op": "filter", "expression": expression})["n"])

        assert left(op("gt", n, 1)) == [2, 3]
        assert left(op("and", op("ge", n, 1), op("not", op("eq", n, 2)))) == [1, 3]
        assert left(op("or", op("lt", n, 2), op("ne", n, 2))) == [1, 3]
        assert left(op("in", n, [1, 3])) == [1, 3]
        assert left(op("is_null", word)) == [2]
        assert left(op("starts_with", word, "a")) == [1]
        assert left(op("ends_with", word, "r")) == [3]
        assert left(op("contains", word, "p")) == [1, 3]
        assert left(op("le", at, {"time": "2020-01-02T00:00:00+00:00"})) == [1, 2]
        assert left({"value": True}) == [1, 2, 3]
        assert left({"value": False}) == []
        with pytest.raises(UserErrorException, match="cannot be filtered like this"):
            left(op("gt", word, 3))


class TestPartitions:
    def test_columns_of_paths(self, files: Make) -> None:
        given = files({"north/2020/01/31/data.csv": "a\n1\n", "south/2021/12/01/data.csv": "a\n2\n"})
        form = "/{region}/{day:yyyy/MM/dd}/data.csv"
        frame = frames.read({"format": CSV, "partition_format": form}, given)
        assert frame["region"].tolist() == ["north", "south"]
        assert frame["day"].tolist() == [pandas.Timestamp("2020-01-31"), pandas.Timestamp("2021-12-01")]
        with pytest.raises(UserErrorException, match="does not fit its partition format"):
            frames.read({"format": CSV, "partition_format": "{region}/other.csv"}, given)

    @pytest.mark.parametrize("kind", ["delimited", "json_lines", "parquet"])
    @pytest.mark.parametrize("header", ["all_files_have_same_headers", "only_first_file_has_headers"])
    def test_nothing_but_columns_of_paths(self, files: Make, tmp_path: Path, kind: str, header: str) -> None:
        rows = pandas.DataFrame({"a": [1, 2], "b": [3, 4]})
        rows.to_parquet(tmp_path / "p", index=False)
        lines = rows.to_json(orient="records", lines=True)
        csv = rows.to_csv(index=False)
        second = csv if header.startswith("all") else csv.partition("\n")[2]
        content = {"delimited": [csv, second], "json_lines": [lines] * 2}.get(kind, [(tmp_path / "p").read_bytes()] * 2)
        definition = {
            "format": {"type": kind, "include_path": True, "header": header},
            "partition_format": "{region}/data",
            "steps": [{"op": "keep_columns", "columns": ["region", "Path"]}],
        }
        frame = frames.read(definition, files(dict(zip(["north/data", "south/data"], content, strict=True))))
        assert frame["region"].tolist() == ["north", "north", "south", "south"]
        assert frame["Path"].tolist() == ["/north/data"] * 2 + ["/south/data"] * 2

    @pytest.mark.parametrize(
        ("form", "path", "found"),
        [
            ("{a}/{b}.csv", "x/y.csv", {"a": "x", "b": "y"}),
            ("{a}/*.csv", "deep/x/y.csv", {"a": "x"}),
            ("{a}/{a}.csv", "x/y.csv", None),
            ("{a}/{a}.csv", "x/x.csv", {"a": "x"}),
            ("{t:yyyy-MM-dd}.csv", "2020-13-01.csv", None),
            ("{a}.csv", "x.json", None),
        ],
    )
    def test_what_a_path_says(self, form: str, path: str, found: object) -> None:
        assert partitions.reader(form)(path) == found

    @pytest.mark.parametrize(
        ("form", "words"),
        [("data.csv", "names no column"), ("{day:MM}/x", "has no year"), ("{a}/{b", "brace that is not closed")],
    )
    def test_a_format_that_cannot_be(self, form: str, words: str) -> None:
        with pytest.raises(UserErrorException, match=words):
            partitions.reader(form)

    def test_names(self) -> None:
        assert partitions.names("{a}/{day:yyyy}/{a}") == ["a", "day"]


class TestComing:
    @pytest.fixture
    def given(self, files: Make) -> list[tuple[str, str, str]]:
        return files({f"{number}.csv": f"a\n{number}\n{number}\n" for number in range(9)})

    @pytest.mark.parametrize(("count", "brought"), [(0, 1), (2, 1), (3, 2), (5, 4), (18, 9), (100, 9)])
    def test_no_more_files_than_the_rows_are_in(
        self, given: list[tuple[str, str, str]], count: int, brought: int
    ) -> None:
        asked: list[int] = []

        def bring(some: Any) -> Any:
            asked.extend(some)
            return [given[number] for number in some]

        definition = {"format": CSV, "steps": [{"op": "take", "count": count}]}
        assert not frames.needs_all(definition)
        frame = frames.read(definition, frames.Coming(range(9), bring))
        assert frame["a"].tolist() == [number // 2 for number in range(18)][:count]
        assert asked == list(range(brought))

    def test_a_script_asks_its_agent_for_those(self, given: list[tuple[str, str, str]]) -> None:
        asked: list[tuple[str, object]] = []

        class Link:
            def ask(self, op: str, definition: Any, names: Any = None) -> Any:
                asked.append((op, names))
                if op == "dataset_items":
                    return [[name, source] for name, _, source in given]
                return [each for each in given if names is None or each[0] in names]

        table = TabularDataset(Link(), {"kind": "tabular", "format": CSV})
        assert table.take(3).to_pandas_dataframe()["a"].tolist() == [0, 0, 1]
        assert asked == [("dataset_items", None), ("dataset_files", ["0.csv"]), ("dataset_files", ["1.csv"])]
        assert len(table.to_pandas_dataframe()) == 18
        assert asked[3:] == [("dataset_files", None)], "all at once, since all are read"


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


@pytest.mark.parametrize(
    ("kind", "bad"), [("integer", "x"), ("float", "x"), ("boolean", "maybe"), ("datetime", "yesterday")]
)
def test_a_value_that_does_not_fit_its_type(files: Make, kind: str, bad: str) -> None:
    good = "2020-01-01" if kind == "datetime" else "1"
    given = files({"a.csv": f"c,d\n{good},2\n{bad},3\n,4\n"})
    definition = {"format": {**CSV, "column_types": {"c": {"type": kind}}}}
    assert frames.read(definition, given)["c"].isnull().tolist()[1:] == [True, True]
    words = f"Column 'c' has 1 value that cannot be of the type '{kind}'; the first is '{bad}'."
    with pytest.raises(UserErrorException, match=words):
        frames.read(definition, given, strict=True)
    fits = files({"a.csv": "c,d\n,2\n"})
    assert frames.read(definition, fits, strict=True)["c"].isnull().tolist() == [True]


def test_a_type_for_a_column_that_is_not_there(files: Make) -> None:
    given, types = files({"a.csv": "c,d\n1,2\n"}), {"zz": {"type": "float"}}
    with pytest.raises(UserErrorException, match="names column 'zz', which the table does not have") as caught:
        read(given, column_types=types)
    assert caught.value.hint == "It has: 'c', 'd'."
    assert (
        len(read(given, {"op": "keep_columns", "columns": ["c"]}, column_types={"d": {"type": "float"}}).columns) == 1
    )
    lines = files({"a.jsonl": '{"c": 1}\n'})
    assert len(read(lines, type="json_lines", column_types=types)) == 1, "other rows may have it"


MIXED = ["2020-01-02", "2020-01-02T03:04:05Z", "2020-01-03 03:04", "2020-01-04T03:04:05.5+02:00"]


def test_times_each_written_in_its_own_way(files: Make) -> None:
    expected = [pandas.Timestamp(each) for each in ("2020-01-02", "2020-01-02T03:04:05", "2020-01-03T03:04")]
    expected.append(pandas.Timestamp("2020-01-04T01:04:05.5"))
    given = files(
        {"a.csv": "at\n" + "\n".join(MIXED), "b.jsonl": "\n".join(json.dumps({"at": each}) for each in MIXED)}
    )
    asked = read(given[:1], column_types={"at": {"type": "datetime", "formats": []}})
    assert asked["at"].tolist() == expected, "all of them are times, whatever the form of the first"
    step = {"op": "timestamps", "fine": "at", "coarse": None}
    after = {"op": "time_after", "time": "2020-01-01T00:00:00", "inclusive": True}
    assert read(given[1:], step, after, type="json_lines")["at"].tolist() == expected


def test_times_of_other_forms_keep_their_fractions(files: Make) -> None:
    text = "at\n01/02/2020 10:00:00.25\n01/03/2020 10:00:00.5\n2020-01-04\n"
    frame = read(files({"a.csv": text}), column_types={"at": {"type": "datetime", "formats": []}})
    stamps = ("2020-01-02T10:00:00.25", "2020-01-03T10:00:00.5", "2020-01-04")
    assert frame["at"].tolist() == [pandas.Timestamp(each) for each in stamps]


def test_truth_values_that_are_numbers_in_a_column_with_gaps(files: Make) -> None:
    frame = read(files({"a.csv": "ok,x\n1,a\n0,b\n,c\n"}), column_types={"ok": {"type": "boolean"}})
    assert frame["ok"].tolist() == [True, False, None]


@pytest.mark.parametrize("bad", ["1.7", "inf", "9223372036854775808"])
def test_what_is_no_whole_number_of_64_bits(files: Make, bad: str) -> None:
    given, types = files({"a.csv": f"n\n{bad}\n2\n"}), {"n": {"type": "integer"}}
    assert read(given, column_types=types)["n"].isnull().tolist() == [True, False]
    with pytest.raises(UserErrorException, match="has 1 value that cannot be of the type 'integer'"):
        frames.read({"format": {**CSV, "column_types": types}}, given, strict=True)


def test_truth_values_as_whole_numbers(files: Make) -> None:
    frame = read(files({"a.csv": "n\nTrue\nFalse\n"}), column_types={"n": {"type": "integer"}})
    assert frame["n"].tolist() == [1, 0]
    for kind, given in (("boolean", [True, None]), ("Int64", [1, None])):
        gaps = pandas.DataFrame({"n": pandas.array(given, dtype=kind)})
        made = columns.convert(gaps, {"n": {"type": "integer"}})["n"]
        assert (made[0], made.isnull().tolist()) == (1, [False, True])


class TestTimesOutOfRange:
    """A value with nine digits behind the point makes a column of nanoseconds, which hold the years 1678 to 2261 only."""

    TEXT = "at\n2020-01-01T00:00:00.123456789\n9999-12-31\n2020-01-03\n"

    @pytest.mark.parametrize("types", [{}, {"at": {"type": "datetime", "formats": []}}])
    def test_they_are_empty_or_refused(self, files: Make, types: Mapping[str, Any]) -> None:
        given, definition = files({"a.csv": self.TEXT}), {"format": {**CSV, "column_types": types}}
        frame = frames.read(definition, given, strict=True)
        assert str(frame["at"].dtype).startswith("datetime64"), "one sentinel leaves the others times"
        assert frame["at"].isnull().tolist() == [False, True, False]
        with pytest.raises(UserErrorException, match=r"'at' has 1 time out of the range .* '9999-12-31'") as caught:
            frames.read(definition, given, bounded=True)
        assert "out_of_range_datetime='null'" in str(caught.value)

    def test_what_is_no_time_at_all_is_not_out_of_range(self, files: Make) -> None:
        given = files({"a.csv": "at,x\n2020-01-01,1\n9999-13-31,2\n"})
        assert frames.read({"format": CSV}, given, bounded=True)["at"].tolist() == ["2020-01-01", "9999-13-31"]
        definition = {"format": {**CSV, "column_types": {"at": {"type": "datetime", "formats": ["%Y-%m-%d"]}}}}
        assert frames.read(definition, given, bounded=True)["at"].isnull().tolist() == [False, True]

    def test_words_behind_a_time_make_it_none(self, files: Make) -> None:
        days = ["2020-01-01"] * 250
        given = files({"a.csv": "\n".join(["at", *days, "9999-12-31 or later"])})
        assert read(given)["at"].tolist() == [*days, "9999-12-31 or later"]
        definition = {"format": {**CSV, "column_types": {"at": {"type": "datetime", "formats": []}}}}
        with pytest.raises(UserErrorException, match="has 1 value that cannot be of the type 'datetime'"):
            frames.read(definition, given, strict=True)

    @pytest.mark.parametrize(
        "text", ["9999-12-31,01/02/2020 10:00:00.123456789", "2020-01-01T00:00:00.123456789,12/31/9999"]
    )
    def test_beside_one_of_another_form(self, files: Make, text: str) -> None:
        given = files({"a.csv": "at\n" + text.replace(",", "\n")})
        frame = read(given, column_types={"at": {"type": "datetime", "formats": []}})
        assert frame["at"].isnull().tolist() == ["9999" in each for each in text.split(",")]


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
        frames.read(limited, frames.Coming([], lambda some: []))


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
