"""The runs below a run, and the one above: makes and finds them. Children that a script makes live in its process. They log to a
folder of the same spool, named by their ids, and end with the script if they have not ended before.
"""

# ruff: noqa: ARG002 - the signatures are those that scripts were written for

import binascii
import os
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from roost_job.exceptions import RunEnvironmentException, UserErrorException
from roost_job.tracking import values

KINDS = {"azureml.scriptrun": "script", "azureml.interactive": "interactive", "roost.replica": "replica"}
"""The SDK's names for a run's origin, and ours. It had none for a replica of a service, which was no run there."""
_AT_ONCE = 1000

Labels = Union[str, Mapping[str, Optional[str]], None]


class RunChildren(object):
    """The family of a run. `_link` and `_relative`, which makes objects of other runs, come from the run."""

    _link: Any

    @property
    def id(self) -> str:
        raise NotImplementedError

    @property
    def experiment(self) -> Any:
        raise NotImplementedError

    def _record_now(self) -> Dict[str, Any]:
        raise NotImplementedError

    def _relative(self, record: Mapping[str, Any], above: bool = False, **more: Any) -> Any:
        raise NotImplementedError

    @property
    def parent(self) -> Any:
        """The run above this one; None for none."""
        parent_id = self._record_now().get("parent_id")
        return self._relative({"id": parent_id}, above=True) if parent_id else None

    def child_run(self, name: Optional[str] = None, run_id: Optional[str] = None, outputs: Optional[str] = None) -> Any:
        """Starts a run below this one. End it with `complete()`, `fail()`, or as a `with` block; the folder `outputs` is uploaded
        when it ends."""
        if name is not None and not isinstance(name, str):
            raise UserErrorException("A child's name must be text, got %s %.80r." % (type(name).__name__, name))
        (record,) = self._bear([self._newborn(run_id, display_name=name or "")], True)
        return self._relative(record, outputs=outputs, lives_here=True)

    def create_children(
        self,
        count: Optional[int] = None,
        tag_key: Optional[str] = None,
        tag_values: Optional[Sequence[Any]] = None,
        start_children: bool = True,
    ) -> List[Any]:
        """Several at once: `count` children, or one for each of `tag_values`, tagged with it as `tag_key`."""
        if (count is None) == (tag_values is None) or (tag_key is None) != (tag_values is None):
            raise UserErrorException(
                "create_children() takes either `count`, or `tag_key` with `tag_values`.",
                hint="run.create_children(5), or run.create_children(tag_key='fold', tag_values=[1, 2, 3])",
            )
        if tag_values is not None:
            tags = [values.labels("Tags", {tag_key: value}) for value in tag_values]
        elif isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise UserErrorException("`count` must be a whole number above 0, got %.80r." % (count,))
        else:
            tags = [{} for _ in range(count)]
        records: List[Any] = []
        for start in range(0, len(tags), _AT_ONCE):
            asked = [self._newborn(None, tags=each) for each in tags[start : start + _AT_ONCE]]
            records += self._bear(asked, bool(start_children))
        return [self._relative(record) for record in records]

    def get_children(
        self,
        recursive: bool = False,
        tags: Labels = None,
        properties: Labels = None,
        type: Optional[str] = None,  # noqa: A002 - the SDK's name for it
        status: Optional[str] = None,
        _rehydrate_runs: bool = True,
    ) -> Iterator[Any]:
        """The runs below this run, newest first; with `recursive` also those below them."""
        if type is not None and type not in KINDS:
            return iter(())
        found = self._link.ask(
            "children",
            recursive=bool(recursive),
            tags=wanted("tags", tags),
            properties=wanted("properties", properties),
            kind=KINDS[type] if type else None,
            status=status,
        )
        return iter([self._relative(record) for record in found])

    def submit_child(self, config: Any, tags: Optional[Mapping[str, Optional[str]]] = None, **kwargs: Any) -> Any:
        """Submits a script as a separate run below this one. It needs the SDK, on this Python."""
        raise RunEnvironmentException(
            "submit_child() needs the Roost SDK, which is not on this script's Python.",
            hint="Use a Python 3.11 or later that has `roost` installed, or child_run(), which works everywhere.",
        )

    def start(self) -> None:
        """Starts a child that was made with `start_children=False`."""
        self._link.ask("report", to="Running", reason="logging", message="")

    def _newborn(self, run_id: Optional[str], **more: Any) -> Dict[str, Any]:
        name = str(getattr(self.experiment, "name", ""))
        child_id = run_id or "%s_%d_%s" % (name, time.time(), binascii.hexlify(os.urandom(4)).decode())
        return dict(id=child_id, experiment=name, spec={"kind": "interactive"}, **more)

    def _bear(self, children: List[Dict[str, Any]], start: bool) -> List[Any]:
        made = self._link.ask("bear", children=children, start=start)
        return list(made)


def wanted(what: str, given: Labels) -> Dict[str, Optional[str]]:
    """Labels to search for: a name alone, or names with values; None matches any value."""
    if given is None:
        return {}
    if isinstance(given, str):
        return {given: None}
    return values.labels(what.capitalize(), given)
