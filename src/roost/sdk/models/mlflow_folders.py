"""Reads an MLflow model folder here, so that the serving process needs neither MLflow nor a YAML parser: which flavour its
framework can load alone, its input and output, and its requirements.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import yaml

from roost.domain import no_code, requirements
from roost.domain.errors import InvalidEndpoint

VARIABLE = "ROOST_SERVING_MLFLOW"
"""The variable with the folder's description for the worker, as JSON."""
FILE = "MLmodel"
_OWN = ("mlflow", "mlflow-skinny", "mlflow-tracing")
Read = Callable[[str], str]
"""Returns a file of the model, by its path, as text."""


@dataclass(frozen=True, kw_only=True)
class Folder:
    root: str
    """Its path within the model; "." for the model itself."""
    loader: str
    """"sklearn", "onnx" or "tensorflow" when the framework can load it alone; else "mlflow"."""
    file: str = ""
    """The path that the framework loads, within the root."""
    form: str = ""
    """The format of scikit-learn's file: pickle, cloudpickle or skops."""
    method: str = "predict"
    signature: Mapping[str, Any] = field(default_factory=dict)
    """`inputs` and `outputs`, as MLflow writes them; empty for none."""
    python: str = ""
    """Minor version of the Python that saved it; empty when unknown."""
    requirements: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """The description for the worker."""
        names = ("root", "loader", "file", "form", "method", "signature")
        return json.dumps({name: getattr(self, name) for name in names})


def read(model_id: str, paths: Sequence[str], text: Read) -> Folder:
    """The model's folder. Raises InvalidEndpoint when none of its flavours can be loaded."""
    found = sorted((path for path in paths if PurePosixPath(path).name == FILE), key=len)
    root = str(PurePosixPath(found[0]).parent)
    data = _yaml(model_id, found[0], text)
    flavours = data.get("flavors")
    if not isinstance(flavours, Mapping) or not flavours:
        raise InvalidEndpoint(
            f"{found[0]} of model {model_id} names no flavour.", hint="Save the model with mlflow again."
        )
    function = flavours.get("python_function") or {}
    inside = [str(PurePosixPath(path).relative_to(root)) for path in paths if _is_in(path, root)]
    loader, file, form = _loader(flavours, inside)
    if loader == "mlflow" and not function:
        raise InvalidEndpoint(
            f"Model {model_id} has the flavours {', '.join(sorted(flavours))} and no python_function, which serves any other.",
            hint="Save it with a flavour of scikit-learn, ONNX or TensorFlow, or as mlflow.pyfunc.",
        )
    lines, python = _needs(model_id, root, inside, text)
    if loader != "mlflow":
        lines = tuple(line for line in lines if requirements.package(line) not in _OWN)
    return Folder(
        root=root,
        loader=loader,
        file=file,
        form=form,
        method=str(function.get("predict_fn") or "predict"),
        signature=_signature(data.get("signature")),
        python=python or ".".join(str(function.get("python_version") or "").split(".")[:2]),
        requirements=lines,
    )


def _loader(flavours: Mapping[str, Any], inside: Sequence[str]) -> tuple[str, str, str]:
    """The loader, its file, and the file's format. A model with its own code needs MLflow."""
    if any((each or {}).get("code") for each in flavours.values()):
        return "mlflow", "", ""
    sklearn = flavours.get("sklearn")
    if sklearn and sklearn.get("pickled_model") in inside:
        return "sklearn", sklearn["pickled_model"], str(sklearn.get("serialization_format") or "pickle")
    onnx = flavours.get("onnx")
    if onnx and onnx.get("data") in inside:
        return "onnx", onnx["data"], ""
    for flavour in ("tensorflow", "keras"):
        if flavour in flavours:
            found = no_code.candidates("tensorflow", inside)
            if len(found) == 1:
                return "tensorflow", found[0], ""
    return "mlflow", "", ""


def _needs(model_id: str, root: str, inside: Sequence[str], text: Read) -> tuple[tuple[str, ...], str]:
    """Requirements and the minor version of Python."""
    lines: list[str] = []
    python = ""
    if "requirements.txt" in inside:
        lines = text(str(PurePosixPath(root, "requirements.txt"))).splitlines()
    for name in ("python_env.yaml", "conda.yaml"):
        if name not in inside:
            continue
        data = _yaml(model_id, str(PurePosixPath(root, name)), text)
        python = python or str(data.get("python") or "")
        for each in data.get("dependencies") or ():
            if isinstance(each, str) and each.startswith("python=") and not python:
                python = each.removeprefix("python").lstrip("= ")
            elif isinstance(each, Mapping) and not lines:
                lines = [str(line) for line in each.get("pip") or ()]
    kept = tuple(line.strip() for line in lines if line.strip() and not line.strip().startswith(("-c", "-r", "#")))
    return kept, ".".join(python.split(".")[:2])


def _signature(given: object) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        return {}
    made = {}
    for name in ("inputs", "outputs"):
        try:
            made[name] = json.loads(given.get(name) or "null")
        except ValueError:
            made[name] = None
    return {name: value for name, value in made.items() if isinstance(value, list)}


def _yaml(model_id: str, path: str, text: Read) -> Mapping[str, Any]:
    try:
        data = yaml.safe_load(text(path))
    except yaml.YAMLError as error:
        raise InvalidEndpoint(f"{path} of model {model_id} cannot be read: {error}.") from None
    if not isinstance(data, Mapping):
        raise InvalidEndpoint(f"{path} of model {model_id} is not a mapping.")
    return data


def _is_in(path: str, root: str) -> bool:
    return root == "." or path.startswith(f"{root}/")
