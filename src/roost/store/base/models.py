"""Registered models. The promises that hold for every noun are in `base/__init__.py`."""

from collections.abc import Callable, Sequence
from typing import Protocol

from roost.domain.models import Model


class Models(Protocol):
    """Registered versions by (workspace, name, version), and which run requested which."""

    def register(self, model: Model, key: str) -> tuple[Model, bool]:
        """Returns the model with its version, one more than the highest ever given under its name, and True when it is new:
        the same key again is the same version. Two concurrent calls get different versions."""

    def get(self, workspace: str, name: str, version: int | None = None) -> Model:
        """The newest existing version by default."""

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
        """Replaces the model by the result of `decide`; when that raises, nothing changes."""

    def delete(self, workspace: str, name: str, version: int) -> bool:
        """True when it existed."""

    def note_use(self, run_id: str, model_id: str, at: float) -> None:
        """Records that the run requested that model. Safe to call twice."""

    def used_by_run(self, run_id: str) -> Sequence[str]:
        """Ids of models, in the order of the run's requests."""

    def users(self, workspace: str, model_id: str, limit: int) -> Sequence[str]:
        """Ids of the runs that requested it, newest first."""
