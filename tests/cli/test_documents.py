"""Documents as a terminal shows them: what they say in numbers, drawn to fit, harmless whatever is in them."""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.terminals import ANSI, on_terminal
from tests.cli.test_run_listing import roost
from tests.shared.folders import tree

from roost.cli.rendering import documents, drawing

MATRIX = {"class_labels": ["cat", "dog", "bird"], "matrix": [[50, 3, 2], [4, 45, 1], [0, 5, 40]]}
THRESHOLDS = [0.0, 0.25, 0.5, 0.75, 1.0]
TABLE = [[10, 10, 0, 0], [9, 5, 5, 1], [8, 2, 8, 2], [4, 0, 10, 6], [0, 0, 10, 10]]


def read(kind: str, data: Any) -> documents.Document:
    return documents.read(kind, json.dumps({"schema_type": kind, "data": data}).encode())


def accuracy(**changes: Any) -> dict[str, Any]:
    return {
        "probability_tables": [TABLE],
        "percentile_tables": [TABLE],
        "probability_thresholds": THRESHOLDS,
        "percentile_thresholds": THRESHOLDS,
        "class_labels": ["yes"],
        **changes,
    }


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the width of a terminal that drawings believe in."""

    def of(width: int, **variables: str) -> None:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setattr(shutil, "get_terminal_size", lambda *_: type("Size", (), {"columns": width})())
        monkeypatch.delenv("NO_COLOR", raising=False)
        for name, value in {"TERM": "xterm-256color", **variables}.items():
            monkeypatch.setenv(name, value)

    return of


class TestReading:
    def test_a_confusion_matrix(self) -> None:
        found = read("confusion_matrix", MATRIX)
        assert isinstance(found, documents.Confusion)
        assert (found.total, found.accuracy) == (150, 0.9)
        assert (found.recall(0), found.precision(2)) == (50 / 55, 40 / 43)
        assert found.taken_for(2) == ("dog", 5)

    def test_an_accuracy_table(self) -> None:
        found = read("accuracy_table", accuracy())
        assert isinstance(found, documents.Accuracy)
        half = found.tables[0][2]
        assert (half.precision, half.recall, half.false_rate) == (0.8, 0.8, 0.2)
        points = documents.curve(found.tables[0])
        assert points == [(0.0, 0.0), (0.0, 0.4), (0.2, 0.8), (0.5, 0.9), (1.0, 1.0)]
        assert documents.area(points) == pytest.approx(0.2 * 0.6 + 0.3 * 0.85 + 0.5 * 0.95)
        assert found.summed() == found.tables[0]

    def test_histograms_merge_their_bins(self) -> None:
        found = read("residuals", {"bin_edges": list(range(61)), "bin_counts": [1] * 60})
        assert isinstance(found, documents.Histogram)
        shown, size = documents.merged(found, 24)
        assert (size, shown.counts, shown.edges[:2], shown.edges[-1]) == (3, [3.0] * 20, [0.0, 3.0], 60.0)

    @pytest.mark.parametrize(
        ("kind", "content", "why"),
        [
            ("residuals", b"\xff\xfe", "it is not JSON"),
            ("residuals", b"[" * 100_000, "it is not JSON"),
            ("residuals", b'{"data": [1]}', "it has no 'data'"),
            ("residuals", b'{"data": {"bin_edges": [0, 1], "bin_counts": "no"}}', "it has no list 'bin_counts'"),
            ("residuals", b'{"data": {"bin_edges": [0], "bin_counts": [1]}}', "it has 1 bin edges for 1 bin counts"),
            ("residuals", b'{"data": {"bin_edges": [0, {}], "bin_counts": [1]}}', "'bin_edges' has a value that is no"),
            (
                "confusion_matrix",
                b'{"data": {"class_labels": ["a"], "matrix": [[1, 2]]}}',
                "its matrix does not have 1",
            ),
            ("confusion_matrix", b'{"data": {"class_labels": [], "matrix": []}}', "it has no classes"),
            ("accuracy_table", json.dumps({"data": accuracy(probability_tables=[[[1]]])}).encode(), "four numbers"),
            (
                "confusion_matrix",
                b'{"data": {"class_labels": ["a", "b"], "matrix": [[1, -0.999], [0, 1]]}}',
                "its matrix has a count below zero",
            ),
            (
                "accuracy_table",
                json.dumps({"data": accuracy(probability_tables=[[[1, 1, -0.9999999999, 1]] * 5])}).encode(),
                "have a count below zero",
            ),
        ],
    )
    def test_what_cannot_be_read_says_why(self, kind: str, content: bytes, why: str) -> None:
        with pytest.raises(documents.Unreadable, match=re.escape(why)):
            documents.read(kind, content)

    def test_numbers_that_are_none_count_nothing(self) -> None:
        found = documents.read("residuals", b'{"data": {"bin_edges": [0, 1e999, 2], "bin_counts": [NaN, 3]}}')
        assert isinstance(found, documents.Histogram)
        assert (found.counts, found.edges) == ([0.0, 3.0], [0.0, 0.0, 2.0])
        assert drawing.document(found)

    def test_numbers_whose_sums_are_none_count_nothing(self) -> None:
        tables = [[[1e308, 1e308, 1e308, 1e308]] * 5] * 3
        found = read("accuracy_table", accuracy(probability_tables=tables, class_labels=["a", "b", "c"]))
        assert drawing.document(found)


class TestDrawing:
    @pytest.mark.parametrize("width", [30, 40, 80, 160])
    def test_everything_fits(self, terminal: Any, width: int) -> None:
        terminal(width)
        many = 60
        large = {
            "class_labels": [f"鳥 class {at}" for at in range(many)],
            "matrix": [[at % 7 + (50 if at == to else 0) for to in range(many)] for at in range(many)],
        }
        predictions = {"bin_averages": [0.5], "bin_errors": [0.1], "bin_counts": [1e9], "bin_edges": [0, 1]}
        for found in (
            read("confusion_matrix", MATRIX),
            read("confusion_matrix", large),
            read("accuracy_table", accuracy()),
            read("residuals", {"bin_edges": list(range(1001)), "bin_counts": list(range(1000))}),
            read("predictions", predictions),
        ):
            for line in drawing.document(found):
                assert drawing.rendering.wide(ANSI.sub("", line)) <= width, line
        for line in drawing.columns({f"column {at}": list(range(200)) for at in range(30)}):
            assert drawing.rendering.wide(line) <= width, line

    def test_a_matrix_has_labels_and_shades(self, terminal: Any) -> None:
        found = read("confusion_matrix", MATRIX)
        terminal(80)
        coloured = "\n".join(drawing.document(found))
        assert "\x1b[30;48;5;246m" in coloured
        assert ANSI.sub("", coloured).splitlines()[2].split() == ["cat", "50", "3", "2", "90.9%"]
        terminal(80, NO_COLOR="1")
        plain = "\n".join(drawing.document(found))
        assert "\x1b" not in plain
        assert "█" in plain and "░" in plain

    def test_in_a_pipe_it_is_plain_and_whole(self) -> None:
        many = [f"class {at}" for at in range(60)]
        found = read("confusion_matrix", {"class_labels": many, "matrix": [[1] * 60] * 60})
        lines = drawing.document(found)
        assert len(lines) == 63
        assert all(len(line.split()) >= 60 for line in lines[1:])
        assert not re.search(r"[\x1b░▒▓█]", "".join(lines))
        assert len(drawing.columns({"x": list(range(500))})) == 501

    def test_a_large_matrix_is_not_laid_out_to_find_that_it_does_not_fit(
        self, terminal: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(drawing, "_matrix")
        many = [f"class {at}" for at in range(101)]
        found = read("confusion_matrix", {"class_labels": many, "matrix": [[1] * 101] * 101})
        assert "No room for the matrix" in drawing.document(found)[0]
        terminal(300)
        assert "No room for the matrix" in drawing.document(found)[0]

    def test_a_hostile_label_does_not_steer_the_terminal(self, terminal: Any) -> None:
        terminal(80, NO_COLOR="1")
        hostile = {"class_labels": ["\x1b[2J\x07gone", "a\nb\u202ec"], "matrix": [[1, 0], [0, 1]]}
        text = "\n".join(drawing.document(read("confusion_matrix", hostile)))
        assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)
        assert "a bc" in text

    def test_a_curve_of_a_series(self, terminal: Any) -> None:
        assert drawing.series([1, 2, 3, 4]) == []
        terminal(60)
        lines = drawing.series([1.0, None, float("nan"), 2.0, 3.0, "x", 4.0])
        assert lines[0].startswith("4 ┤") and lines[9].startswith("1 ┤")
        assert max(map(len, lines)) <= 60
        assert drawing.series([-1e308, 1.0, 2.0, 3.0, 1e308, 4.0, 10**400])[0].startswith("4 ┤")


LOGS = """
from azureml.core import Run
run = Run.get_context()
matrix = {"class_labels": ["cat", "dog"], "matrix": [[9, 1], [2, 8]]}
run.log_confusion_matrix("cm", {"schema_type": "confusion_matrix", "data": matrix})
run.log_residuals("res", {"schema_type": "residuals", "data": {"bin_edges": [0, 1, 2], "bin_counts": [3, float("nan")]}})
run.log_table("table", {"x": [1, 2], "y": ["a", "b"]})
open("a.png", "wb").write(b"png")
run.log_image("image", path="a.png")
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_what_a_script_has_logged(home: Path, tmp_path: Path) -> None:
    tree(tmp_path, {"train.py": LOGS})
    run_id = roost("submit", "-d", "train.py").strip()
    roost("run", "logs", "-f", run_id)
    shown = on_terminal(["run", "metrics", run_id], width=80)
    assert shown.code == 0
    assert max(map(len, shown.lines)) <= 80
    assert "cm: confusion matrix" in shown.lines
    assert ["cat", "9", "1", "90.0%"] in [line.split() for line in shown.lines]
    assert "aml://" not in shown.text
    piped = roost("run", "metrics", run_id, "--name", "cm").splitlines()
    assert piped[0] == "20 in 2 classes, accuracy 85.0%. Rows are true classes, columns predicted ones."
    assert roost("run", "metrics", run_id, "--name", "table").splitlines() == ["x  y", "1  a", "2  b"]
    assert f"  roost run download {run_id} --prefix image_" in roost("run", "metrics", run_id, "--name", "image")
    whole = json.loads(roost("run", "metrics", run_id, "--json"))
    assert whole["cm"]["data"]["matrix"] == [[9, 1], [2, 8]]
    assert whole["res"]["data"]["bin_counts"] == [3, {"float": "NaN"}]
    assert whole["image"].startswith("aml://")
