"""The entry script: `init()` once, `run(…)` for each request, as the Azure ML SDK v1 has them.

`run` has one parameter and gets the body as text; or is under `@rawhttp` and gets an AMLRequest; or is under `@input_schema` and
gets the body's JSON by the names of its parameters. A parameter `request_headers` gets the headers. Python 3.6+.
"""

import importlib.util
import inspect
import json
import os
import sys
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import parse_qs

from roost_job.scoring import rawhttp, schemas
from roost_job.scoring.handlers import Handler, NotLoaded, in_a_line
from roost_job.scoring.messages import JSON, Refused, Request, Response

_EMPTY = inspect.Parameter.empty


def load(model_dir: str) -> Handler:  # noqa: ARG001 - scripts read AZUREML_MODEL_DIR themselves
    """Imports the script that AZUREML_ENTRY_SCRIPT names and calls its `init()`. NotLoaded names the step that failed."""
    named = os.environ.get("AZUREML_ENTRY_SCRIPT") or "score.py"
    path = os.path.abspath(named)
    if not os.path.isfile(path):
        raise NotLoaded("There is no entry script %s." % named)
    try:
        module = _imported(path)
    except BaseException as error:  # SystemExit too
        raise NotLoaded("%s could not be imported: %s" % (named, in_a_line(error))) from error
    for name in ("init", "run"):
        if not callable(getattr(module, name, None)):
            raise NotLoaded("%s has no function %s()." % (named, name))
    try:
        handler = Script(module.run)
    except TypeError as error:
        raise NotLoaded("%s: %s" % (named, error)) from None
    try:
        module.init()
    except SystemExit as error:
        raise NotLoaded("init() called sys.exit(%s)." % ("" if error.code is None else repr(error.code))) from error
    except BaseException as error:
        raise NotLoaded("init() raised %s" % in_a_line(error)) from error
    return handler


def _imported(path: str) -> ModuleType:
    for folder in (os.getcwd(), os.path.dirname(path)):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("entry_module", path)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["entry_module"] = module  # its pickles and dataclasses look for it there
    spec.loader.exec_module(module)
    return module


class Script(Handler):
    """Calls `run` with the arguments that it expects."""

    def __init__(self, run: Callable[..., Any]) -> None:
        self._run = run
        self._parameters = _parameters(run)
        self._wants_headers = "request_headers" in self._parameters
        self._names = [name for name in self._parameters if name != "request_headers"]
        self.raw = rawhttp.wanted()
        decorated = schemas.decorated(run)
        if self.raw and decorated:
            raise TypeError("run() cannot be under both @rawhttp and @input_schema.")
        if not self._names:
            raise TypeError("run() takes no parameter for the request's data.")
        self._given = self._by_name if decorated else self._as_text

    def answer(self, request: Request) -> Any:
        if self.raw:
            return _as_response(self._run(rawhttp.AMLRequest(request)))
        if not self._wants_headers and self._given == self._as_text and request.method == "POST":
            return _as_response(self._run(request.text()))
        if request.method not in ("GET", "POST"):
            raise Refused("The method %s is not allowed." % request.method, 405)
        given = self._given(request)
        if self._wants_headers:
            given["request_headers"] = {name.title(): value for name, value in request.headers.items()}
        return _as_response(self._run(**given))

    def schema(self) -> Optional[Dict[str, Any]]:
        return schemas.schema_of(self._run)

    def _as_text(self, request: Request) -> Dict[str, Any]:
        text = request.text() if request.method == "POST" else json.dumps(_of_query(request.query))
        return {self._names[0]: text}

    def _by_name(self, request: Request) -> Dict[str, Any]:
        said = request.json() if request.method == "POST" else _of_query(request.query)
        if not isinstance(said, dict):
            raise Refused("The request's body is no JSON object with %s." % _listed(self._names))
        given = {}
        for name in self._names:
            value = said.get(name, self._parameters[name].default)
            if value is _EMPTY:
                raise Refused("The request gives no value for %r; it takes %s." % (name, _listed(self._names)))
            given[name] = value
        return given


def _parameters(run: Callable[..., Any]) -> Dict[str, inspect.Parameter]:
    found = inspect.signature(run).parameters
    for parameter in found.values():
        if parameter.kind not in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise TypeError("run() cannot take *args, **kwargs or positional-only parameters, such as %s." % parameter)
    return dict(found)


def _of_query(query: str) -> Dict[str, Any]:
    """`a=1&b=x&b=y` as {"a": 1, "b": ["x", "y"]}: values are JSON where they can be."""
    read = {name: [_value(text) for text in texts] for name, texts in parse_qs(query, keep_blank_values=True).items()}
    return {name: values[0] if len(values) == 1 else values for name, values in read.items()}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _as_response(value: Any) -> Any:
    """An AMLResponse, or a Flask response if the script uses Flask, as ours; any other value unchanged."""
    if isinstance(value, Response) or not (hasattr(value, "status_code") and hasattr(value, "get_data")):
        return value
    headers = {str(name).lower(): str(text) for name, text in value.headers.items()}
    headers.setdefault("content-type", JSON)
    if int(value.status_code) >= 500:
        headers["x-ms-run-function-failed"] = "true"
    return Response(value.get_data(), int(value.status_code), headers)


def _listed(names: List[str]) -> str:
    return ", ".join(map(repr, names))
