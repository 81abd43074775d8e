"""The part of `Workspace` that is about models."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roost.sdk.connections import Connection
    from roost.sdk.models import Model
    from roost.transport.models import Models


class ModelsOfWorkspace:
    _connection: "Connection"

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def models(self) -> "dict[str, Model]":
        """The newest version of each registered model, by name."""
        from roost.sdk.models import Model  # noqa: PLC0415 - loaded by those who use models

        found = Model.list(self, latest=True)
        return {model.name: model for model in sorted(found, key=lambda each: each.name)}

    def _model_link(self) -> "Models":
        from roost.sdk.models import ModelDesk  # noqa: PLC0415 - as above

        return ModelDesk(self._connection, self.name)
