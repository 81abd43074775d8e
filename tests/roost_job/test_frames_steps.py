"""Tables into pandas: the steps of a dataset, columns of paths, and how many files are asked for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas
import pytest
from tests.roost_job.tables import CSV, Make, files, read

from roost_job.data import frames, partitions, steps
from roost_job.data.datasets import TabularDataset
from roost_job.exceptions import UserErrorException

__all__ = ["files"]


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
        frame = frames.read(definition, frames.FilesOnDemand(range(9), bring))
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
