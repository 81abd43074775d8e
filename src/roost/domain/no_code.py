"""A model that is deployed without code: its framework and the names of its files decide which handler loads it. Pure.

A model that cannot be deployed is refused before the deployment, with a hint what to register instead. `FLOORS` and `limits` set
the service's resources: those the model was registered with (`ResourceConfiguration`), and never less than its framework needs.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from roost.domain.endpoints import Limits
from roost.domain.errors import InvalidEndpoint
from roost.domain.models import Model
from roost_job.listing import some

HANDLERS = {
    "tensorflow": "tensorflow",
    "tfkeras": "tensorflow",
    "scikitlearn": "sklearn",
    "onnx": "onnx",
    "pytorch": "torchscript",
    "mlflow": "mlflow",
}
"""By framework, in lower case."""
SPELLED = {
    "tensorflow": "Model.Framework.TENSORFLOW",
    "sklearn": "Model.Framework.SCIKITLEARN",
    "onnx": "Model.Framework.ONNX",
    "torchscript": "Model.Framework.PYTORCH",
    "mlflow": "an MLflow folder",
}
FLOORS = {"tensorflow": 2.0, "torchscript": 1.0, "sklearn": 0.5, "onnx": 0.5, "mlflow": 1.0}
"""GB that Python and the framework need before the model is loaded, with room to work. TensorFlow alone needs 0.52."""
_SAVED_MODEL = ("saved_model.pb", "saved_model.pbtxt")
_ENDINGS = {
    "onnx": (".onnx",),
    "tensorflow": (".keras", ".h5", ".hdf5"),
    "sklearn": (".joblib", ".pkl", ".pickle", ".sav"),
    "torchscript": (".pt", ".pth", ".ts", ".jit", ".torchscript"),
}
_WANTED = {
    "onnx": "one file *.onnx",
    "tensorflow": "a SavedModel (a folder with saved_model.pb), or one file *.keras or *.h5",
    "sklearn": "one file *.pkl or *.joblib",
    "torchscript": "one TorchScript file, *.pt",
}
_HOW = {
    "onnx": "Export it with model.to_onnx(sample_input=…), or register the exported file.",
    "tensorflow": "Save it whole, with tf.saved_model.save(model, folder) or model.save('model.keras'), and register that.",
    "sklearn": "Save the fitted estimator with joblib.dump(model, 'model.pkl') and register that one file.",
    "torchscript": "Save it with its code, torch.jit.script(model).save('model.pt'), and register that one file.",
}
_WORDS = {"tensorflow": "TensorFlow", "sklearn": "ScikitLearn", "onnx": "Onnx", "torchscript": "PyTorch"}
_SCRIPT = "Or deploy it with a script: InferenceConfig(entry_script, environment)."


def by_framework(framework: str) -> str | None:
    """The handler of a registered framework; None for one that needs a script."""
    return HANDLERS.get(framework.replace("-", "").lower())


def handler_for(model: Model, paths: Sequence[str]) -> str:
    """The handler that loads a model with these files. InvalidEndpoint has a hint what to register instead."""
    if _named(paths, ("MLmodel",)):
        return "mlflow"
    handler = by_framework(model.framework)
    if handler is None:
        raise InvalidEndpoint(
            f"Model {model.id} cannot be deployed without code: it is registered with the framework {model.framework!r}.",
            hint=f"{_likely(paths)} {_SCRIPT}",
            cli_hint="Give --script score.py, or register it with its framework: "
            f"roost model register {model.name} PATH --framework {_WORDS.get(_looks(paths), 'NAME')}",
        )
    if handler == "mlflow":
        raise InvalidEndpoint(
            f"Model {model.id} is registered as an MLflow folder, and has no file MLmodel; it has {_some(paths)}.",
            hint="Register the folder that mlflow wrote, with MLmodel in it.",
        )
    found = candidates(handler, paths)
    if len(found) != 1:
        has = "none" if not found else f"{len(found)}: {_some(found)}"
        raise InvalidEndpoint(
            f"Model {model.id} cannot be deployed without code: of framework {model.framework} there must be"
            f" {_WANTED[handler]}, and there is {has}. It has {_some(paths)}.",
            hint=f"{_HOW[handler]} {_SCRIPT}",
        )
    return handler


def candidates(handler: str, paths: Sequence[str]) -> list[str]:
    """The files, or the folder of a SavedModel, that the handler could load."""
    if handler == "tensorflow":
        folders = sorted({str(PurePosixPath(path).parent) for path in _named(paths, _SAVED_MODEL)})
        if folders:
            return folders
    found = [path for path in paths if path.lower().endswith(_ENDINGS[handler])]
    if not found and len(paths) == 1 and handler != "tensorflow":
        return list(paths)  # a single file of any name: the handler reports when it cannot load it
    main = [path for path in found if PurePosixPath(path).stem == "model"]
    return main if len(main) == 1 else found


def limits(model: Model, handler: str, given: Limits | None = None) -> tuple[Limits, str]:
    """The service's limits: those of the deployment, else those the model was registered with. Also a message when the requested
    memory is less than the framework itself needs."""
    wished = model.resources
    if given is None:
        made = Limits()
        made = replace(
            made,
            cpu=made.cpu if wished.cpu is None else wished.cpu,
            memory_gb=FLOORS[handler] if wished.memory_gb is None else wished.memory_gb,
            gpu=wished.gpu or 0,
        )
    else:
        made = given
    floor = FLOORS[handler]
    if made.memory_gb >= floor:
        return made, ""
    said = f"{made.memory_gb:g} GB is less than {handler} itself needs here: the service may use {floor:g} GB."
    return replace(made, memory_gb=floor), said


def threads(cpu: float, handler: str) -> Mapping[str, str]:
    """Variables that limit a replica's libraries to its processors."""
    count = str(max(1, math.ceil(cpu)))
    named = {"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count, "MKL_NUM_THREADS": count}
    if handler in ("tensorflow", "mlflow"):
        named |= {"TF_NUM_INTRAOP_THREADS": count, "TF_NUM_INTEROP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2"}
    return named


def _likely(paths: Sequence[str]) -> str:
    """A hint which framework the files belong to."""
    if handler := _looks(paths):
        return f"Its files look like that of {SPELLED[handler]}: register it with model_framework={SPELLED[handler]}."
    known = ", ".join(each for name, each in SPELLED.items() if name != "mlflow")
    return f"Register it with its model_framework, one of {known}, and model_framework_version."


def _looks(paths: Sequence[str]) -> str:
    """The only handler that fits the files; empty when none or several fit."""
    fitting = [handler for handler in _ENDINGS if candidates(handler, paths) and _by_ending(handler, paths)]
    return fitting[0] if len(fitting) == 1 else ""


def _by_ending(handler: str, paths: Sequence[str]) -> bool:
    return any(
        path.lower().endswith((*_ENDINGS[handler], *(_SAVED_MODEL if handler == "tensorflow" else ())))
        for path in paths
    )


def _named(paths: Iterable[str], names: Sequence[str]) -> list[str]:
    return [path for path in paths if PurePosixPath(path).name in names]


def _some(paths: Sequence[str]) -> str:
    return some(paths) or "no files"
