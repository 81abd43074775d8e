"""The files of a dataset outside of runs: listed, downloaded, mounted, read into a frame."""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roost.data.steps import whole
from roost.domain import codec
from roost.domain.datasets import Definition, of_pattern, whereabouts
from roost.domain.datastores import Item
from roost.domain.errors import Conflict, DataNotFound, NotFound
from roost.sdk import late
from roost.sdk.connection.connections import Connection, connect
from roost.sdk.core import upload_messages
from roost.sdk.data.partitioning import typed
from roost.transport.client import path_of
from roost_job.data import partitions

if TYPE_CHECKING:
    from roost.data.cache import Cache
    from roost.data.mounting import Mount
    from roost.sdk.data.datasets import AbstractDataset


def listing(dataset: "AbstractDataset") -> list[Item]:
    """Its current files, after its steps on files."""
    with _cache(dataset) as cache:
        return late.resolving.resolve(dataset._definition, lambda definition: _asked(dataset, definition), cache=cache)


def download(
    dataset: "AbstractDataset",
    root: Path,
    overwrite: bool,
    ignore_not_found: bool,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Path]:
    """Downloads the files into a folder; `progress` receives (bytes so far, bytes in all)."""
    items = listing(dataset)
    if not items and not ignore_not_found:
        told = of_pattern(dataset._definition)
        raise NotFound(
            f"The dataset has no files now at {whereabouts(dataset._definition)}.",
            hint=told + "Look at its path or pattern; give ignore_not_found=True when that is all right.",
            cli_hint=told + "Look at its path or pattern: roost data show NAME",
        )
    there = [item for item in items if (root / item.name).exists()]
    if there and not overwrite:
        raise Conflict(
            f"{root / there[0].name} is there already{_and_more(len(there) - 1)}.",
            hint="Give overwrite=True to replace them, or another folder.",
            cli_hint="Give --overwrite to replace them, or another folder.",
        )
    locate, again = _connection(dataset)._locate, lambda: listing(dataset)
    return late.fetching.fetch(items, None, root, progress, locate=locate, again=again, say=upload_messages.once)


def mounted(dataset: "AbstractDataset", mount_point: str | None) -> "Mount":
    target = Path(os.path.abspath(os.path.expanduser(mount_point))) if mount_point else None

    cache = _cache(dataset)
    made = late.mounting.mount(
        listing(dataset),
        target,
        cache,
        locate=_connection(dataset)._locate,
        again=lambda: listing(dataset),
        tell=upload_messages.once,
    )
    made.at_end.append(cache.close)
    made.at_change = _warn
    return made


def _warn(what: str, why: str) -> None:
    warnings.warn(f"{what} while the dataset was mounted: {why}; download() gives copies.", UserWarning, stacklevel=3)


def frame(dataset: "AbstractDataset", *, strict: bool = False, bounded: bool = False) -> Any:
    """The table in pandas; `strict` refuses values that do not fit their column's type, `bounded` times that pandas cannot
    hold. When the first rows are enough, files are downloaded one by one until those are complete."""
    items, definition = listing(dataset), codec.encode(dataset._definition)
    with _cache(dataset) as cache:

        def bring(some: Sequence[Item]) -> list[tuple[str, str, str]]:
            paths = late.fetching.fetch(
                some, cache, locate=_connection(dataset)._locate, again=lambda: listing(dataset)
            )
            return [(item.name, str(path), whole(item)) for item, path in zip(some, paths, strict=True)]

        files = bring(items) if late.frames.needs_all(definition) else late.frames.FilesOnDemand(items, bring)
        return late.frames.read(definition, files, strict, bounded)


def partition_values(dataset: "AbstractDataset", item: Item) -> Mapping[str, Any]:
    found: Mapping[str, Any] | None = partitions.reader(dataset._definition.partition_format)(whole(item))
    if found is None:
        raise Conflict(f"{item.name} does not fit the partition format {dataset._definition.partition_format!r}.")
    types = dataset._definition.format.get("column_types") or {}
    return {key: typed(value, types.get(key)) for key, value in found.items()}


def _connection(dataset: "AbstractDataset") -> Connection:
    return dataset._workspace._connection if dataset._workspace is not None else connect()


def _cache(dataset: "AbstractDataset") -> "Cache":
    return late.Cache.of_node(_connection(dataset).home)


def _asked(dataset: "AbstractDataset", definition: Definition) -> Mapping[str, Sequence[Any]]:
    """The control plane's answer; no request is made when the dataset has no data of its datastores."""
    if not any(source.datastore for source in definition.sources) or dataset._workspace is None:
        return {"items": [], "urls": list(range(len(definition.sources)))}
    connection = dataset._workspace._connection
    body = {"definition": codec.encode(definition), "shared": connection.bytes.shared is not None}
    route = path_of("workspaces", dataset._workspace.name, "datasets", "items")
    try:
        answer: Mapping[str, Sequence[Any]] = connection.client.call("POST", route, json=body)
    except DataNotFound as error:
        if not dataset.name:
            raise
        hint = "Register the datastore again under that name."
        raise DataNotFound(f"Dataset {dataset.name!r} cannot be read: {error.message}", hint=hint) from None
    upload_messages.once(str(answer.get("left_out") or ""))
    return answer


def _and_more(count: int) -> str:
    return "" if not count else ", and so is 1 other" if count == 1 else f", and so are {count} others"
