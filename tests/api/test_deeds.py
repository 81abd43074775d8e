"""Every deed that a route calls takes the caller, and requires its action first."""

import ast
from collections.abc import Iterator
from pathlib import Path

import roost
from roost.domain.permissions import ALLOWED, Action

ROOMS = Path(roost.__file__).parent
NO_DEEDS = {
    "people.remembered": "finds out who calls",
    "people.caller": "finds out who calls",
    "people.begin_session": "the code that came is the proof",
    "scopes.require_run": "is a check",
    "scopes.require_workspace": "is a check",
    "stored_files.read": "reads from a place that `head` has opened for the caller",
    "stored_files.write": "writes to a place that `may_write` has opened for the caller",
    "runs.why": "explains a run that the caller has",
    "runs.missed": "the server noticed it, nobody asked for it",
}
"""Functions of `services/` that routes call and that need no caller, each with the reason."""


def _services() -> dict[str, ast.FunctionDef]:
    return {
        f"{path.stem}.{node.name}": node
        for path in (ROOMS / "services").glob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }


def _required(deed: ast.FunctionDef) -> Action | None:
    """The action of the line that a deed begins with; None when it begins with something else."""
    body = deed.body[1:] if ast.get_docstring(deed) else deed.body
    words = ast.unparse(body[0])
    start, end = "caller.require(Action.", ")"
    return Action[words[len(start) : -len(end)]] if words.startswith(start) and words.endswith(end) else None


def _used(tree: ast.AST, module: ast.Module) -> Iterator[str]:
    """Functions of `services/` that a piece of a module of the API names."""
    rooms = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.module == "roost.services"
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in rooms:
            yield f"{rooms[node.value.id]}.{node.attr}"


def _modules() -> list[ast.Module]:
    return [ast.parse(path.read_text()) for path in (ROOMS / "api").glob("*.py")]


def test_every_deed_takes_a_caller_and_requires_its_action() -> None:
    services = _services()
    used = {name for module in _modules() for name in _used(module, module)} & services.keys()
    deeds = used - NO_DEEDS.keys()
    assert len(deeds) > 100
    for name in deeds:
        assert [each.arg for each in services[name].args.args][:2] == ["context", "caller"], name
        assert _required(services[name]) is not None, f"{name} does not begin with caller.require(Action.…)"
    assert NO_DEEDS.keys() <= used, "the list names functions that no route calls"


def test_a_route_has_the_action_of_its_deed() -> None:
    """One of its deeds requires the route's own action; whoever may do that may do what its other deeds require."""
    services, checked = _services(), 0
    for module in _modules():
        for route in module.body:
            declared = _declared(route)
            if declared is None:
                continue
            deeds = {name for name in _used(route, module) if name in services and name not in NO_DEEDS}
            required = {action for name in deeds if (action := _required(services[name]))}
            where = (ast.unparse(route).partition("\n")[0], required)
            assert not required or declared in required, where
            for role, allowed in ALLOWED.items():
                assert declared not in allowed or required <= allowed, (role, where)
            checked += bool(required)
    assert checked > 100


def _declared(node: ast.stmt) -> Action | None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for each in node.decorator_list:
            if isinstance(each, ast.Call) and ast.unparse(each.func) == "router.route":
                return Action[ast.unparse(each.args[2]).removeprefix("Action.")]
    return None
