"""Tokens. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Sequence
from typing import Protocol

from roost.domain.people import Token, TokenKind


class People(Protocol):
    def add_token(self, token: Token) -> None: ...
    def find_token(self, digest: str) -> Token | None: ...
    def take_token(self, digest: str) -> Token | None:
        """Finds and deletes it: of two concurrent callers, only one gets it."""

    def forget_expired(self, kinds: Sequence[TokenKind], at: float) -> None:
        """Deletes tokens of these kinds that expired before `at`."""

    def expire_run_tokens(self, run_id: str, at: float) -> None:
        """Sets the expiry of a run's tokens to `at`."""
