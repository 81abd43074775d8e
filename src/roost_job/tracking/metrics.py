"""Logs and reads metrics of a run. `RunMetrics.log` is the call in training loops: it only appends to the spool.

`description` is accepted everywhere, because scripts pass it; nothing reads it.
"""
# ruff: noqa: ARG002 - the signatures are those that scripts were written for

import json
import os
import re
import time
from threading import Lock
from typing import Any, Dict, Optional, Union

from roost_job.exceptions import UserErrorException
from roost_job.tracking import documents, uploads, values
from roost_job.tracking.children import KINDS
from roost_job.tracking.spool import Writer

READ_FLUSH_SECONDS = 60.0
_ADDRESS = "aml://artifactId/ExperimentRun/dcid."
_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class RunMetrics(object):
    """The log calls of a run. `_link` and `_open_spool` come from the run."""

    _link: Any
    _spool: Optional[Writer]
    _spool_lock: Lock

    @property
    def id(self) -> str:
        raise NotImplementedError

    def _relative(self, record: Any, above: bool = False, **more: Any) -> Any:
        raise NotImplementedError

    def _open_spool(self) -> Writer:
        """The spool of this run's log calls; called once, at the first of them."""
        raise NotImplementedError

    def _begin_spool(self) -> Writer:
        with self._spool_lock:
            if self._spool is None:
                self._spool = self._open_spool()
            return self._spool

    def log(self, name: str, value: Any, description: str = "", step: Optional[int] = None) -> None:
        """Logs one number, text or boolean. Logged several times, a metric reads back as a list."""
        kind = type(value)
        spool = self._spool or self._begin_spool()
        if kind is float or kind is int:
            spool.number(name, value, step)
            return
        plain = values.scalar(values.check_name(name), value)
        if type(plain) in (float, int):
            spool.number(name, plain, step)
        else:
            spool.obj(name, values.kind_of(plain), plain, step)

    def log_list(self, name: str, value: Any, description: str = "") -> None:
        """Several values at once; an empty list stores nothing."""
        cells = values.sequence(values.check_name(name), value)
        if cells:
            self._record(name, "list", cells)

    def log_row(self, name: str, description: Optional[str] = None, **kwargs: Any) -> None:
        """One row of named columns; repeated calls make a table."""
        self._record(name, "row", values.row(values.check_name(name), kwargs))

    def log_table(self, name: str, value: Dict[str, Any], description: str = "") -> None:
        """Columns of equal length; an empty dict stores nothing."""
        columns = values.table(values.check_name(name), value)
        if columns:
            self._record(name, "table", columns)

    def log_image(
        self, name: str, path: Optional[Union[str, "os.PathLike[str]"]] = None, plot: Any = None, description: str = ""
    ) -> None:
        """An image file, or a matplotlib figure; stored with the run, and read back as the address of that file."""
        values.check_name(name)
        if (path is None) == (plot is None):
            raise UserErrorException("Image %r needs either `path` or `plot`." % name)
        with uploads.as_file(path) if plot is None else uploads.drawn(plot) as image:
            file_name = _file_name(name, os.path.splitext(image)[1])
            self._link.ask("upload", files=[[file_name, image]])
        self._record(name, "image", address(self.id, file_name))

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        """`value`: {'schema_type': 'confusion_matrix', 'data': {'class_labels': […], 'matrix': [[…], …]}}, as a dict, JSON or the
        path of a JSON file. Stored with the run, and read back as the address of that file."""
        self._document("confusion_matrix", name, value)

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        """As `log_confusion_matrix`, of schema type 'accuracy_table'."""
        self._document("accuracy_table", name, value)

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        """As `log_confusion_matrix`, of schema type 'predictions': bins with their averages, errors and counts."""
        self._document("predictions", name, value)

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        """As `log_confusion_matrix`, of schema type 'residuals': a histogram."""
        self._document("residuals", name, value)

    def _document(self, kind: str, name: str, value: Any) -> None:
        content = documents.text(kind, values.check_name(name), value)
        file_name = _file_name(name, ".json")
        with uploads.written(content) as path:
            self._link.ask("upload", files=[[file_name, path]])
        self._record(name, kind, address(self.id, file_name))

    def get_metrics(
        self,
        name: Optional[str] = None,
        recursive: bool = False,
        run_type: Optional[str] = None,
        populate: bool = False,
    ) -> Dict[str, Any]:
        """The logged values by name; waits for what this process has logged before. `recursive`: by run id, then by name, of this
        run and those below it, or of those of `run_type`. `populate` returns documents instead of their addresses."""
        if self._spool is not None:
            self._link.ask("flush", timeout_seconds=READ_FLUSH_SECONDS)
        if not recursive:
            found = {each: plain(value) for each, value in self._link.ask("metrics", name=name).items()}
            return self._populated(found) if populate else found
        if run_type is not None and run_type not in KINDS:
            return {}
        kind = KINDS[run_type] if run_type else None
        family = self._link.ask("metrics", name=name, recursive=True, kind=kind)
        whole = {run_id: {each: plain(value) for each, value in logged.items()} for run_id, logged in family.items()}
        return {run_id: self._populated(logged) for run_id, logged in whole.items()} if populate else whole

    def _populated(self, found: Dict[str, Any]) -> Dict[str, Any]:
        return {name: self._read_document(value) if is_document(value) else value for name, value in found.items()}

    def _read_document(self, value: str) -> Any:
        run_id, _, file_name = value[len(_ADDRESS) :].partition("/")
        with uploads.temporary(".json") as path:
            reader = self if run_id == self.id else self._relative({"id": run_id})
            reader._link.ask("download", name=file_name, path=path)
            with open(path, "rb") as file:
                return json.loads(file.read().decode("utf-8"))

    def _record(self, name: str, kind: str, value: Any) -> None:
        (self._spool or self._begin_spool()).obj(name, kind, value)


def _file_name(name: str, extension: str) -> str:
    """`<name>_<epoch ms>.png`, with characters and a length that every file system accepts."""
    stem = re.sub(r"[^\w.-]+", "_", name).lstrip(".").encode("utf-8", "replace")[:150].decode("utf-8", "ignore")
    return "%s_%d%s" % (stem or "image", time.time() * 1000, re.sub(r"[^\w.]+", "_", extension) or ".png")


def address(run_id: str, file_name: str) -> str:
    """The address of a run's file, in the form that scripts expect."""
    return "%s%s/%s" % (_ADDRESS, run_id, file_name)


def is_document(value: Any) -> bool:
    """True when a metric's value is the address of a JSON document."""
    return isinstance(value, str) and value.startswith(_ADDRESS) and value.endswith(".json")


def plain(value: Any) -> Any:
    """A metric's value from the wire, where NaN and the infinities are objects."""
    if isinstance(value, dict):
        if len(value) == 1 and value.get("float") in ("NaN", "Infinity", "-Infinity"):
            return _NUMBERS[value["float"]]
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value
