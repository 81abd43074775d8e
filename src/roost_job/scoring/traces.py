"""Tracebacks for the script's author: they start at the script's own lines. Python 3.6 and later, standard library only."""

import os
import traceback

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep


def text_of(error: BaseException) -> str:
    """The traceback without the frames of this package, and of its imports, before the script's first one."""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if not (name.startswith(_OURS) or name.startswith("<frozen importlib")):
            break
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))
