"""Who asks. A user may do what their workspace allows; a run's token reaches that run and its children only."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from roost.domain.errors import Forbidden


class TokenKind(StrEnum):
    """How a token comes to us; it counts in no other way."""

    KEY = "key"
    """In the Authorization header, from a program."""
    CODE = "code"
    """In a link that is opened once, for a session."""
    SESSION = "session"
    """In a browser's cookie."""


@dataclass(frozen=True, kw_only=True)
class Caller:
    user: str
    run_id: str = ""
    """Set when the token is a run's; empty for a person's."""
    by_browser: bool = False
    """Asked with a session's cookie, by a page."""

    @property
    def is_run(self) -> bool:
        return bool(self.run_id)

    def require_person(self) -> None:
        if self.is_run:
            raise Forbidden(f"The token of run {self.run_id} may not do this.", hint="Use a person's token.")

    def require_program(self, deed: str) -> None:
        """Not a browser: what it holds, a page may come to hold. Said again by those who hand out secrets; which routes a session
        may use at all is a table of the API's."""
        if self.by_browser:
            raise Forbidden(f"A browser's session may not {deed}.", hint="Do it with the SDK or the `roost` command.")

    def require_run(self, run_id: str, above: Sequence[str] = ()) -> None:
        """A person, or the token of this run or of one of those above it."""
        if self.is_run and self.run_id != run_id and self.run_id not in above:
            raise Forbidden(f"The token of run {self.run_id} does not reach run {run_id}.")


@dataclass(frozen=True, kw_only=True)
class Token:
    """What is stored of a token: never the token itself."""

    digest: str
    """SHA-256 of the token, hexadecimal."""
    user: str
    run_id: str
    created_at: float
    expires_at: float | None
    kind: TokenKind = TokenKind.KEY
