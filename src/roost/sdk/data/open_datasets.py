"""`azureml.opendatasets`: public data as datasets of their addresses. Files are downloaded only when they are read.

The server lists the files: Azure's own, or the mirror in ROOST_OPEN_DATASETS, a web server with the same paths. For a server that
cannot list a container, `CONTAINER/index.txt` has its paths, one per line.
"""

import os
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as Xml
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from roost.domain.errors import InvalidInput, Unavailable
from roost.sdk.data.dataset_factory import Dataset
from roost.sdk.data.datasets import FileDataset
from roost.sdk.data.tabular_datasets import TabularDataset
from roost_job.data.dataset_types import DataType

VARIABLE = "ROOST_OPEN_DATASETS"
PUBLIC = "https://azureopendatastorage.blob.core.windows.net"
_SECONDS = 30.0
_MOST = 64 * 1024 * 1024
_FILTERS = ("all", "train", "test")


class MNIST:
    """Images of digits, as four files or as a table of 784 pixels and a label."""

    @staticmethod
    def get_file_dataset(dataset_filter: str = "all", enable_telemetry: bool = True) -> FileDataset:  # noqa: ARG004
        names = [
            *("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
            *("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
        ]
        start = {"all": "t", "train": "train-", "test": "t10k-"}[_filter(dataset_filter)]
        urls = [_address("mnist", name) for name in names if name.startswith(start)]
        return Dataset.File.from_files(urls, validate=False)

    @staticmethod
    def get_tabular_dataset(dataset_filter: str = "all", enable_telemetry: bool = True) -> TabularDataset:  # noqa: ARG004
        wanted = _filter(dataset_filter)
        names = [name for name in _listed("mnist", "processed/") if name.endswith(".csv")]
        chosen = [name for name in names if wanted == "all" or wanted in name.rpartition("/")[2]]
        return Dataset.Tabular.from_delimited_files(_some("mnist", chosen), validate=False)


class Diabetes:
    """Ten measurements of 442 people, and the progression of their disease."""

    @staticmethod
    def get_tabular_dataset(enable_telemetry: bool = True) -> TabularDataset:  # noqa: ARG004 - the SDK's signature
        names = [name for name in _listed("mlsamples", "diabetes/") if name.endswith(".parquet")]
        return Dataset.Tabular.from_parquet_files(_some("mlsamples", names), validate=False)


class _Taxi:
    """Trips in New York between two times, both included."""

    _folder: str
    _time: str
    default_start_date = datetime(2015, 1, 1)

    def __init__(
        self,
        start_date: datetime | None = None,
        end_date: datetime | None = None,
        cols: Sequence[str] | None = None,
        limit: int = -1,
        enable_telemetry: bool = True,  # noqa: ARG002 - the SDK's signature
    ) -> None:
        self.start_date, self.end_date = start_date or self.default_start_date, end_date or datetime.now()
        if self.start_date > self.end_date:
            raise InvalidInput(f"start_date {self.start_date} is after end_date {self.end_date}.")
        if limit > 0:  # limit counts days in the SDK
            self.end_date = min(self.end_date, self.start_date + timedelta(days=limit))
        self.cols = list(cols) if cols is not None else None

    def to_pandas_dataframe(self) -> Any:
        """The rows between the two times, read now. At least one month is downloaded."""
        return self._table().to_pandas_dataframe()

    @classmethod
    def get_tabular_dataset(
        cls,
        start_date: datetime | None = None,
        end_date: datetime | None = None,
        cols: Sequence[str] | None = None,
        enable_telemetry: bool = True,  # noqa: ARG003 - the SDK's signature
    ) -> TabularDataset:
        """The same as a dataset, which can be registered and used as an input of runs."""
        return cls(start_date, end_date, cols)._table()

    def _table(self) -> TabularDataset:
        months = tuple(f"{self._folder}/{month}/" for month in self._months())
        years = dict.fromkeys(f"{self._folder}/{month.partition('/')[0]}/" for month in self._months())
        names = [name for year in years for name in _listed("nyctlc", year) if name.startswith(months)]
        table = Dataset.Tabular.from_parquet_files(
            _some("nyctlc", [name for name in names if name.endswith(".parquet")]),
            validate=False,
            partition_format="puYear={puYear}/puMonth={puMonth}/*.parquet",
            set_column_types={"puYear": DataType.to_long(), "puMonth": DataType.to_long()},
        )
        table = table.with_timestamp_columns(self._time)
        table = table.time_between(self.start_date, self.end_date, validate=False)
        return table.keep_columns(self.cols) if self.cols is not None else table

    def _months(self) -> list[str]:
        first, last = (each.year * 12 + each.month - 1 for each in (self.start_date, self.end_date))
        return [f"puYear={month // 12}/puMonth={month % 12 + 1}" for month in range(first, last + 1)]


class NycTlcGreen(_Taxi):
    """Trips of green taxis."""

    _folder, _time = "green", "lpepPickupDatetime"


class NycTlcYellow(_Taxi):
    """Trips of yellow taxis."""

    _folder, _time = "yellow", "tpepPickupDateTime"


def _filter(given: str) -> str:
    if given not in _FILTERS:
        raise InvalidInput(f"dataset_filter must be one of {', '.join(_FILTERS)}, got {given!r}.")
    return given


# ---- addresses


def _address(container: str, name: str = "") -> str:
    root = (os.environ.get(VARIABLE) or PUBLIC).rstrip("/")
    return f"{root}/{container}" + (f"/{urllib.parse.quote(name, safe='/=')}" if name else "")


def _some(container: str, names: Sequence[str]) -> list[str]:
    if not names:
        raise InvalidInput(
            f"{_address(container)} has no data for that.",
            hint=f"{VARIABLE} names a mirror, if one is to be used instead.",
        )
    return [_address(container, name) for name in names]


def _listed(container: str, prefix: str) -> list[str]:
    """The paths in a container with this prefix, in order."""
    query = {"restype": "container", "comp": "list", "prefix": prefix}
    names: list[str] = []
    try:
        while True:
            page, marker = _page(_read(f"{_address(container)}?{urllib.parse.urlencode(query)}"))
            names += page
            if not marker or marker == query.get("marker"):
                return names
            query["marker"] = marker
    except (Xml.ParseError, urllib.error.HTTPError):  # a plain web server
        lines = _text(_address(container, "index.txt")).splitlines()
        return sorted(
            line.strip().removeprefix("./") for line in lines if line.strip().removeprefix("./").startswith(prefix)
        )
    except (OSError, ValueError) as error:
        raise _unreachable(_address(container), error) from None


def _page(listing: bytes) -> tuple[list[str], str]:
    """Names on one page, and the marker of the next; empty at the end. Any page may have a next one."""
    root = Xml.fromstring(listing)  # noqa: S314 - from a server that the user chose; the parser limits entity expansion
    if root.tag != "EnumerationResults":
        raise Xml.ParseError("it is no listing")
    names = [name for each in root.iterfind("./Blobs/Blob/Name") if (name := each.text)]
    return names, root.findtext("./NextMarker") or ""


def _text(url: str) -> str:
    try:
        return _read(url).decode("utf-8")
    except (OSError, ValueError) as error:
        raise _unreachable(url, error) from None


def _read(url: str) -> bytes:
    if not url.startswith(("http://", "https://")):
        raise ValueError("it is no http:// or https:// address")
    with urllib.request.urlopen(url, timeout=_SECONDS) as answer:  # noqa: S310 - checked above
        data: bytes = answer.read(_MOST)
    return data


def _unreachable(url: str, error: Exception) -> Unavailable:
    why = getattr(error.__context__ or error, "strerror", None) or error  # urllib wraps the cause: <urlopen error …>
    return Unavailable(
        f"The open datasets at {url} cannot be listed: {why}.",
        hint=f"Without a way to them, set {VARIABLE} to a web server that has the same paths, or use data of your own.",
    )
