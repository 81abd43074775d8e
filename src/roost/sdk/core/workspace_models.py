"""The part of `Workspace` that is about models."""

from typing import TYPE_CHECKING

from roost.sdk import late

if TYPE_CHECKING:
    from roost.sdk.connection.connections import Connection
    from roost.sdk.models.models import Model
    from roost.transport.models import Models


class ModelsOfWorkspace:
    _connection: "Connection"

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def models(self) -> "dict[str, Model]":
        """The newest version of each registered model, by name."""
        found = late.Model.list(self, latest=True)
        return {model.name: model for model in sorted(found, key=lambda each: each.name)}

    def _model_link(self) -> "Models":
        return late.ModelCalls(self._connection, self.name)
