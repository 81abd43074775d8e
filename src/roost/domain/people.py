"""Callers and their tokens. The table of `permissions.py` has the actions that a caller may do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from roost.domain.errors import Forbidden
from roost.domain.permissions import Action, Role, may


class TokenKind(StrEnum):
    """How a token is sent; the kind has no other meaning."""

    KEY = "key"
    """In the Authorization header, from a program."""
    CODE = "code"
    """In a link that is opened once, for a session."""
    SESSION = "session"
    """In a browser's cookie."""


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The user for whom a deed is done, and the role. Every deed of `services/` takes one."""

    user: str
    role: Role
    run_id: str = ""
    """The run of the token, for the role RUN; empty for all others."""

    def __post_init__(self) -> None:
        if (self.role is Role.RUN) != bool(self.run_id):
            raise ValueError(f"A caller with the role {self.role.value} has the run {self.run_id!r}.")

    @property
    def is_run(self) -> bool:
        return self.role is Role.RUN

    def require(self, action: Action) -> None:
        """Raises Forbidden unless the caller's role may do this."""
        if not may(self.role, action):
            name, hint = _REFUSED[self.role]
            name = name.format(run_id=self.run_id)
            raise Forbidden(f"{name} may not do this: it has no permission {action.value!r}.", hint=hint)

    def require_run(self, run_id: str, above: Sequence[str] = ()) -> None:
        """Raises Forbidden for the token of a run that is neither this one nor above it."""
        if self.is_run and self.run_id != run_id and self.run_id not in above:
            raise Forbidden(f"The token of run {self.run_id} does not reach run {run_id}.")


SYSTEM = Caller(user="system", role=Role.SYSTEM)
"""The control plane's own loops."""

_REFUSED: Mapping[Role, tuple[str, str]] = {
    Role.ANYONE: ("A request without a token", "Send `Authorization: Bearer TOKEN`."),
    Role.PERSON: ("A person", ""),
    Role.BROWSER: ("A browser's session", "Do it with the SDK or the `roost` command."),
    Role.RUN: ("The token of run {run_id}", "Use a person's token."),
    Role.SYSTEM: ("The control plane itself", ""),
}
"""By role: its name in a refusal, and the next step."""


@dataclass(frozen=True, kw_only=True)
class Token:
    """The stored facts of a token: never the token itself."""

    digest: str
    """SHA-256 of the token, hexadecimal."""
    user: str
    run_id: str
    created_at: float
    expires_at: float | None
    kind: TokenKind = TokenKind.KEY
