"""Registered models. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Callable, Sequence
from typing import Protocol

from roost.domain.models import Model


class Models(Protocol):
    """Registered versions by (workspace, name, version), and which run asked for which."""

    def register(self, model: Model, key: str) -> tuple[Model, bool]:
        """With the version that it gets, one more than the last that was ever given under its name, and whether it is new: the
        same key again is the same version. Of two at once, each gets its own."""

    def get(self, workspace: str, name: str, version: int | None = None) -> Model:
        """The newest version that is there when none is named."""

    def list(
        self,
        workspace: str,
        *,
        name: str | None = None,
        run_id: str | None = None,
        framework: str | None = None,
        latest: bool = False,
    ) -> Sequence[Model]:
        """Newest first; with `latest` only the newest version of each name."""

    def change(self, workspace: str, name: str, version: int, decide: Callable[[Model], Model]) -> Model:
        """As `decide` makes it of the one that is there; what that raises changes nothing."""

    def delete(self, workspace: str, name: str, version: int) -> bool:
        """Whether it was there."""

    def note_use(self, run_id: str, model_id: str, at: float) -> None:
        """The run asked for that model. Safe twice."""

    def used_by_run(self, run_id: str) -> Sequence[str]:
        """Ids of models, in the order in which it asked for them."""

    def users(self, workspace: str, model_id: str, limit: int) -> Sequence[str]:
        """Ids of the runs that asked for it, newest first."""
