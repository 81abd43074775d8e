"""`roost doctor`: looks at everything that Roost leans on and says what is wrong and what to do. Starts and changes nothing."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict

import typer

from roost.cli import rendering
from roost.cli.inputs.parameters import AS_JSON
from roost.sdk.operations import checks
from roost.sdk.operations.checks import BAD, Check


def doctor(as_json: bool = AS_JSON) -> None:
    """Check versions, home, control plane, disk, clock, engine and packages. Exit code 1 when something is bad."""
    found = list(_all(checks.CHECKS))
    if as_json:
        rendering.as_json([asdict(each) for each in found])
    else:
        for each in found:
            mark = rendering.status(each.level)
            print(f"{mark}{' ' * (5 - len(each.level))}{each.name:14} {each.fact}")
            if each.hint:
                print(f"{'':20}hint: {each.hint}")
    if any(each.level == checks.BAD for each in found):
        raise typer.Exit(1)
    sys.stdout.flush()


def _all(every: tuple[Callable[[], Iterator[Check]], ...]) -> Iterator[Check]:
    """A check that fails by itself is a finding too."""
    for check in every:
        try:
            yield from check()
        except Exception as error:  # noqa: BLE001 the doctor must see all patients
            yield Check(check.__name__.strip("_"), BAD, f"This check failed: {type(error).__name__}: {error}")
