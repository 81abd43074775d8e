"""`python -m roost_job.scoring`: loads a model by its handler, then listens. The agent starts it, in the model's environment.

    ROOST_SERVING_SOCKET        path of the Unix socket to listen on, once the model is loaded
    ROOST_SERVING_HANDLER       a name of `handlers.HANDLERS`; "script" when not given
    ROOST_SERVING_CONCURRENCY   requests at once; 1 when not given
    AZUREML_ENTRY_SCRIPT        for "script": its path, from the working directory
    AZUREML_MODEL_DIR           where the model's files are

Exits with 0 after a stop (SIGTERM, or a front's STOP), 70 when a front gave up on a request, 71 when the model could not be
loaded: then `<socket>.failed` also has a line with the cause, and the traceback, for the agent's report.
"""

import faulthandler
import gc
import io
import os
import sys
from typing import List, cast

from roost_job import monitoring
from roost_job.scoring import frames, handlers, traces
from roost_job.scoring.worker import Worker

_EARLY = 100
_TRACE_CHARACTERS = 16 * 1024
"""Characters at the end of a traceback that are kept, so that the line before it fits too."""


def main() -> int:
    encoding = sys.stdout.encoding
    buffer = cast(io.TextIOWrapper, sys.stdout).detach()  # Python 3.6 has no `reconfigure`
    sys.stdout = io.TextIOWrapper(buffer, encoding, "backslashreplace", line_buffering=True)  # read while it grows
    faulthandler.enable()
    path = os.environ["ROOST_SERVING_SOCKET"]
    failed = path + ".failed"
    if os.path.exists(failed):
        os.unlink(failed)
    early: List[bytes] = []  # from init(): the worker is created after it

    def put_by(body: bytes) -> bool:
        if len(early) < _EARLY:
            early.append(body)
            return True
        return False

    monitoring.keep_with(put_by)
    try:
        handler = handlers.load(
            os.environ.get("ROOST_SERVING_HANDLER") or "script", os.environ.get("AZUREML_MODEL_DIR") or os.getcwd()
        )
        worker = Worker(path, handler, int(os.environ.get("ROOST_SERVING_CONCURRENCY") or 1))
    except BaseException as error:  # noqa: BLE001 - SystemExit in init() is a failure too
        text = _told(error)
        sys.stderr.write(text)
        with open(failed, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        return frames.EXIT_NOT_LOADED
    monitoring.keep_with(worker.collected)
    for body in early:
        worker.collected(body)
    gc.collect()
    if hasattr(gc, "freeze"):
        gc.freeze()  # the model stays: the garbage collector need not scan it again
    worker.listen()
    worker.serve()
    return 0


def _told(error: BaseException) -> str:
    """A line with the cause, and the script's own traceback if there is one."""
    if not isinstance(error, handlers.NotLoaded):
        return traces.text_of(error)
    cause = error.__cause__
    trace = "" if cause is None else traces.text_of(cause)
    return "%s\n%s" % (error, trace[-_TRACE_CHARACTERS:])


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # so that the script's threads and its libraries' finalizers cannot keep the worker alive
