"""scikit-learn models, and others that have `predict`: from a pickle or joblib file, loaded in this process alone. Python 3.6+.

The request may name another method of the model: {"data": […], "method": "predict_proba"}.
"""

import bz2
import contextlib
import gzip
import importlib
import lzma
import pickle
import sys
import warnings
import zlib
from typing import Any, Dict, Optional

from roost_job.scoring.handlers import Handler, files, forms
from roost_job.scoring.handlers.fields import Field
from roost_job.scoring.handlers.tables import Columns
from roost_job.scoring.messages import Refused, Request, Response

_OWN = "sklearn.externals.joblib"
_LOOKED_AT = 2**25
"""Bytes of a file that are searched for its first array."""
_PACKED = ((b"\x1f\x8b", gzip.open), (b"BZ", bz2.open), (b"\xfd7zXZ", lzma.open), (b"]\x00", lzma.open))
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
        # A model that was fitted to arrays also accepts named columns: no warning at each request.
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
    joblib = _joblib(path)
    if joblib is not None:
        return joblib.load(path)
    with open(path, "rb") as file:
        return pickle.load(file)  # noqa: S301 - the model's own process; the control plane never loads one


def _joblib(path: str) -> Any:
    """The joblib for a file: before 0.23 scikit-learn had its own, which its files name; None when there is none."""
    own = _module(_OWN)
    if _OWN.encode() not in _beginning(path):
        return _module("joblib") or own
    joblib = _module("joblib")
    if own is None and joblib is not None:
        for name in ("", ".numpy_pickle", ".numpy_pickle_utils", ".numpy_pickle_compat"):  # as files name them
            found = _module("joblib" + name)
            if found is not None:
                sys.modules.setdefault(_OWN + name, found)
    return own or joblib


def _module(name: str) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn 0.21 and 0.22 say that theirs goes
            return importlib.import_module(name)
    except ImportError:
        return None


def _beginning(path: str) -> bytes:
    """The first bytes of a file, decompressed if joblib compressed them."""
    with open(path, "rb") as file:
        raw = file.read(_LOOKED_AT)
    for magic, opened in _PACKED:
        if raw.startswith(magic):
            with opened(path, "rb") as unpacked, contextlib.suppress(OSError, EOFError, lzma.LZMAError):
                return unpacked.read(_LOOKED_AT)
    with contextlib.suppress(zlib.error):
        return zlib.decompressobj().decompress(raw, _LOOKED_AT)
    return raw


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
    """Sparse matrices as arrays; for several outputs, a list of arrays."""
    return result.toarray() if hasattr(result, "toarray") else result
