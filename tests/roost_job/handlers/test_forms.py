"""Requests to models with no code: every form, and what is said of what does not fit."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost_job.scoring.handlers import Handler, NotLoaded, forms, load, mlflow
from roost_job.scoring.handlers.fields import Field, fits, schema_of
from roost_job.scoring.handlers.tables import Columns
from roost_job.scoring.messages import Refused, Request

ONE = [Field("x", "float32", (None, 2))]
TWO = [Field("left", "float32", (None, 2)), Field("right", "int64", (None, 1))]


def request(body: object) -> Request:
    return Request(b"{}", body if isinstance(body, bytes) else json.dumps(body).encode())


def arrays(body: object, fields: list[Field]) -> dict[str, Any]:
    _, value, _ = forms.form_of(request(body), [each.name for each in fields])
    return {name: array.tolist() for name, array in forms.arrays_of(value, fields).items()}


def asked(handler: Handler, body: object) -> Any:
    return json.loads(handler.answer(request(body)).body)


@pytest.mark.parametrize(
    "body",
    [
        {"data": [[1, 2]]},
        {"inputs": [[1, 2]]},
        {"inputs": {"x": [[1, 2]]}},
        {"instances": [[1, 2]]},
        {"instances": [{"x": [1, 2]}]},
        {"x": [[1, 2]]},
        [[1, 2]],
    ],
)
def test_one_input(body: object) -> None:
    assert arrays(body, ONE) == {"x": [[1.0, 2.0]]}


@pytest.mark.parametrize(
    "body",
    [
        {"inputs": {"left": [[1, 2]], "right": [[3]]}},
        {"inputs": {"left": [[1, 2]], "right": [3]}},
        {"instances": [{"left": [1, 2], "right": [3]}]},
        {"instances": [{"left": [1, 2], "right": 3}]},
        {"left": [[1, 2]], "right": [[3]]},
        [{"left": [1, 2], "right": 3}],
    ],
)
def test_several_inputs(body: object) -> None:
    assert arrays(body, TWO) == {"left": [[1.0, 2.0]], "right": [[3]]}


def test_columns_by_place_and_by_name() -> None:
    fields = [Field("a", "float32", (None, 1)), Field("b", "str", (None, 1))]
    wanted = {"a": [[1.0]], "b": [["u"]]}
    assert arrays({"data": [[1, "u"]]}, fields) == wanted
    assert arrays({"dataframe_split": {"columns": ["b", "a"], "data": [["u", 1]]}}, fields) == wanted
    assert arrays({"dataframe_records": [{"a": 1, "b": "u"}]}, fields) == wanted


@pytest.mark.parametrize(
    ("body", "fields", "said"),
    [
        ({"data": [[1, 2, 3]]}, ONE, "must have the shape [any, 2] (float32), and was given with the shape [1, 3]"),
        ({"data": [1, 2]}, ONE, "One row is a list in a list."),
        ({"data": [[1, 2], [1]]}, ONE, "row 2 has 1 values, the first has 2"),
        ({"data": [["a", 2]]}, ONE, "could not convert"),
        ({"data": None}, ONE, "given with the shape []"),
        ({"foo": 1}, ONE, "got an object with foo"),
        ({}, ONE, "nothing in it"),
        ("text", ONE, "got a text"),
        (b"{", ONE, "no JSON"),
        (b"\xff", ONE, "no UTF-8"),
        ({"inputs": {"left": [[1, 2]]}}, TWO, "right missing"),
        ({"inputs": {"left": [[1, 2]], "right": [[1]], "up": 1}}, TWO, "up not known"),
        ({"inputs": {"left": [[1, 2]], "right": [[1.5]]}}, TWO, "was given values of type float"),
        ({"data": [1, 300]}, [Field("x", "uint8", (None,))], "was given 300; it holds 0 to 255"),
        ({"data": [1, -1]}, [Field("x", "uint8", (None,))], "was given -1; it holds 0 to 255"),
        ({"data": [2**63]}, [Field("x", "int64", (None,))], f"was given {2**63}; it holds"),
        ({"instances": [{"left": [1, 2], "right": 3}, {"left": [1, 2]}]}, TWO, "Row 2 has left"),
        ({"data": [[1, 2]]}, TWO, "give them by name"),
        ({"instances": [1]}, [Field("words", "str", (None,))], "a number 1, which is no text"),
        ({"instances": [{"b64": "!"}]}, [Field("words", "str", (None,))], "b64"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_was_expected(body: object, fields: list[Field], said: str) -> None:
    with pytest.raises(Refused) as refused:
        arrays(body, fields)
    assert said in refused.value.message
    assert refused.value.status == 400


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["x", "a", "data", "columns", "b64"]), inner)
    ),
    max_leaves=12,
)
WORDS = st.sampled_from([*forms.FORMS, "x", "left", "right", "a", "b"])


@settings(deadline=None)
@given(ANYTHING | st.dictionaries(WORDS, ANYTHING, max_size=3))
def test_whatever_is_sent_is_read_or_refused(body: object) -> None:
    text = json.dumps(body).encode()
    for fields in (
        ONE,
        TWO,
        [Field("x", "int64", (None,))],
        [Field("x", "str", None)],
        [Field("x", "bool", (None, 1))],
    ):
        try:
            _, value, _ = forms.form_of(request(text), [each.name for each in fields])
            found = forms.arrays_of(value, fields)
        except Refused:
            continue
        assert all(fits(found[each.name].shape, each.shape) for each in fields)
    for columns in (Columns(["a", "b"]), Columns(["a", "b"], types={"a": "float64"}), Columns(count=2), Columns()):
        try:
            columns.read(request(text))
        except Refused:
            continue


def test_answers_have_the_form_of_the_request() -> None:
    one, two = [("p", numpy.array([[0.5], [1.0]]))], [("p", numpy.array([1, 2])), ("q", numpy.array([3, 4]))]
    told = {form: json.loads(forms.answer(form, one).body) for form in ("instances", "inputs", "data", "")}
    assert told == {
        "instances": {"predictions": [[0.5], [1.0]]},
        "inputs": {"outputs": [[0.5], [1.0]]},
        "data": {"outputs": [[0.5], [1.0]]},
        "": [[0.5], [1.0]],
    }
    assert json.loads(forms.answer("instances", two).body)["predictions"] == [{"p": 1, "q": 3}, {"p": 2, "q": 4}]
    assert json.loads(forms.answer("inputs", two).body)["outputs"] == {"p": [1, 2], "q": [3, 4]}


def test_answers_are_json() -> None:
    given = [
        ("p", numpy.array([float("nan"), 1.0, float("inf")])),
        ("m", [{1: numpy.float32(0.5)}]),
        ("b", [b"a", b"\xff"]),
    ]
    told = json.loads(forms.answer("inputs", given).body)["outputs"]
    assert told == {"p": [None, 1.0, None], "m": [{"1": 0.5}], "b": ["a", {"b64": "/w=="}]}


def test_shapes() -> None:
    assert fits((3, 4), (None, 4)) and not fits((4,), (None, 4)) and fits((1, 2), None)
    assert fits((4,), (..., 4)) and fits((1, 2, 4), (..., 4)) and not fits((4, 2), (..., 4)) and not fits((), (..., 4))


def test_the_schema_has_an_example_that_fits() -> None:
    for fields in (ONE, TWO):
        schema = schema_of(fields, [Field("y", "float32", (None,))])
        assert arrays(schema["input"]["example"], fields)
    assert "example" not in schema_of([Field("image", "float32", (None, 3, 224, 224))], [])["input"]
    assert "example" not in schema_of([Field("x")], [])["input"]


class Doubler:
    """What a pickled estimator is to the handler."""

    def __init__(self, names: list[str] | None = None) -> None:
        self.n_features_in_ = 2
        if names:
            self.feature_names_in_ = numpy.array(names)

    def predict(self, rows: Any) -> Any:
        if isinstance(rows, pandas.DataFrame):
            return rows["a"].to_numpy() + 10 * rows["b"].to_numpy()
        return rows.sum(axis=1)

    def predict_proba(self, rows: Any) -> Any:
        return numpy.stack([self.predict(rows)] * 2, axis=1)


class TestScikitLearn:
    def make(self, folder: Path, *names: str) -> Handler:
        (folder / "model.pkl").write_bytes(pickle.dumps(Doubler(list(names))))
        return load("sklearn", str(folder))

    def test_rows_of_numbers(self, tmp_path: Path) -> None:
        handler = self.make(tmp_path)
        assert asked(handler, {"data": [[1, 2]]}) == {"predict": [3.0]}
        assert asked(handler, {"data": [[1, 2]], "method": "predict_proba"}) == {"predict_proba": [[3.0, 3.0]]}
        assert asked(handler, {"instances": [[1, 2]]}) == {"predictions": [3.0]}
        for body, said in (({"data": [[1]]}, "[any, 2]"), ({"data": [[1, 2]], "method": "fit"}, "no method 'fit'")):
            with pytest.raises(Refused, match=said.replace("[", r"\[")):
                asked(handler, body)

    def test_named_columns_in_any_order(self, tmp_path: Path) -> None:
        handler = self.make(tmp_path, "a", "b")
        wanted = {"predict": [21]}
        assert asked(handler, {"data": [{"b": 2, "a": 1}]}) == wanted
        assert asked(handler, {"data": [[1, 2]]}) == wanted
        assert asked(handler, {"data": {"columns": ["b", "a"], "data": [[2, 1]]}}) == wanted
        assert asked(handler, {"data": {"a": [1], "b": [2]}}) == wanted
        with pytest.raises(Refused, match="The columns are a, b; given were a, c"):
            asked(handler, {"data": [{"a": 1, "c": 1}]})
        schema = handler.schema()
        assert schema is not None
        assert asked(handler, schema["input"]["example"]) == {"predict": [0.0]}

    def test_what_is_no_estimator_says_so(self, tmp_path: Path) -> None:
        (tmp_path / "model.pkl").write_bytes(pickle.dumps({"weights": 1}))
        with pytest.raises(NotLoaded, match="no method predict"):
            load("sklearn", str(tmp_path))
        (tmp_path / "other.pkl").write_bytes(b"")
        (tmp_path / "model.pkl").rename(tmp_path / "one.pkl")
        with pytest.raises(NotLoaded, match=r"one\.pkl, other\.pkl"):
            load("sklearn", str(tmp_path))


class TestMlflow:
    def test_a_function_gets_a_frame_of_the_types_it_was_saved_with(self) -> None:
        inputs = [{"type": "double", "name": "a"}, {"type": "string", "name": "b"}]
        handler = mlflow.FunctionModel(lambda frame: [str(frame["a"].dtype), frame["b"][0]], {"inputs": inputs})
        assert asked(handler, {"dataframe_records": [{"b": "u", "a": 1}]}) == {"predictions": ["float64", "u"]}
        with pytest.raises(Refused, match="no text"):
            asked(handler, {"dataframe_records": [{"b": 1, "a": 1}]})

    def test_or_arrays(self) -> None:
        inputs = [{"type": "tensor", "tensor-spec": {"dtype": "float64", "shape": [-1, 2]}}]
        handler = mlflow.FunctionModel(lambda array: array * 2, {"inputs": inputs})
        assert asked(handler, {"inputs": [[1, 2]]}) == {"outputs": [[2.0, 4.0]]}
        with pytest.raises(Refused, match="shape"):
            asked(handler, {"inputs": [[1]]})

    def test_scikit_learn_needs_no_mlflow(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "flowers").mkdir()
        (tmp_path / "flowers" / "model.pkl").write_bytes(pickle.dumps(Doubler()))
        told = {"root": "flowers", "loader": "sklearn", "file": "model.pkl", "method": "predict_proba", "signature": {}}
        monkeypatch.setenv(mlflow.VARIABLE, json.dumps(told))
        assert asked(load("mlflow", str(tmp_path)), {"data": [[1, 2]]}) == {"predict_proba": [[3.0, 3.0]]}
