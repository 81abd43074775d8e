"""The code that loads a model and answers. One module per handler, each with a function

    load(model_dir: str) -> Handler        # called once, before the worker listens; its exception is the cause of a failed start

`model_dir` is AZUREML_MODEL_DIR: the folder that holds the one model's file or folder, or `name/version/…` of several. The worker
calls `answer` from its main thread, or from `concurrency` threads when that is above 1. A new handler is a file here and a line
in HANDLERS.
"""

import importlib
import platform
from typing import Any, Dict, Optional

from roost_job.scoring.messages import Request

HANDLERS = {
    "script": "roost_job.scoring.handlers.script",
    "onnx": "roost_job.scoring.handlers.onnx",
    "sklearn": "roost_job.scoring.handlers.sklearn",
    "tensorflow": "roost_job.scoring.handlers.tensorflow",
    "torchscript": "roost_job.scoring.handlers.torchscript",
    "mlflow": "roost_job.scoring.handlers.mlflow",
}
_LIBRARIES = {
    "onnx": "onnxruntime",
    "sklearn": "sklearn",
    "tensorflow": "tensorflow",
    "torchscript": "torch",
    "mlflow": "mlflow",
}
_TITLES = {"onnxruntime": "ONNX Runtime", "sklearn": "scikit-learn", "tensorflow": "TensorFlow", "torch": "PyTorch"}


class NotLoaded(Exception):
    """Why a model cannot be served, in one line; the original exception, if any, is its cause."""


class Handler(object):
    """The interface of a handler. Derive from it, or define the same names."""

    raw = False
    """True: it gets every method on /score, GET and OPTIONS too. False: the body of a POST (and the query of a GET)."""

    def answer(self, request: Request) -> Any:
        """The answer to one request: a `messages.Response`, or a value for `messages.response_of`: bytes, sent unchanged,
        or a value for JSON (text is a JSON string). `messages.Refused` is the caller's mistake (400, with its message); any
        other exception is the model's (502, with its text; the traceback goes to the log).
        """
        raise NotImplementedError

    def schema(self) -> Optional[Dict[str, Any]]:
        """{"input": S, "output": S}, each an OpenAPI 3 schema object (with an "example" if there is one) of the body of a POST
        and of its answer; None when unknown. Read once, after `load`.
        """
        return None


def load(name: str, model_dir: str) -> Handler:
    """The handler of this name, with its model loaded. NotLoaded has the cause in one line."""
    if name not in HANDLERS:
        raise NotLoaded("There is no handler %r; they are %s." % (name, ", ".join(sorted(HANDLERS))))
    try:
        handler: Handler = importlib.import_module(HANDLERS[name]).load(model_dir)
    except NotLoaded:
        raise
    except BaseException as error:  # SystemExit of a library is a failure too
        raise NotLoaded("The model could not be loaded %s: %s" % (_with(name), in_a_line(error))) from error
    return handler


def in_a_line(error: BaseException) -> str:
    """The type of an exception and its first line."""
    lines = str(error).strip().splitlines()
    return "%s: %.500s" % (type(error).__name__, lines[0]) if lines else type(error).__name__


def _with(name: str) -> str:
    """The framework with its version, which often is the cause."""
    python = "Python %s" % platform.python_version()
    try:
        library = importlib.import_module(_LIBRARIES[name])
        version = library.__version__
    except Exception:  # noqa: BLE001 - whatever it is, the model's own failure is what is told
        return "on %s" % python
    return "with %s %s on %s" % (_TITLES.get(library.__name__, library.__name__), version, python)
