"""MLflow model folders. Python 3.6+.

ROOST_SERVING_MLFLOW holds, as JSON, the content of the folder's MLmodel file, read at the deployment. A flavour that its
framework can load is loaded without MLflow; any other with MLflow's own function, from the folder's requirements.
"""

import importlib
import json
import os
from typing import Any, Dict, List, Optional, Tuple

from roost_job.scoring.handlers import Handler, files, forms
from roost_job.scoring.handlers.fields import Field, schema_of
from roost_job.scoring.handlers.tables import Columns
from roost_job.scoring.messages import Request, Response

VARIABLE = "ROOST_SERVING_MLFLOW"
_TYPES = {
    "boolean": "bool",
    "integer": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "string": "str",
}


class FunctionModel(Handler):
    """MLflow's python_function: a frame or arrays in, anything out."""

    def __init__(self, predict: Any, signature: Dict[str, Any]) -> None:
        self._predict = predict
        self._fields = tensors_of(signature.get("inputs"))
        self._columns = columns_of(signature.get("inputs"))

    def answer(self, request: Request) -> Response:
        if self._fields:
            form, value, _ = forms.form_of(request, [each.name for each in self._fields])
            arrays = forms.arrays_of(value, self._fields)
            result = self._predict(arrays if len(arrays) > 1 else arrays[self._fields[0].name])
        else:
            form, rows, _ = self._columns.read(request)
            result = self._predict(rows)
        return forms.answer(form, _named(result))

    def schema(self) -> Optional[Dict[str, Any]]:
        if self._fields:
            return schema_of(self._fields, [Field("output")])
        rows = self._columns.schema()
        body: Dict[str, Any] = {"type": "object", "properties": {"data": rows, "instances": rows}}
        example = self._columns.example()
        if example is not None:
            body["example"] = {"data": example}
        return {"input": body, "output": {"type": "object", "properties": {"outputs": {}}}}


def load(model_dir: str) -> Handler:
    told = json.loads(os.environ.get(VARIABLE) or "{}")
    root = os.path.join(model_dir, told["root"]) if told else _found(model_dir)
    signature = told.get("signature") or {}
    loader = told.get("loader", "mlflow")
    if loader == "mlflow":
        pyfunc = importlib.import_module("mlflow.pyfunc")
        return FunctionModel(pyfunc.load_model(root).predict, signature)
    path = os.path.join(root, told["file"])
    if loader == "sklearn":
        return _sklearn(path, told, signature)
    if loader == "onnx":
        from roost_job.scoring.handlers import onnx  # each needs its own framework

        return onnx.OnnxModel(path)
    from roost_job.scoring.handlers import tensorflow  # as above

    return tensorflow.load_saved(path) if os.path.isdir(path) else tensorflow.load_keras(path)


def _sklearn(path: str, told: Dict[str, Any], signature: Dict[str, Any]) -> Handler:
    from roost_job.scoring.handlers import sklearn  # as above

    columns = columns_of(signature.get("inputs"))
    known = columns if columns.names else None
    return sklearn.ScikitLearnModel(sklearn.unpickled(path), known, told.get("method") or "predict")


def _found(model_dir: str) -> str:
    folders = [os.path.dirname(path) for path in files.every(model_dir) if os.path.basename(path) == "MLmodel"]
    if not folders:
        raise RuntimeError("There is no file MLmodel in the model.")
    return min(folders, key=len)


def columns_of(inputs: Optional[List[Dict[str, Any]]]) -> Columns:
    """The columns of a signature by columns; unknown for any other."""
    named = [each for each in inputs or [] if each.get("type") != "tensor" and each.get("name")]
    types = {str(each["name"]): _TYPES[each["type"]] for each in named if each.get("type") in _TYPES}
    return Columns([str(each["name"]) for each in named], types=types)


def tensors_of(inputs: Optional[List[Dict[str, Any]]]) -> List[Field]:
    """The fields of a signature by tensors; none for any other."""
    found = []
    for index, each in enumerate(inputs or []):
        if each.get("type") == "tensor":
            spec = each["tensor-spec"]
            shape = tuple(None if length < 0 else length for length in spec["shape"])
            found.append(Field(str(each.get("name") or "input_%d" % index), spec["dtype"], shape))
    return found


def _named(result: Any) -> List[Tuple[str, Any]]:
    if isinstance(result, dict):
        return [(str(name), each) for name, each in result.items()]
    return [("output", result)]
