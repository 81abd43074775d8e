"""Datasets as a script in a job uses them: `run.input_datasets['training']`. `dataset_factory.py` makes and finds them.

The agent returns paths of this node; `frames` reads tables. A dataset never changes: each step returns a new one.
"""

import datetime
import os
import random
from typing import Any, Dict, Iterator, List, Mapping, NoReturn, Optional, Sequence, Tuple, Type, TypeVar, Union

from roost_job import outside
from roost_job.data import dataset_types, frames
from roost_job.exceptions import UserErrorException

D = TypeVar("D", bound="JobDataset")


class JobDataset(object):
    """The common part of file and tabular datasets. `record` is that of the registered dataset, None when it is not
    registered."""

    def __init__(self, link: Any, definition: Mapping[str, Any], record: Optional[Mapping[str, Any]] = None) -> None:
        self._link = link
        self._definition = dict(definition)
        self._record = dict(record or {})

    @property
    def id(self) -> Optional[str]:
        """None when it is not registered, or was changed since."""
        return self._record.get("id")

    @property
    def name(self) -> Optional[str]:
        """None when it is not registered."""
        name: str = self._record.get("name") or ""
        return None if not name or dataset_types.is_saved(name) else name

    @property
    def version(self) -> Optional[int]:
        return self._record.get("version") if self.name else None

    @property
    def description(self) -> Optional[str]:
        return self._record.get("description")

    @property
    def tags(self) -> Dict[str, str]:
        return dict(self._record.get("tags") or {})

    def take(self: D, count: int) -> D:
        """The first `count` items."""
        return self._with(op="take", count=_count(count))

    def skip(self: D, count: int) -> D:
        """All but the first `count` items."""
        return self._with(op="skip", count=_count(count))

    def random_split(self: D, percentage: float, seed: Optional[int] = None) -> Tuple[D, D]:
        """Two datasets without common items that together are this one."""
        step = {"op": "split", "percentage": _share("percentage", percentage), "seed": _seed(seed)}
        return self._with(part=0, **step), self._with(part=1, **step)

    def register(
        self: D,
        workspace: Any,
        name: str,
        description: Optional[str] = None,
        tags: Optional[Mapping[str, str]] = None,
        create_new_version: bool = False,
    ) -> D:
        """Registers it under a name, for everybody in the workspace. The same definition again is the same version; another one
        is a new version with `create_new_version`, and a UserErrorException otherwise."""
        if tags is not None and not isinstance(tags, Mapping):
            raise UserErrorException("tags must be a dict, got %s." % type(tags).__name__, hint="tags={'year': '2020'}")
        link = link_of(workspace)
        record = link.ask(
            "dataset_register",
            definition=self._definition,
            name=name,
            description=description or "",
            tags={str(key): str(value) for key, value in (tags or {}).items()},
            create_new_version=bool(create_new_version),
        )
        return type(self)(link, record["definition"], record)

    def _saved(self: D, workspace: Any) -> D:
        """The dataset itself when it is registered; else saves it without a name, so that its id can be referred to."""
        if self.id:
            return self
        return self.register(workspace, dataset_types.saved_name(self._definition), create_new_version=True)

    def __getattr__(self, name: str) -> NoReturn:
        outside.refuse(type(self).__name__, name, outside.DATASET, dir(type(self)))

    def _with(self: D, **step: Any) -> D:
        steps = list(self._definition.get("steps") or ()) + [step]
        return type(self)(self._link, dict(self._definition, steps=steps))

    def __repr__(self) -> str:
        return "%s(name=%r, version=%r)" % (type(self).__name__, self.name, self.version)


AbstractDataset = JobDataset
"""As the SDK calls it."""


class FileDataset(JobDataset):
    """Files in any place."""

    def to_path(self) -> List[str]:
        """The path of each file in the dataset's folder, with a leading slash."""
        return ["/%s" % name for name, _ in self._link.ask("dataset_items", definition=self._definition)]

    def download(
        self, target_path: Optional[str] = None, overwrite: bool = False, ignore_not_found: bool = False
    ) -> List[str]:
        """Downloads the files into a folder; returns their paths."""
        if target_path is None:
            import tempfile  # only without a target folder

            target_path = tempfile.mkdtemp(prefix="roost-data-")
        folder = os.path.abspath(os.path.expanduser(target_path))
        asked = {"definition": self._definition, "path": folder, "overwrite": bool(overwrite)}
        found: List[str] = self._link.ask("dataset_download", **asked)
        if not found and not ignore_not_found:
            raise UserErrorException(
                "The dataset has no files now at %s." % frames.whereabouts(self._definition),
                hint="Look at its path or pattern; give ignore_not_found=True when that is all right.",
            )
        return found

    def mount(self, mount_point: Optional[str] = None, **kwargs: Any) -> "JobMount":  # noqa: ARG002
        """The files as a folder: `with dataset.mount() as place: os.listdir(place.mount_point)`."""
        return JobMount(self._link, self._definition, mount_point and os.path.abspath(mount_point))


class JobMount(object):
    """A dataset's files as a folder, from `start` to `stop`; `with` does both."""

    def __init__(self, link: Any, definition: Mapping[str, Any], mount_point: Optional[str]) -> None:
        self._link = link
        self._definition = definition
        self._wanted = mount_point
        self._folder = ""

    @property
    def mount_point(self) -> str:
        self.start()
        return self._folder

    def start(self) -> None:
        if not self._folder:
            self._folder = str(self._link.ask("dataset_mount", definition=self._definition, path=self._wanted))

    def stop(self) -> None:
        if self._folder:
            self._link.ask("dataset_unmount", path=self._folder)
            self._folder = ""

    def __enter__(self) -> "JobMount":
        self.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.stop()


class TabularDataset(JobDataset):
    """A table."""

    def __getitem__(self, name: str) -> NoReturn:
        outside.refuse(type(self).__name__, "filter", outside.DATASET)

    def to_pandas_dataframe(
        self,
        on_error: str = "null",
        out_of_range_datetime: str = "null",
    ) -> Any:
        """The whole table, in pandas. Its files stay in the node's cache for later reads. When its first rows are enough, files
        are fetched one after another until these are read. A value that does not fit the type of its column becomes empty, or an
        error with `on_error='fail'`; so does a time that pandas cannot hold, with `out_of_range_datetime='fail'`."""
        fails = dataset_types.failing(on_error=on_error, out_of_range_datetime=out_of_range_datetime)
        if frames.needs_all(self._definition):
            return frames.read(self._definition, self._files(), *fails)
        items = self._link.ask("dataset_items", definition=self._definition)
        coming = frames.FilesOnDemand(items, lambda some: self._files(names=[name for name, _ in some]))
        return frames.read(self._definition, coming, *fails)

    def _files(self, **which: Any) -> Any:
        return self._link.ask("dataset_files", definition=self._definition, **which)

    def keep_columns(self, columns: Union[str, Sequence[str]], validate: bool = False) -> "TabularDataset":  # noqa: ARG002
        return self._with(op="keep_columns", columns=_texts(columns))

    def drop_columns(self, columns: Union[str, Sequence[str]]) -> "TabularDataset":
        return self._with(op="drop_columns", columns=_texts(columns))

    def take_sample(self, probability: float, seed: Optional[int] = None) -> "TabularDataset":
        """About this share of the rows, the same each time."""
        return self._with(op="sample", probability=_share("probability", probability), seed=_seed(seed))

    def with_timestamp_columns(
        self,
        timestamp: Optional[str] = None,
        partition_timestamp: Optional[str] = None,
        validate: bool = False,  # noqa: ARG002 - the SDK's signature, here and below: what is not there is seen when it is read
        **kwargs: Any,
    ) -> "TabularDataset":
        """Sets the columns that hold its times."""
        fine = timestamp or kwargs.pop("fine_grain_timestamp", None)
        coarse = partition_timestamp or kwargs.pop("coarse_grain_timestamp", None)
        if kwargs:
            raise UserErrorException(
                "%s are not known." % sorted(kwargs), hint="timestamp= and partition_timestamp= are."
            )
        return self._with(op="timestamps", fine=fine, coarse=coarse)

    def time_before(self, end_time: Any, include_boundary: bool = True, validate: bool = True) -> "TabularDataset":  # noqa: ARG002
        return self._with(op="time_before", time=_time(end_time), inclusive=bool(include_boundary))

    def time_after(self, start_time: Any, include_boundary: bool = True, validate: bool = True) -> "TabularDataset":  # noqa: ARG002
        return self._with(op="time_after", time=_time(start_time), inclusive=bool(include_boundary))

    def time_between(
        self,
        start_time: Any,
        end_time: Any,
        include_boundary: bool = True,
        validate: bool = True,  # noqa: ARG002
    ) -> "TabularDataset":
        given = {"start": _time(start_time), "end": _time(end_time)}
        return self._with(op="time_between", inclusive=bool(include_boundary), **given)

    def time_recent(self, time_delta: Any, include_boundary: bool = True, validate: bool = True) -> "TabularDataset":  # noqa: ARG002
        """The last period of time, counted back from this call."""
        if not isinstance(time_delta, datetime.timedelta) or time_delta < datetime.timedelta(0):
            raise UserErrorException("time_delta must be a timedelta that is not negative, got %r." % (time_delta,))
        return self.time_after(datetime.datetime.now(datetime.timezone.utc) - time_delta, include_boundary)


def make(link: Any, definition: Mapping[str, Any], record: Optional[Mapping[str, Any]] = None) -> Any:
    """The dataset of a definition, in the class of its kind."""
    kind: Type[JobDataset] = TabularDataset if definition.get("kind") == "tabular" else FileDataset
    return kind(link, definition, record)


class JobDatasets(Mapping[str, Any]):
    """`workspace.datasets`: the newest version of each registered one, by name."""

    def __init__(self, link: Any) -> None:
        self._link = link

    def __getitem__(self, name: str) -> Any:
        if name not in self._names():
            raise KeyError(name)
        record = self._link.ask("dataset", name=name)
        return make(self._link, record["definition"], record)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def _names(self) -> List[str]:
        found: List[str] = self._link.ask("dataset_names")
        return found


def link_of(workspace: Any) -> Any:
    link = getattr(workspace, "_data_link", None)
    if link is None:
        raise UserErrorException(
            "workspace must be the one of the job's run, got %s." % type(workspace).__name__,
            hint="Run.get_context().experiment.workspace",
        )
    return link()


def _count(count: Any) -> int:
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise UserErrorException("count must be a whole number from 0 on, got %r." % (count,))
    return count


def _share(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise UserErrorException("%s must be from 0 to 1, got %r." % (name, value))
    return float(value)


def _seed(seed: Optional[int]) -> int:
    """A seed that is chosen now: both parts of a split, and every read, use the same one."""
    return random.randrange(2**31) if seed is None else int(seed)  # noqa: S311 - a sample, not a secret


def _texts(columns: Any) -> List[str]:
    given = [columns] if isinstance(columns, str) else list(columns)
    if not all(isinstance(each, str) for each in given):
        raise UserErrorException("Columns are a name or a list of names, got %.200r." % (columns,))
    return given


def _time(value: Any) -> str:
    """The stored form of a time: in UTC when it has a time zone."""
    if not hasattr(value, "isoformat"):
        raise UserErrorException("A time must be a datetime, got %s." % type(value).__name__)
    return str(value.isoformat())
