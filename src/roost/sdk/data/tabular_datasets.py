"""`TabularDataset`: files that are read as one table, with the environment's pandas."""

import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from roost.domain.datasets import DatasetKind, Definition, Source, checked_name
from roost.domain.errors import InvalidInput
from roost.sdk import late
from roost.sdk.core import absent
from roost.sdk.data import dataset_files, datastore_files
from roost.sdk.data.datasets import AbstractDataset, FileDataset, _seed
from roost.sdk.data.expressions import Expression, column, time
from roost.sdk.data.partitioning import partition_keys_of, write_parquet
from roost_job.data import datapaths, dataset_types
from roost_job.data.dataset_factory import MANAGED
from roost_job.exceptions import DatasetTimestampMissingError

if TYPE_CHECKING:
    from roost.sdk.core.workspaces import Workspace
    from roost.sdk.data.datastores import Datastore

T = TypeVar("T", bound="TabularDataset")


class TabularDataset(AbstractDataset):
    """A table: `Dataset.Tabular.from_delimited_files`. Its steps apply when it is read."""

    def __getitem__(self, name: str) -> Expression:
        """A column, to filter by: `table.filter(table['price'] > 10)`."""
        return column(name)

    def to_pandas_dataframe(
        self,
        on_error: str = "null",
        out_of_range_datetime: str = "null",
        file_handling_option: object = None,
        target_path: str | None = None,
        overwrite_download: bool = False,
    ) -> Any:
        """Reads the whole table into pandas. A value that does not fit its column's type becomes empty; with
        `on_error='fail'` it raises UserErrorException. So does a time that pandas cannot hold, with
        `out_of_range_datetime='fail'`. For labelled data, `file_handling_option` gets the files that its rows name."""
        strict, bounded = dataset_types.failing(on_error=on_error, out_of_range_datetime=out_of_range_datetime)
        frame = dataset_files.frame(self, strict=strict, bounded=bounded)
        if file_handling_option is None:
            return frame
        return late.labelled_datasets.with_files(
            self._home(), frame, file_handling_option, target_path, overwrite_download
        )

    # ---- steps

    def keep_columns(self: T, columns: str | Sequence[str], validate: bool = False) -> T:
        """Only these columns; `validate` reads the table's first row to check that they exist."""
        wanted = _columns(columns)
        if validate:
            self._require_columns(wanted)
        return self._with(op="keep_columns", columns=wanted)

    def drop_columns(self: T, columns: str | Sequence[str]) -> T:
        """All columns but these."""
        return self._with(op="drop_columns", columns=_columns(columns))

    def take_sample(self: T, probability: float, seed: int | None = None) -> T:
        """Selects each row with this probability; the same seed selects the same rows."""
        if not isinstance(probability, int | float) or not 0 <= probability <= 1:
            raise InvalidInput(f"probability must be from 0 to 1, got {probability!r}.")
        return self._with(op="sample", probability=float(probability), seed=_seed(seed))

    # ---- time

    @property
    def timestamp_columns(self) -> tuple[str | None, str | None]:
        """The columns with each row's time: the exact one, and that of its partition."""
        fine = coarse = None
        for step in self._definition.steps:
            if step["op"] == "timestamps":
                fine, coarse = step["fine"], step["coarse"]
            elif step["op"] in ("keep_columns", "drop_columns"):  # a dropped column no longer holds the time
                kept = step["op"] == "keep_columns"
                fine, coarse = (each if (each in step["columns"]) == kept else None for each in (fine, coarse))
        return fine, coarse

    def with_timestamp_columns(
        self: T,
        timestamp: str | None = None,
        partition_timestamp: str | None = None,
        validate: bool = False,
        **kwargs: str,
    ) -> T:
        """Sets the columns with each row's time, for `time_before` and the like; without arguments, unsets them. `validate`
        reads the table's first row to check that they exist and hold times; otherwise that is checked on read."""
        fine = timestamp or kwargs.pop("fine_grain_timestamp", None)
        coarse = partition_timestamp or kwargs.pop("coarse_grain_timestamp", None)
        if kwargs:
            raise InvalidInput(f"{sorted(kwargs)} are not known.", hint="timestamp= and partition_timestamp= are.")
        if fine is not None and fine == coarse:
            raise InvalidInput(f"timestamp and partition_timestamp are both {fine!r}.")
        for given in (fine, coarse):
            if given is not None and not isinstance(given, str):
                raise InvalidInput(f"A column of times is named by text, got {given!r}.")
        made = self._with(op="timestamps", fine=fine, coarse=coarse)
        if validate:
            made._require_columns([each for each in (fine, coarse) if each])
        return made

    def time_after(self: T, start_time: datetime, include_boundary: bool = True, validate: bool = True) -> T:
        self._require_times("time_after", validate)
        return self._with(op="time_after", time=time(start_time, "start_time"), inclusive=bool(include_boundary))

    def time_before(self: T, end_time: datetime, include_boundary: bool = True, validate: bool = True) -> T:
        self._require_times("time_before", validate)
        return self._with(op="time_before", time=time(end_time, "end_time"), inclusive=bool(include_boundary))

    def time_between(
        self: T, start_time: datetime, end_time: datetime, include_boundary: bool = True, validate: bool = True
    ) -> T:
        self._require_times("time_between", validate)
        start, end = time(start_time, "start_time"), time(end_time, "end_time")
        if (start_time.tzinfo is None) == (end_time.tzinfo is None) and start_time > end_time:
            raise InvalidInput(f"start_time {start} is after end_time {end}.")
        return self._with(op="time_between", start=start, end=end, inclusive=bool(include_boundary))

    def time_recent(self: T, time_delta: timedelta, include_boundary: bool = True, validate: bool = True) -> T:
        """The rows of the last period, counted back from the time of this call, not of the read."""
        self._require_times("time_recent", validate)
        if not isinstance(time_delta, timedelta) or time_delta < timedelta(0):
            raise InvalidInput(f"time_delta must be a timedelta that is not negative, got {time_delta!r}.")
        start = time(datetime.now(UTC) - time_delta, "start_time")
        return self._with(op="time_after", time=start, inclusive=bool(include_boundary))

    def _require_times(self, deed: str, validate: bool) -> None:
        if self.timestamp_columns == (None, None):
            raise DatasetTimestampMissingError(
                f"{deed} needs to know which column holds the time.",
                hint="dataset.with_timestamp_columns(timestamp='column') first.",
            )
        if validate:
            self._require_columns([each for each in self.timestamp_columns if each])

    def _require_columns(self, wanted: Sequence[str]) -> None:
        there = [str(name) for name in self.take(1).to_pandas_dataframe().columns]
        if missing := [name for name in wanted if name not in there]:
            raise InvalidInput(f"The table has no column {', '.join(map(repr, missing))}.", hint=f"It has: {there}.")

    # ---- writing

    def to_csv_files(self, separator: str = ",") -> FileDataset:
        """Writes the table's current rows as CSV to the workspace's default datastore; returns those files."""
        return self._written("part-00000.csv", lambda frame, path: frame.to_csv(path, sep=separator, index=False))

    def to_parquet_files(self) -> FileDataset:
        """Writes the table's current rows as Parquet to the workspace's default datastore; returns those files."""
        return self._written("part-00000.parquet", write_parquet)

    def _written(self, name: str, write: Any) -> FileDataset:
        datastore = self._home().get_default_datastore()
        folder = f"{MANAGED}/{secrets.token_hex(8)}"
        with tempfile.TemporaryDirectory(prefix="roost-table-") as place:
            write(self.to_pandas_dataframe(), Path(place) / name)
            datastore_files.upload(
                datastore, datastore_files.folder(place), folder, overwrite=True, show_progress=False
            )
        definition = Definition(sources=(Source(datastore=datastore.name, path=folder),))
        return FileDataset._of(definition, datastore.workspace)

    def partition_by(
        self,
        partition_keys: Sequence[str],
        target: "tuple[Datastore, str]",
        name: str | None = None,
        show_progress: bool = True,
        partition_as_file_dataset: bool = False,
    ) -> "TabularDataset | FileDataset":
        """Writes the table as Parquet, one folder per combination of these columns' values, and registers it if a name is
        given. Each call writes to a separate folder below the target, so that calls do not mix."""
        datastore, path = datapaths.target(target)
        keys = _columns(partition_keys)
        if name:
            checked_name(name)
        frame = self.to_pandas_dataframe()
        written = partition_keys_of(frame, keys)
        folder = f"{path.strip('/') or MANAGED}/{secrets.token_hex(8)}"
        with tempfile.TemporaryDirectory(prefix="roost-table-") as place:
            for values, part in frame.drop(columns=keys).groupby([key.texts for key in written], sort=True):
                inside = Path(place).joinpath(*values)
                inside.mkdir(parents=True, exist_ok=True)
                write_parquet(part, inside / "part-00000.parquet")
            files = datastore_files.folder(place)
            datastore_files.upload(datastore, files, folder, overwrite=True, show_progress=show_progress)
        definition = Definition(
            sources=(Source(datastore=datastore.name, path=f"{folder}/**/*.parquet"),),
            partition_format="/".join(key.pattern for key in written) + "/*.parquet",
        )
        made: TabularDataset | FileDataset
        if partition_as_file_dataset:
            made = FileDataset._of(definition, datastore.workspace)
        else:
            types = {key.name: key.kind for key in written if key.kind is not None}
            form = {"type": "parquet", "include_path": False, "column_types": types}
            definition = replace(definition, kind=DatasetKind.TABULAR, format=form)
            made = TabularDataset._of(definition, datastore.workspace)
        return made.register(datastore.workspace, name, create_new_version=True) if name else made

    def _home(self) -> "Workspace":
        return self._workspace or late.Workspace()

    # ---- not supported on purpose

    def to_spark_dataframe(self) -> NoReturn:
        absent.refuse("azureml.data.TabularDataset.to_spark_dataframe")

    def to_dask_dataframe(self, *args: object, **kwargs: object) -> NoReturn:  # noqa: ARG002 - the SDK's signature
        absent.refuse("azureml.data.TabularDataset.to_dask_dataframe")

    def get_profile(self, *args: object, **kwargs: object) -> NoReturn:  # noqa: ARG002 - the SDK's signature
        absent.refuse("azureml.data.TabularDataset.get_profile")

    get_profile_runs = submit_profile_run = get_profile

    def to_torchvision(self) -> NoReturn:
        absent.refuse("azureml.data.TabularDataset.to_torchvision")


def _columns(columns: object) -> list[str]:
    given = [columns] if isinstance(columns, str) else columns
    if not isinstance(given, Sequence) or not given or not all(isinstance(each, str) for each in given):
        raise InvalidInput(f"Columns are named by text or a list of texts, got {columns!r}.")
    return list(given)
