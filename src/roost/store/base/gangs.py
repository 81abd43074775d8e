"""The agents of runs on several nodes. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from roost.domain.gangs import Member


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command that one agent of a gang sends to another."""

    number: int
    node_rank: int
    """The node that executes it."""
    argv: tuple[str, ...]
    exit_code: int | None = None
    """Set when it has ended."""


class Gangs(Protocol):
    """The agents of runs on several nodes; the claim that gives a run its nodes creates its members."""

    def members(self, run_id: str) -> Sequence[Member]:
        """By rank; empty for a run of one node, or one without nodes now."""

    def update(self, run_id: str, node_rank: int, *, attempt: int = 0, **changes: object) -> Sequence[Member]:
        """Sets fields of one member; returns all members. A member's end is written once: a second end changes nothing.
        Raises NotFound when the run has no such member; with an attempt, Conflict when the run is at another one."""

    def send(self, run_id: str, node_rank: int, argv: Sequence[str], *, key: str = "", attempt: int = 0) -> int:
        """Stores a command for a member until the run loses its nodes; returns its number. The same key again is the same
        command. With an attempt, raises Conflict when the run is at another one."""

    def commands(self, run_id: str, after: int = 0) -> Sequence[Command]:
        """The commands with a larger number, of all members."""

    def end_command(self, run_id: str, number: int, exit_code: int) -> None: ...
