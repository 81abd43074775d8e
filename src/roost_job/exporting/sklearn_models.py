"""scikit-learn models to ONNX, with skl2onnx. Python 3.6+.

First with 32-bit numbers, which are fast in ONNX Runtime; when their results differ from scikit-learn's own 64-bit ones, with
64-bit numbers.
"""

import importlib
import re
from typing import Any, Dict, List, Tuple

from roost_job.exporting import Refused, comparing, samples
from roost_job.exporting.samples import Sample
from roost_job.scoring.handlers import sklearn as handler


def load(path: str) -> Any:
    model = handler.unpickled(path)
    if not hasattr(model, "predict") and not hasattr(model, "transform"):
        raise Refused("the file holds a %s, which is no fitted estimator" % type(model).__name__)
    return model


def sample_for(model: Any) -> Sample:
    """A default sample: numbers, as many per row as the model was fitted to."""
    count = getattr(model, "n_features_in_", None)
    if count is None or getattr(model, "feature_names_in_", None) is not None:
        raise Refused("it does not say what its rows look like. Give sample_input, a few rows as it was fitted to")
    return samples.normal(16, int(count))


def export(model: Any, sample: Sample, path: str, opset: int) -> Tuple[float, List[str]]:
    """Writes the file; returns the largest difference on the sample, and notes for people."""
    rows = _rows(sample)
    expected = _expected(model, rows)
    apart = float("inf")
    notes: List[str] = []
    for wide in (False, True):
        try:
            apart = comparing.largest(expected, _scored(model, sample, path, opset, wide))
        except Refused:
            if not wide or not notes:
                raise
            break  # the 32-bit export worked, and its numbers differ
        if apart <= comparing.TOLERANCE:
            break
        if not wide:
            notes = ["With 32-bit numbers it differs by %.2g: it computes with 64-bit ones." % apart]
    return apart, notes


def _scored(model: Any, sample: Sample, path: str, opset: int, wide: bool) -> List[Any]:
    """Exports, and computes with ONNX Runtime. A runtime older than the exporter names its supported operators; then these are
    used."""
    _write(model, sample, path, opset, wide)
    try:
        return comparing.scored(path, sample.arrays)
    except Exception as error:  # noqa: BLE001 - ONNX Runtime has an exception for everything
        known = re.search(r"till opset (\d+)", str(error))
        if known is None or opset:
            first = [line for line in str(error).splitlines() if line.strip()][:1]
            raise Refused("ONNX Runtime cannot run what skl2onnx wrote: %s" % " ".join(first))
    return _scored(model, sample, path, int(known.group(1)), wide)


def _rows(sample: Sample) -> Any:
    if not sample.table:
        return sample.arrays[0]
    pandas: Any = importlib.import_module("pandas")
    return pandas.DataFrame(dict(zip(sample.names, sample.arrays)), columns=sample.names)


def _expected(model: Any, rows: Any) -> List[Any]:
    try:
        if not hasattr(model, "predict"):
            return [_dense(model.transform(rows))]
        found = [model.predict(rows)]
        if callable(getattr(model, "predict_proba", None)):
            found.append(model.predict_proba(rows))
    except (ValueError, TypeError) as error:
        raise Refused("the model does not take the sample input: %s" % error)
    return found


def _dense(result: Any) -> Any:
    return result.toarray() if hasattr(result, "toarray") else result


def _write(model: Any, sample: Sample, path: str, opset: int, wide: bool) -> None:
    skl2onnx: Any = importlib.import_module("skl2onnx")
    base: Any = importlib.import_module("sklearn.base")
    options: Dict[Any, Any] = {id(model): {"zipmap": False}} if base.is_classifier(model) else {}
    try:
        made = skl2onnx.convert_sklearn(
            model, initial_types=_types(sample, wide), options=options, target_opset=opset or None
        )
    except Exception as error:  # noqa: BLE001 - skl2onnx has many; each is why this model cannot be exported
        first = [line for line in str(error).splitlines() if line.strip()][:1]
        raise Refused("skl2onnx %s has no way for it: %s" % (skl2onnx.__version__, " ".join(first)))
    with open(path, "wb") as file:
        file.write(made.SerializeToString())


def _types(sample: Sample, wide: bool) -> List[Tuple[str, Any]]:
    kinds: Any = importlib.import_module("skl2onnx.common.data_types")
    real = kinds.DoubleTensorType if wide else kinds.FloatTensorType
    if not sample.table:
        array = sample.arrays[0]
        kind = kinds.StringTensorType if array.dtype.kind in "OU" else real
        return [(sample.names[0] or "input", kind([None] + list(array.shape[1:])))]
    found = []
    for name, array in zip(sample.names, sample.arrays):
        kind = real if array.dtype.kind == "f" else kinds.Int64TensorType if array.dtype.kind in "iub" else None
        found.append((name, (kind or kinds.StringTensorType)([None, 1])))
    return found
