"""Roost: train where you are. The public names, each exported on purpose and loaded when it is first used."""

from importlib import import_module

from roost import version

TYPE_CHECKING = False  # type checkers know the name; importing it from `typing` would cost more than all the rest here
if TYPE_CHECKING:
    from roost.domain import errors
    from roost.sdk.experiments import Experiment
    from roost.sdk.runs import Run
    from roost.sdk.submissions import ScriptRunConfig
    from roost.sdk.workspaces import Workspace

__version__ = version.VERSION
__all__ = ["Experiment", "Run", "ScriptRunConfig", "Workspace", "__version__", "errors"]

_HOMES = {
    "Experiment": "roost.sdk.experiments",
    "Run": "roost.sdk.runs",
    "ScriptRunConfig": "roost.sdk.submissions",
    "Workspace": "roost.sdk.workspaces",
}


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module("roost.domain.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'roost' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
