"""The agents of runs that have several nodes. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from roost.domain.gangs import Member


@dataclass(frozen=True, kw_only=True)
class Command:
    """What one agent of a gang asks another to execute."""

    number: int
    node_rank: int
    """Where."""
    argv: tuple[str, ...]
    exit_code: int | None = None
    """Once it has ended."""


class Gangs(Protocol):
    """The agents of runs that have several nodes; the members of a run are made by the claim that gives it its nodes."""

    def members(self, run_id: str) -> Sequence[Member]:
        """By rank; none for a run of one node, or one that has no nodes now."""

    def update(self, run_id: str, node_rank: int, *, attempt: int = 0, **changes: object) -> Sequence[Member]:
        """Fields of one member as given; all of them afterwards. How a member ended is written once: another end changes
        nothing. NotFound when the run has no such member; with an attempt, Conflict when it is at another one."""

    def send(self, run_id: str, node_rank: int, argv: Sequence[str], *, key: str = "", attempt: int = 0) -> int:
        """Keeps a command for a member, until the run loses its nodes; its number. Sent again with the same key it is the same
        command. With an attempt, Conflict when the run is at another one."""

    def commands(self, run_id: str, after: int = 0) -> Sequence[Command]:
        """Those with a larger number, of all members."""

    def end_command(self, run_id: str, number: int, exit_code: int) -> None: ...
