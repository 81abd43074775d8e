"""`wait_for_completion` inside a job, for the runs below it: over the door, with the SDK's output."""

# ruff: noqa: ARG002 - the signatures are those that scripts were written for

import codecs
import sys
import time
from typing import Any, Dict, Optional

from roost_job.exceptions import ActivityFailedException

STD_LOG = "user_logs/std_log.txt"
ENDS = ("Completed", "Failed", "Canceled")
_POLL = 20.0


def until_end(link: Any, record: Optional[Dict[str, Any]] = None, seconds: Optional[float] = None) -> Dict[str, Any]:
    """The run's record once it has ended, or after so many seconds; `record` is the last known one."""
    until = None if seconds is None else time.monotonic() + seconds
    record = link.ask("run") if record is None else record
    while record["status"] not in ENDS:
        wait = _POLL if until is None else min(_POLL, until - time.monotonic())
        if wait <= 0:
            break
        record = link.ask("run", after=record["revision"], wait=wait)
    return record


def stream(link: Any, run_id: str) -> Dict[str, Any]:
    """Prints the run's log as it arrives; returns its record once it has ended."""
    out, decoder, offset, begun = sys.stdout, codecs.getincrementaldecoder("utf-8")("replace"), 0, False
    out.write("RunId: %s\n" % run_id)
    while True:
        piece = link.ask("tail", name=STD_LOG, offset=offset, wait=_POLL)
        data = piece["data"].encode("latin-1")
        if data and not begun:
            title, begun = "Streaming %s" % STD_LOG, True
            out.write("\n%s\n%s\n\n" % (title, "=" * len(title)))
        offset = piece["offset"]
        out.write(decoder.decode(data))
        out.flush()
        if piece["status"] in ENDS and not data:
            break
    record = until_end(link)
    out.write("\nExecution Summary\n=================\nRunId: %s\nStatus: %s\n\n" % (run_id, record["status"]))
    out.flush()
    return record


def raise_for_failure(record: Dict[str, Any]) -> None:
    if record["status"] == "Failed":
        raise ActivityFailedException(
            "Run %s failed: %s" % (record["id"], record.get("message") or record.get("reason"))
        )
