"""A run's data for its script: `run.input_datasets`, `run.output_datasets`, and both in `get_details`."""

import os
from typing import Any, Callable, Dict, List, Mapping, Sequence

from roost_job.exceptions import UserErrorException

VARIABLE = "AZUREML_DATAREFERENCE_"
_MECHANISMS = {"mount": "Mount", "download": "Download", "direct": "Direct", "upload": "Upload"}


class RunData(object):
    """The data calls of a run. `_link`, `_kin` and `_record_now` come from the run."""

    _link: Any
    _kin: bool

    def _record_now(self) -> Dict[str, Any]:
        raise NotImplementedError

    @property
    def input_datasets(self) -> Dict[str, Any]:
        """By name: in the job the path of a mounted or downloaded input, else the dataset itself."""
        spec = self._record_now().get("spec") or {}
        return {each["name"]: self._input(each) for each in spec.get("inputs") or ()}

    @property
    def output_datasets(self) -> Dict[str, Any]:
        """By name: in the job the folder to fill; afterwards the resulting datasets."""
        spec = self._record_now().get("spec") or {}
        names = [each["name"] for each in spec.get("outputs") or ()]
        here = {name: os.environ.get(VARIABLE + name) for name in names} if self._is_here() else {}
        if any(here.values()):
            return {name: path for name, path in here.items() if path}
        uses = [use for use in self._link.ask("uses") if use["direction"] == "output" and use["name"] in names]
        return {use["name"]: self._data(use) for use in uses}

    def _is_here(self) -> bool:
        """True when this process is part of the run."""
        return not self._kin

    def _input(self, given: Mapping[str, Any]) -> Any:
        path = os.environ.get(VARIABLE + given["name"]) if self._is_here() else None
        return path if path and given.get("mode") != "direct" else self._data(given)

    def _data(self, given: Mapping[str, Any]) -> Any:
        """The dataset of an input, or of a read or write."""
        from roost_job.data.datasets import make  # only for scripts that use data: it reads tables

        if given.get("dataset_id"):
            try:
                record = self._link.ask("dataset", id=given["dataset_id"])
            except UserErrorException:  # unregistered since: the run still has its definition
                return make(self._link, given["definition"])
            return make(self._link, record["definition"], record)
        return make(self._link, given["definition"])


class UsedDataset(Dict[str, Any]):
    """A dataset in a run's details: id, name and version, as in JSON, and through attributes the dataset itself, as in
    `details['inputDatasets'][0]['dataset'].to_path()`."""

    def __init__(self, plain: Mapping[str, Any], make: Callable[[], Any]) -> None:
        super().__init__(plain)
        self._make = make

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._make(), name)

    def __reduce__(self) -> Any:
        """A copy, or a transfer to another process, has only the plain part: the dataset is looked up where the run is."""
        return dict, (dict(self),)


Make = Callable[[Mapping[str, Any]], Any]
"""The dataset of an input or of a use."""


def inputs(spec: Mapping[str, Any], uses: Sequence[Mapping[str, Any]], make: Make) -> List[Dict[str, Any]]:
    """The inputs in the form of `get_details`."""
    read = {use["name"]: use for use in uses if use["direction"] == "input"}
    return [
        {
            "dataset": _dataset(read.get(each["name"], each), make),
            "consumptionDetails": {
                "type": "RunInput",
                "inputName": each["name"],
                "mechanism": _MECHANISMS[each.get("mode") or "direct"],
                "pathOnCompute": each.get("path_on_compute") or None,
            },
        }
        for each in spec.get("inputs") or ()
    ]


def _dataset(use: Mapping[str, Any], make: Make) -> Dict[str, Any]:
    """The id as in the SDK; also name and version, which stay when the dataset is unregistered."""
    found: Dict[str, Any] = {"id": use.get("dataset_id") or None}
    if use.get("dataset_name"):
        found.update(name=use["dataset_name"], version=use["dataset_version"])
    if use.get("unregistered"):
        found["unregistered"] = True
    return UsedDataset(found, lambda: make(use))


def outputs(uses: Sequence[Mapping[str, Any]], make: Make) -> List[Dict[str, Any]]:
    """The written data in the form of `get_details`; includes what a script wrote or registered on its own."""
    return [
        {
            "dataset": _dataset(each, make),
            "identifier": {"savedId": each.get("dataset_id") or None},
            "outputType": "RunOutput",
            "outputDetails": {"outputName": each["name"], "mechanism": _MECHANISMS[each.get("mode") or "upload"]},
        }
        for each in uses
        if each["direction"] == "output"
    ]
