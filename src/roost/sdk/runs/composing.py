"""Makes a Submission from a ScriptRunConfig: snapshot of its folder, git state, labels. The caller sends it.

`Experiment.submit` uses its connection's blobs, `Run.submit_child` inside a job those of the agent's door.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roost.domain import names
from roost.domain.errors import InvalidInput
from roost.domain.runs import Submission
from roost.sdk.runs import git, snapshots
from roost.sdk.runs.submissions import ScriptRunConfig

Tags = Mapping[str, str | None]
SNAPSHOT_PROPERTY = "ContentSnapshotId"


class DoorBlobs:
    """Stores a snapshot's files from inside a job: the agent reads them by path."""

    def __init__(self, link: Any) -> None:
        self._link = link

    def put(self, data: bytes) -> str:
        with tempfile.NamedTemporaryFile(prefix="roost-") as file:
            file.write(data)
            file.flush()
            return self.carry([Path(file.name)])[0][0]

    def carry(self, paths: Sequence[Path]) -> list[tuple[str, int]]:
        carried = self._link.ask("carry", paths=[str(path.absolute()) for path in paths])
        return [(str(name), int(size)) for name, size in carried]

    def has(self, name: str) -> bool:
        return bool(self._link.ask("has", name=name))


def compose(
    experiment: str, config: object, tags: Tags | None, blobs: snapshots.Blobs, home: Path, **more: object
) -> Submission:
    """Reports every error before the first byte is sent."""
    if not isinstance(config, ScriptRunConfig):
        raise InvalidInput(f"Roost can submit a ScriptRunConfig, got {type(config).__name__}.")
    display_name = text("display_name", more.pop("display_name", None))
    description = text("description", more.pop("description", None))
    if more:
        raise InvalidInput(f"submit() has no parameter {', '.join(map(repr, more))}.")
    labels = tags_of(tags)
    script = config.check()
    with git.look(config.source_directory) as state:
        snapshot = snapshots.take(config.source_directory, blobs, home, needs=script)
        properties = state.properties()
    return Submission(
        id=names.new_run_id(experiment, time.time()),
        experiment=experiment,
        spec=config.spec(snapshot),
        display_name=display_name,
        description=description,
        tags=labels,
        properties={**properties, SNAPSHOT_PROPERTY: snapshot},
    )


def text(what: str, given: object) -> str:
    if given is not None and not isinstance(given, str):
        raise InvalidInput(f"{what} must be text, got {type(given).__name__}.")
    return given or ""


def tags_of(tags: Tags | None) -> dict[str, str | None]:
    if tags is None:
        return {}
    if not isinstance(tags, Mapping):
        raise InvalidInput(f"tags must be a dict, got {type(tags).__name__}.", hint="tags={'model': 'resnet'}")
    return {str(key): None if value is None else str(value) for key, value in tags.items()}
