"""ONNX models, with ONNX Runtime. The model itself declares input and output. Python 3.6+."""

import importlib
import os
from typing import Any, Dict, Optional

from roost_job.scoring.handlers import Handler, files, forms
from roost_job.scoring.handlers.fields import Field, Shape, schema_of
from roost_job.scoring.messages import Request, Response

onnxruntime: Any = importlib.import_module("onnxruntime")
_TYPES = {"float": "float32", "double": "float64", "float16": "float16", "bool": "bool", "string": "str"}


class OnnxModel(Handler):
    def __init__(self, path: str) -> None:
        options = onnxruntime.SessionOptions()
        threads = os.environ.get("OMP_NUM_THREADS", "")
        if threads.isdigit():
            options.intra_op_num_threads = int(threads)
        providers = onnxruntime.get_available_providers()
        self._session = onnxruntime.InferenceSession(path, options, providers=providers)
        self._inputs = [Field(each.name, _type(each.type), _shape(each)) for each in self._session.get_inputs()]
        self._outputs = [Field(each.name, _type(each.type), _shape(each)) for each in self._session.get_outputs()]
        self._names = [each.name for each in self._inputs]

    def answer(self, request: Request) -> Response:
        form, value, _ = forms.form_of(request, self._names)
        results = self._session.run(None, forms.arrays_of(value, self._inputs))
        return forms.answer(form, [(field.name, result) for field, result in zip(self._outputs, results)])

    def schema(self) -> Optional[Dict[str, Any]]:
        return schema_of(self._inputs, self._outputs)


def load(model_dir: str) -> OnnxModel:
    return OnnxModel(files.one(model_dir, (".onnx",), "ONNX file"))


def _type(text: str) -> str:
    """NumPy's name for `tensor(float)`; empty for a type that is no tensor."""
    if not text.startswith("tensor("):
        return ""
    name = text[len("tensor(") : -1]
    return _TYPES.get(name, name)


def _shape(declared: Any) -> Shape:
    if not declared.type.startswith("tensor("):
        return None
    return tuple(length if isinstance(length, int) and length > 0 else None for length in declared.shape)
