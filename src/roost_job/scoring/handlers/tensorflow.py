"""TensorFlow models: a SavedModel by its signatures, a Keras file by its inputs. Python 3.6+, TensorFlow 1.10 and later.

A request may name another signature than `serving_default`: {"inputs": …, "signature_name": "serving_bytes"}.
"""

import importlib
import os
from typing import Any, Dict, List, Optional, Tuple

import numpy

from roost_job.scoring.handlers import Handler, files, forms
from roost_job.scoring.handlers.fields import Field, Shape, schema_of
from roost_job.scoring.messages import Refused, Request, Response

tensorflow: Any = importlib.import_module("tensorflow")
_DEFAULT = "serving_default"
_KERAS = (".keras", ".h5", ".hdf5")
_SAVED = ("saved_model.pb", "saved_model.pbtxt")


class Signature(object):
    """A callable: arrays by name → arrays by name."""

    def __init__(self, inputs: List[Field], outputs: List[Field], call: Any) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.call = call


class TensorFlowModel(Handler):
    def __init__(self, signatures: Dict[str, Signature], held: Any) -> None:
        self._signatures = signatures
        self._held = held  # keeps the loaded model alive
        self._default = _DEFAULT if _DEFAULT in signatures else sorted(signatures)[0]

    def answer(self, request: Request) -> Response:
        usual = self._signatures[self._default]
        form, value, rest = forms.form_of(request, [each.name for each in usual.inputs])
        name = rest.get("signature_name", self._default)
        chosen = self._signatures.get(name) if isinstance(name, str) else None
        if chosen is None:
            raise Refused("The model has no signature %r; it has %s." % (name, ", ".join(sorted(self._signatures))))
        arrays = forms.arrays_of(value, chosen.inputs)
        try:
            results = chosen.call(arrays)
        except tensorflow.errors.InvalidArgumentError as error:  # shapes that no signature tells of
            raise Refused("The model refuses this input: %s" % str(error).split("\n")[0])
        return forms.answer(form, [(field.name, results[field.name]) for field in chosen.outputs])

    def schema(self) -> Optional[Dict[str, Any]]:
        chosen = self._signatures[self._default]
        return schema_of(chosen.inputs, chosen.outputs, first="instances" if len(chosen.inputs) == 1 else "inputs")


def load(model_dir: str) -> TensorFlowModel:
    folders = [os.path.dirname(path) for path in files.every(model_dir) if os.path.basename(path) in _SAVED]
    if folders:
        return load_saved(min(folders, key=len))
    return load_keras(files.one(model_dir, _KERAS, "SavedModel or Keras file"))


def load_saved(folder: str) -> TensorFlowModel:
    if tensorflow.__version__.startswith("1."):
        return _with_session(folder)
    loaded = tensorflow.saved_model.load(folder)
    signatures = {name: _signature(function) for name, function in loaded.signatures.items()}
    if not signatures:
        raise RuntimeError(
            "The SavedModel has no signature: save it with tf.saved_model.save(model, folder, "
            "signatures=model.call.get_concrete_function(tf.TensorSpec(shape, dtype)))."
        )
    return TensorFlowModel(signatures, loaded)


def _signature(function: Any) -> Signature:
    given = function.structured_input_signature[1]
    inputs = [Field(name, _type(spec.dtype), _shape(spec.shape)) for name, spec in sorted(given.items())]
    produced = function.structured_outputs
    if not isinstance(produced, dict):
        produced = {"output_%d" % index: spec for index, spec in enumerate(produced)}
    outputs = [Field(name, _type(spec.dtype), _shape(spec.shape)) for name, spec in sorted(produced.items())]
    types = {name: spec.dtype for name, spec in given.items()}

    def call(arrays: Dict[str, Any]) -> Dict[str, Any]:
        tensors = {
            name: tensorflow.constant(value.tolist() if types[name] == tensorflow.string else value, types[name])
            for name, value in arrays.items()
        }
        results = function(**tensors)
        if not isinstance(results, dict):
            results = {"output_%d" % index: each for index, each in enumerate(results)}
        return {name: each.numpy() for name, each in results.items()}

    return Signature(inputs, outputs, call)


def _with_session(folder: str) -> TensorFlowModel:
    """For TensorFlow 1: a graph and a session."""
    v1 = getattr(tensorflow, "compat", tensorflow)
    v1 = getattr(v1, "v1", tensorflow)
    graph = v1.Graph()
    session = v1.Session(graph=graph)
    with graph.as_default():
        meta = v1.saved_model.loader.load(session, ["serve"], folder)
    signatures = {}
    for name, definition in meta.signature_def.items():
        if name.startswith("__"):
            continue
        ins = {key: graph.get_tensor_by_name(info.name) for key, info in definition.inputs.items()}
        outs = {key: graph.get_tensor_by_name(info.name) for key, info in definition.outputs.items()}
        inputs = [Field(key, _type(each.dtype), _shape(each.shape)) for key, each in sorted(ins.items())]
        outputs = [Field(key, _type(each.dtype), _shape(each.shape)) for key, each in sorted(outs.items())]

        def call(arrays: Dict[str, Any], ins: Any = ins, outs: Any = outs) -> Dict[str, Any]:
            results: Dict[str, Any] = session.run(outs, {ins[key]: value for key, value in arrays.items()})
            return results

        signatures[name] = Signature(inputs, outputs, call)
    if not signatures:
        raise RuntimeError("The SavedModel has no signature: save it with tf.saved_model.simple_save.")
    return TensorFlowModel(signatures, session)


def load_keras(path: str) -> TensorFlowModel:
    model = tensorflow.keras.models.load_model(path, compile=False)
    inputs = [Field(*each) for each in _keras_fields(model.inputs, getattr(model, "input_names", None))]
    outputs = [Field(*each) for each in _keras_fields(model.outputs, getattr(model, "output_names", None))]

    def call(arrays: Dict[str, Any]) -> Dict[str, Any]:
        given = [arrays[each.name] for each in inputs]
        results = model.predict_on_batch(given[0] if len(given) == 1 else given)
        if isinstance(results, dict):
            return {str(name): numpy.asarray(each) for name, each in results.items()}
        results = results if isinstance(results, (list, tuple)) else [results]
        return {field.name: numpy.asarray(each) for field, each in zip(outputs, results)}

    return TensorFlowModel({_DEFAULT: Signature(inputs, outputs, call)}, model)


def _keras_fields(tensors: Any, names: Any) -> List[Tuple[str, str, Shape]]:
    found = []
    for index, tensor in enumerate(tensors):
        name = names[index] if names and index < len(names) else str(tensor.name).partition(":")[0]
        found.append((str(name), _type(tensor.dtype), _shape(tensor.shape)))
    return found


def _type(dtype: Any) -> str:
    name = dtype if isinstance(dtype, str) else dtype.name
    return "str" if name == "string" else str(name).replace("_ref", "")


def _shape(shape: Any) -> Shape:
    if isinstance(shape, tuple):  # of Keras 3
        return tuple(shape)
    return None if shape.ndims is None else tuple(shape.as_list())
