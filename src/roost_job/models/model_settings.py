"""The settings of a model at its registration: framework, resources of a service, labels, datasets, local files."""

import binascii
import os
import stat
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from roost_job.exceptions import UserErrorException, WebserviceException


class Framework(object):
    """`Model.Framework.TENSORFLOW` and the others: the framework that serves a model deployed without code."""

    CUSTOM = "Custom"
    TENSORFLOW = "TensorFlow"
    SCIKITLEARN = "ScikitLearn"
    ONNX = "Onnx"
    PYTORCH = "PyTorch"
    TFKERAS = "TFKeras"
    MLFLOW = "MLflow"
    MULTI = "Multi"


_LIKELY = {
    "sklearn": Framework.SCIKITLEARN,
    "scikit": Framework.SCIKITLEARN,
    "scikitlearn": Framework.SCIKITLEARN,
    "tf": Framework.TENSORFLOW,
    "tf2": Framework.TENSORFLOW,
    "tensorflow": Framework.TENSORFLOW,
    "tensorflow2": Framework.TENSORFLOW,
    "keras": Framework.TFKERAS,
    "tfkeras": Framework.TFKERAS,
    "tensorflowkeras": Framework.TFKERAS,
    "torch": Framework.PYTORCH,
    "pytorch": Framework.PYTORCH,
    "torchscript": Framework.PYTORCH,
    "onnx": Framework.ONNX,
    "onnxruntime": Framework.ONNX,
    "mlflow": Framework.MLFLOW,
    "pyfunc": Framework.MLFLOW,
}
"""Common spellings of the frameworks that need no code, in lower case and without punctuation."""


def likely_framework(given: Any) -> Optional[str]:
    """The framework that was probably meant by an unknown spelling; None for any other."""
    text = str(given or "").lower()
    known = (
        Framework.SCIKITLEARN,
        Framework.TENSORFLOW,
        Framework.TFKERAS,
        Framework.PYTORCH,
        Framework.ONNX,
        Framework.MLFLOW,
    )
    if text.replace("-", "") in [each.lower() for each in known]:
        return None
    return _LIKELY.get("".join(each for each in text if each.isalnum()))


class ResourceConfiguration(object):
    """The resources of a service whose model is deployed without code: cores, memory, GPUs."""

    def __init__(
        self, cpu: Optional[float] = None, memory_in_gb: Optional[float] = None, gpu: Optional[int] = None
    ) -> None:
        self.cpu = cpu
        self.memory_in_gb = memory_in_gb
        self.gpu = gpu
        self._validate_configuration()

    def _validate_configuration(self) -> None:
        for name, value in (("cpu", self.cpu), ("memory_in_gb", self.memory_in_gb)):
            if value is not None and (_no_number(value) or not 0 < value < float("inf")):
                raise WebserviceException(
                    "Invalid configuration, %s must be greater than zero, got %r." % (name, value)
                )
        gpu = self.gpu
        if gpu is not None and (_no_number(gpu) or gpu != gpu or gpu < 0 or gpu != int(gpu)):
            raise WebserviceException("Invalid configuration, gpu must be a whole number from 0 on, got %r." % (gpu,))

    def serialize(self) -> Dict[str, Any]:
        return {"cpu": self.cpu, "memoryInGB": self.memory_in_gb, "gpu": self.gpu}

    @staticmethod
    def deserialize(payload_obj: Optional[Mapping[str, Any]]) -> "Optional[ResourceConfiguration]":
        if not payload_obj:
            return None
        given = dict(payload_obj)
        return ResourceConfiguration(given.get("cpu"), given.get("memoryInGB"), given.get("gpu"))

    def __repr__(self) -> str:
        return "ResourceConfiguration(cpu=%r, memory_in_gb=%r, gpu=%r)" % (self.cpu, self.memory_in_gb, self.gpu)


def _no_number(value: Any) -> bool:
    return isinstance(value, bool) or not isinstance(value, (int, float))


def new_key() -> str:
    """Identifies one registration, so that a repeated request makes one version."""
    return binascii.hexlify(os.urandom(16)).decode("ascii")


def resources(given: Optional[ResourceConfiguration]) -> Optional[Dict[str, Any]]:
    """The form of the control plane."""
    if given is None:
        return None
    if not isinstance(given, ResourceConfiguration):
        raise UserErrorException(
            "resource_configuration must be a ResourceConfiguration, got %s." % type(given).__name__,
            hint="ResourceConfiguration(cpu=1, memory_in_gb=0.5)",
        )
    given._validate_configuration()
    cpu, memory = given.cpu, given.memory_in_gb
    return {
        "cpu": None if cpu is None else float(cpu),
        "memory_gb": None if memory is None else float(memory),
        "gpu": None if given.gpu is None else int(given.gpu),
    }


def labels(what: str, given: Any) -> Dict[str, str]:
    """Tags or properties: a dict, or a list of keys and [key, value]."""
    return {key: "" if value is None else value for key, value in wanted(what, given).items()}


def wanted(what: str, given: Any) -> Dict[str, Optional[str]]:
    """Labels as a filter: None matches any value."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        pairs: List[Tuple[Any, Any]] = list(given.items())
    elif isinstance(given, (list, tuple, set, frozenset)):
        pairs = [_pair(what, each) for each in given]
    else:
        raise UserErrorException(
            "%s must be a dict or a list, got %s %.80r." % (what, type(given).__name__, given),
            hint="{'key': 'value'}, or ['key', ['key2', 'value2']]",
        )
    return {str(key): None if value is None else str(value) for key, value in pairs}


def _pair(what: str, each: Any) -> Tuple[Any, Any]:
    if isinstance(each, str):
        return each, None
    if isinstance(each, (list, tuple)) and len(each) == 2:
        return each[0], each[1]
    raise UserErrorException("%s as a list has keys and [key, value] in it, got %.80r." % (what, each))


def dataset_id(what: str, dataset: Any, workspace: Any) -> Optional[str]:
    """The id of a dataset; an unregistered one is saved to the workspace first."""
    if dataset is None:
        return None
    found = getattr(dataset, "id", None)
    if not found and not hasattr(type(dataset), "_saved"):
        raise WebserviceException(
            "Unable to register Model with the %s: %.80r is not a dataset." % (what, dataset),
            hint="Dataset.get_by_name(workspace, name) gives one, and so does Dataset.Tabular.from_delimited_files.",
        )
    return str(found or dataset._saved(workspace).id)


def datasets(given: Any, workspace: Any) -> List[List[str]]:
    """`[(purpose, dataset)]` as purpose and id."""
    found = []
    for pair in given or ():
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise WebserviceException("datasets is a list of (what for, dataset), got %.80r in it." % (pair,))
        purpose = getattr(pair[0], "value", pair[0])
        found.append([str(purpose), str(dataset_id("dataset %r" % str(purpose), pair[1] or "", workspace))])
    return found


# ---- files of this machine


def local_files(model_path: Any, child_paths: Optional[Sequence[Any]] = None) -> List[List[str]]:
    """[name in the model, absolute path] of a file, of all files below a folder, or of the named files in it."""
    try:
        given = os.fsdecode(model_path)
    except TypeError:
        raise UserErrorException(
            "model_path must be text, got %s %.80r." % (type(model_path).__name__, model_path)
        ) from None
    if "://" in given:
        raise WebserviceException(
            "model_path %.200r is an address; a model is registered from files." % given,
            hint="Download it first, or use run.register_model for the files of a run.",
        )
    root = os.path.abspath(os.path.expanduser(given))
    if not os.path.exists(root):
        raise WebserviceException(
            'The provided model path "%s" cannot be found.' % given,
            hint="Looked from %s. A path among the files of a run: run.register_model(name, path)" % os.getcwd(),
            cli_hint="Looked from %s. A path among the files of a run needs --run ID." % os.getcwd(),
        )
    if child_paths is not None:
        return _children(root, child_paths)
    found = _below(root, os.path.basename(root))
    if not found:
        raise WebserviceException("The folder %s has no files." % root)
    return found


def _children(root: str, child_paths: Sequence[Any]) -> List[List[str]]:
    if isinstance(child_paths, str) or not child_paths:
        raise UserErrorException("child_paths must be a list of paths, got %.80r." % (child_paths,))
    found: List[List[str]] = []
    for child in child_paths:
        full = os.path.normpath(os.path.join(root, os.fsdecode(child)))
        if not full.startswith(root.rstrip(os.sep) + os.sep) or not os.path.exists(full):
            raise WebserviceException('The provided child path "%s" cannot be found in %s.' % (child, root))
        found += _below(full, os.path.basename(full))
    names = [name for name, _ in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise WebserviceException("Two of child_paths would be %r in the model." % twice[0])
    return found


def _below(path: str, name: str) -> List[List[str]]:
    """A file, or all files below a folder; links are followed, since the model needs their targets."""
    if os.path.isfile(path):
        return [[name, path]]
    if not name:
        raise WebserviceException("%s has no name of its own that the model could keep." % path)
    found: List[List[str]] = []
    entered = set()
    for folder, folders, files in os.walk(path, onerror=_refuse, followlinks=True):
        here = os.stat(folder)
        if (here.st_dev, here.st_ino) in entered:
            raise WebserviceException("The folder %s is met twice: a link leads back to it." % folder)
        entered.add((here.st_dev, here.st_ino))
        folders.sort()
        for each in sorted(files):
            full = os.path.join(folder, each)
            inside = os.path.relpath(full, path).replace(os.sep, "/")
            _require_file(full)
            found.append(["%s/%s" % (name, inside), full])
    return found


def _require_file(path: str) -> None:
    try:
        kind = os.stat(path).st_mode
    except OSError as error:
        raise WebserviceException("%s cannot be read: %s." % (path, error.strerror)) from None
    if not stat.S_ISREG(kind):
        raise WebserviceException("%s is not a file, and cannot be part of a model." % path)


def _refuse(error: OSError) -> None:
    raise WebserviceException("The folder %s cannot be read: %s." % (error.filename, error.strerror))
