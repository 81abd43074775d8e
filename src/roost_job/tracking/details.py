"""`run.get_details()`: a run's record under the names that scripts and notebooks of the Azure ML SDK v1 read."""

import time
from typing import Any, Dict, Mapping, Optional, Sequence

from roost_job.data import run_data
from roost_job.tracking.metrics import address

_LOG_FOLDERS = ("user_logs/", "azureml-logs/", "logs/", "system_logs/")


def details(
    record: Mapping[str, Any], file_names: Sequence[str], uses: Sequence[Mapping[str, Any]], make: run_data.Make
) -> Dict[str, Any]:
    """From the run's record on the wire, the names of its files, and its uses of data, which `make` turns into datasets."""
    spec = record.get("spec") or {}
    found = {
        "runId": record["id"],
        "target": spec.get("target", ""),
        "status": record["status"],
        "startTimeUtc": utc(record.get("started_at")),
        "endTimeUtc": utc(record.get("ended_at")),
        "properties": dict(record.get("properties") or {}),
        "inputDatasets": run_data.inputs(spec, uses, make),
        "outputDatasets": run_data.outputs(uses, make),
        "runDefinition": {
            "script": spec.get("script", ""),
            "command": list(spec.get("command") or []),
            "arguments": list(spec.get("arguments") or []),
            "target": spec.get("target", ""),
            "nodeCount": spec.get("node_count", 1),
            "maxRunDurationSeconds": spec.get("timeout_seconds"),
            "environmentVariables": dict(spec.get("environment_variables") or {}),
            "environment": _environment(spec.get("environment")),
        },
        "logFiles": {name: address(record["id"], name) for name in file_names if name.startswith(_LOG_FOLDERS)},
        "submittedBy": record.get("user", ""),
    }
    if record.get("exit_code") or record["status"] == "Failed":
        found["error"] = {"error": {"code": str(record.get("reason", "")), "message": str(record.get("message", ""))}}
    return found


def _environment(use: Optional[Mapping[str, Any]]) -> Optional[Dict[str, Any]]:
    """Name, version and definition together, as in the SDK; None for the interpreter as it is."""
    if use is None:
        return None
    return dict(use.get("definition") or {}, name=use.get("name"), version=use.get("version") or None)


def utc(seconds: Optional[float]) -> Optional[str]:
    """Seconds since the epoch as `2020-06-30T12:34:56.789012Z`."""
    if seconds is None:
        return None
    whole, micro = divmod(int(round(seconds * 1000000)), 1000000)
    return "%s.%06dZ" % (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)), micro)
