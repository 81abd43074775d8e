"""`Model` outside of jobs: the job library's Model (`roost_job.models.models`) with its run, datasets and domain record."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.domain import codec
from roost.domain import models as domain
from roost.domain.errors import DataNotFound, NotFound
from roost.sdk import late
from roost.sdk.core import upload_messages
from roost.sdk.services.deploying import DeployingOfModel
from roost.transport.models import Models
from roost_job.context import JobWorkspace
from roost_job.models import models as job
from roost_job.models.model_settings import Framework, ResourceConfiguration

if TYPE_CHECKING:
    from roost.sdk.connection.connections import Connection
    from roost.sdk.data.datasets import FileDataset
    from roost.sdk.data.tabular_datasets import TabularDataset
    from roost.sdk.runs.runs import Run

__all__ = ["Framework", "Model", "ResourceConfiguration"]


class Model(DeployingOfModel, job.Model):
    """A registered model."""

    @property
    def _record(self) -> domain.Model:
        return codec.decode(domain.Model, self._facts)

    @property
    def run(self) -> "Run | None":
        """The run that made it; None when there was none or it was deleted."""
        found: late.Run | None = None
        if self.run_id is not None and isinstance(self._workspace, JobWorkspace):
            found = super().run
        elif self.run_id is not None:
            with contextlib.suppress(NotFound):
                found = late.Run.get(self._workspace, self.run_id)
        return found

    def _dataset(self, dataset_id: str | None) -> "FileDataset | TabularDataset | None":
        if not dataset_id:
            return None
        try:
            return late.Dataset.get_by_id(self._workspace, dataset_id)
        except DataNotFound:
            return None

    def to_onnx(
        self, sample_input: object = None, opset: int | None = None, name: str | None = None, show_output: bool = False
    ) -> "Model":
        """The same model as ONNX, registered as made from this one: a run in its environment exports it and checks that ONNX
        Runtime gives the same numbers for `sample_input` (an array, a frame, nested lists, or several by name)."""
        return late.onnx_exports.export(self, sample_input, opset, name, show_output)

    @staticmethod
    def print_configuration(
        models: Sequence[Any],
        inference_config: Any = None,
        deployment_config: Any = None,
        deployment_target: Any = None,
    ) -> None:
        """Prints what would be deployed: the models and the configurations."""
        said = {
            "models": [getattr(model, "id", model) for model in models],
            "inference_config": _plain(inference_config),
            "deployment_config": _plain(deployment_config),
            "deployment_target": getattr(deployment_target, "name", deployment_target),
        }
        print(json.dumps(said, indent=4, default=str))


def _plain(config: Any) -> Any:
    if config is None or isinstance(config, str | int | float | bool):
        return config
    if isinstance(config, Mapping):
        return {str(key): _plain(value) for key, value in config.items()}
    if isinstance(config, list | tuple):
        return [_plain(each) for each in config]
    if hasattr(config, "__dict__"):
        hidden = {each.name for each in fields(config) if not each.repr} if is_dataclass(config) else set()
        shown = {key: value for key, value in vars(config).items() if key not in hidden and not key.startswith("_")}
        return {key: _plain(value) for key, value in shown.items()}
    return str(config)


class ModelCalls(Models):
    """Shows the progress of a large model on a terminal or in a notebook."""

    def __init__(self, connection: "Connection", workspace: str) -> None:
        super().__init__(lambda: connection.client, lambda: connection.bytes.carrier, workspace)

    def _carry(self, given: Sequence[Sequence[str]], model: str) -> str:
        sizes = [Path(path).stat().st_size for _, path in given]
        with upload_messages.Progress(len(sizes), sum(sizes), "Model") as progress:
            self._told = progress.step
            return super()._carry(given, model)
