"""Who asks. A user may do what their workspace allows; a run's token reaches that run and its children only."""

from dataclasses import dataclass

from roost.domain.errors import Forbidden


@dataclass(frozen=True, kw_only=True)
class Caller:
    user: str
    run_id: str = ""
    """Set when the token is a run's; empty for a person's."""

    @property
    def is_run(self) -> bool:
        return bool(self.run_id)

    def require_person(self) -> None:
        if self.is_run:
            raise Forbidden(f"The token of run {self.run_id} may not do this.", hint="Use a person's token.")

    def require_run(self, run_id: str) -> None:
        """A person, or the token of exactly this run."""
        if self.is_run and self.run_id != run_id:
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
