"""The offline run: `Run.get_context()` returns it outside a job, so that the same script runs anywhere.

Its log calls print, and refuse what a real run refuses. On purpose it is not a `Run`, and it lacks the names that scripts test
with `hasattr`: `experiment`, `input_datasets`, `parent`, `get_metrics`, `register_model`.
"""

# ruff: noqa: ARG002 - the signatures are those of a real run

import sys
from typing import Any, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple, Union

from roost_job.exceptions import UserErrorException
from roost_job.tracking import documents, uploads, values


class _OfflineRun(uploads.Uploads):
    """Prints what a run would store. Tags and properties last as long as the object."""

    def __init__(self, run_id: Optional[str] = None, **kwargs: Any) -> None:
        import uuid  # loaded on use: in old Pythons it loads ctypes, which costs more than all of this library

        self._run_id = run_id or "OfflineRun_%s" % uuid.uuid4()
        self._tags: Dict[str, Optional[str]] = {}
        self._properties: Dict[str, str] = {}
        self._status = "Running"
        self.display_name = ""
        self.description = ""

    @property
    def id(self) -> str:
        return self._run_id

    def __repr__(self) -> str:
        return "_OfflineRun(id=%r)" % self._run_id

    def log(self, name: str, value: Any, description: str = "", step: Optional[int] = None) -> None:
        plain = values.scalar(values.check_name(name), value)
        if type(plain) is int:
            values.number(name, plain)  # refuses a value that no float can represent
        if step is not None:
            values.check_step(step)
        _show("scalar metric", name, plain)

    def log_list(self, name: str, value: Any, description: str = "") -> None:
        _show("list metric", name, values.sequence(values.check_name(name), value))

    def log_row(self, name: str, description: Optional[str] = None, **kwargs: Any) -> None:
        _show("row metric", name, values.row(values.check_name(name), kwargs))

    def log_table(self, name: str, value: Dict[str, Any], description: str = "") -> None:
        _show("table metric", name, values.table(values.check_name(name), value))

    def log_image(self, name: str, path: Any = None, plot: Any = None, description: str = "") -> None:
        values.check_name(name)
        if (path is None) == (plot is None):
            raise UserErrorException("Image %r needs either `path` or `plot`." % name)
        if plot is not None and not hasattr(plot, "savefig"):
            raise UserErrorException("`plot` must be a matplotlib figure or pyplot, got %s." % type(plot).__name__)
        _show("image metric", name, plot if path is None else uploads.one_file(path))

    def log_confusion_matrix(self, name: str, value: Any, description: str = "") -> None:
        _show("confusion matrix", name, documents.text("confusion_matrix", values.check_name(name), value))

    def log_accuracy_table(self, name: str, value: Any, description: str = "") -> None:
        _show("accuracy table", name, documents.text("accuracy_table", values.check_name(name), value))

    def log_predictions(self, name: str, value: Any, description: str = "") -> None:
        _show("predictions", name, documents.text("predictions", values.check_name(name), value))

    def log_residuals(self, name: str, value: Any, description: str = "") -> None:
        _show("residuals", name, documents.text("residuals", values.check_name(name), value))

    def child_run(
        self, name: Optional[str] = None, run_id: Optional[str] = None, outputs: Optional[str] = None
    ) -> "_OfflineRun":
        """An offline run without a parent."""
        return _OfflineRun(run_id)

    def create_children(
        self,
        count: Optional[int] = None,
        tag_key: Optional[str] = None,
        tag_values: Optional[Sequence[Any]] = None,
        start_children: bool = True,
    ) -> "List[_OfflineRun]":
        return [_OfflineRun() for _ in (range(count or 0) if tag_values is None else tag_values)]

    def _send_one(self, name: str, path_or_stream: Any) -> None:
        is_stream = hasattr(path_or_stream, "read")
        _show("file", name, path_or_stream if is_stream else uploads.one_file(path_or_stream), "upload")

    def _send(self, files: Sequence[Tuple[str, str]], timeout_seconds: Optional[float]) -> None:
        for name, path in files:
            _show("file", name, path, "upload")

    def tag(self, key: str, value: Optional[str] = None) -> None:
        self.set_tags({key: value})

    def set_tags(self, tags: Mapping[str, Any]) -> None:
        self._tags.update(values.labels("Tags", tags))

    def remove_tags(self, tags: Union[str, Sequence[str]]) -> None:
        for key in [tags] if isinstance(tags, str) else list(tags):
            self._tags.pop(key, None)

    def get_tags(self) -> Dict[str, Optional[str]]:
        return dict(self._tags)

    def add_properties(self, properties: Mapping[str, Any]) -> None:
        given = {key: str(value) for key, value in values.labels("Properties", properties).items()}
        for key, value in given.items():
            if self._properties.get(key, value) != value:
                raise UserErrorException(
                    "Property %r is %r and cannot become %r." % (key, self._properties[key], value),
                    hint="Properties never change; use a tag for what may.",
                )
        self._properties.update(given)

    def get_properties(self) -> Dict[str, str]:
        return dict(self._properties)

    def get_secret(self, name: str) -> NoReturn:
        self.get_secrets([name])

    def get_secrets(self, secrets: Sequence[str]) -> NoReturn:
        raise UserErrorException(
            "There is no run here, and so no key vault to read %s from." % ", ".join(repr(name) for name in secrets),
            hint="Workspace.from_config().get_default_keyvault() reads secrets outside of a run.",
        )

    def get_status(self) -> str:
        return self._status

    def flush(self, timeout_seconds: float = 300) -> None:
        """Does nothing: there is nothing to send."""

    def complete(self) -> None:
        self._status = "Completed"

    def fail(self, error_details: Any = None, error_code: Optional[str] = None) -> None:
        self._status = "Failed"

    def cancel(self) -> None:
        self._status = "Canceled"

    def __enter__(self) -> "_OfflineRun":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self.complete()
        else:
            self.fail(error_details=repr(error))


def _show(what: str, name: str, value: Any, verb: str = "log") -> None:
    text = "Attempted to %s %s %s:\n%s" % (verb, what, name, value)
    try:
        print(text)
    except UnicodeEncodeError:  # an old Python in a plain locale
        encoding = getattr(sys.stdout, "encoding", None) or "ascii"
        print(text.encode(encoding, "backslashreplace").decode(encoding))
