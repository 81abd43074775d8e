"""Tab in a shell, as the parser answers it. It starts no control plane and never complains; the ids of runs: `inputs/runs.py`."""

from typer.completion import completion_init  # type: ignore[attr-defined]

VARIABLE = "_ROOST_COMPLETE"
"""Set by the shell when it asks what may follow."""


def begin() -> None:
    """Makes the shells known to the parser."""
    completion_init()
