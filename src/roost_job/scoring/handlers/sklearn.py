"""scikit-learn models, and others that have `predict`: from a pickle or joblib file, loaded in this process alone. Python 3.6+.

The request may name another method of the model: {"data": […], "method": "predict_proba"}.
"""

import importlib
import pickle
import warnings
from typing import Any, Dict, Optional

from roost_job.scoring.handlers import Handler, files, forms
from roost_job.scoring.handlers.fields import Field
from roost_job.scoring.handlers.tables import Columns
from roost_job.scoring.messages import Refused, Request, Response

_ENDINGS = (".joblib", ".pkl", ".pickle", ".sav", ".skops")
METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "transform", "score_samples")


class ScikitLearnModel(Handler):
    def __init__(self, model: Any, columns: Optional[Columns] = None, method: str = "predict") -> None:
        self._model = model
        self._columns = columns if columns is not None else _columns(model)
        self._methods = [each for each in METHODS if callable(_method(model, each))]
        if method not in self._methods:
            if not self._methods:
                raise RuntimeError(
                    "The file holds a %s, which has no method predict: save the fitted estimator itself." % type(model)
                )
            method = self._methods[0]
        self._method = method
        # Rows that name their columns are good for a model that was fitted to arrays as well: nothing to say at each request.
        warnings.filterwarnings("ignore", message="X has feature names, but")

    def answer(self, request: Request) -> Response:
        form, rows, rest = self._columns.read(request)
        method = rest.get("method", self._method)
        if method not in self._methods:
            raise Refused("The model has no method %r; it has %s." % (method, ", ".join(self._methods)))
        try:
            result = getattr(self._model, method)(rows)
        except (ValueError, TypeError, KeyError) as error:  # as scikit-learn refuses what it was not fitted to
            raise Refused("The model refuses these rows: %s" % error)
        return forms.answer(form, [(method, _dense(result))], key=method)

    def schema(self) -> Optional[Dict[str, Any]]:
        body: Dict[str, Any] = {"type": "object", "required": ["data"]}
        method = {"type": "string", "enum": self._methods, "default": self._method}
        body["properties"] = {"data": self._columns.schema(), "method": method}
        example = self._columns.example()
        if example is not None:
            body["example"] = {"data": example}
        result = Field(self._method, "", (None,)).schema()
        return {"input": body, "output": {"type": "object", "properties": {self._method: result}}}


def load(model_dir: str) -> ScikitLearnModel:
    return ScikitLearnModel(unpickled(files.one(model_dir, _ENDINGS, "pickled estimator")))


def unpickled(path: str) -> Any:
    """The object in a file: joblib reads its own files and plain pickles; skops its own."""
    if path.endswith(".skops"):
        skops = importlib.import_module("skops.io")
        return skops.load(path, trusted=skops.get_untrusted_types(file=path))
    try:
        joblib = importlib.import_module("joblib")
    except ImportError:  # older scikit-learn has its own
        with open(path, "rb") as file:
            return pickle.load(file)  # noqa: S301 - the model's own process; the control plane never loads one
    return joblib.load(path)


def _columns(model: Any) -> Columns:
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return Columns([str(name) for name in names])
    count = getattr(model, "n_features_in_", None)
    if count is None and isinstance(getattr(model, "steps", None), list) and model.steps:
        count = getattr(model.steps[0][1], "n_features_in_", None)
    coefficients: Any = getattr(model, "coef_", None)
    if count is None and getattr(coefficients, "ndim", None):  # before 0.24
        count = coefficients.shape[-1]
    return Columns(count=int(count) if count is not None else None)


def _method(model: Any, name: str) -> Any:
    try:
        return getattr(model, name, None)
    except Exception:  # noqa: BLE001 - a method that is there only with some settings
        return None


def _dense(result: Any) -> Any:
    """Sparse matrices as arrays; of several outputs, a list of arrays."""
    return result.toarray() if hasattr(result, "toarray") else result
