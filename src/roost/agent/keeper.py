"""The keeper: the parent of the agent, with no network and no threads, that outlives it. Start with `keep`.

An agent that ends by itself leaves nothing to do. When it is killed or crashes, the keeper ends all processes of the run and
starts one salvage pass, which ships the remaining data and reports the end; after a build it only cleans up.
"""

import contextlib
import ctypes
import errno
import json
import logging
import os
import signal
import sys
from pathlib import Path
from typing import NoReturn

from roost.agent import build, main, salvage
from roost.agent.folder import Folder
from roost.agent.processes import Tree
from roost.domain.plans import Errand
from roost.machine import files, umasks
from roost.machine.processes import known

_PR_SET_CHILD_SUBREAPER = 36
NO_ROOM = "Its agent could not work: no room left on the disk of {}."
_libc = ctypes.CDLL(None, use_errno=True)
log = logging.getLogger("roost.agent")


def keep(root: Path, *, daemon: bool = True) -> NoReturn:
    """Does the errand of the plan in this folder, and exits. The caller holds the folder's lock and has no threads."""
    folder = Folder(root)
    umasks.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # A control plane in the background ignores these two signals; the script must not inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if daemon:
        os.setsid()
    _stdio_to(folder.agent_log)
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        log.warning("This process cannot be a subreaper: %s.", os.strerror(ctypes.get_errno()))
    log.info("The keeper of %s is here.", folder.mark)
    try:
        plan, _ = folder.read_plan()
        if plan.errand is Errand.SALVAGE or (plan.errand is Errand.RUN and _may_have_run(folder)):
            _watch(_fork(folder, Errand.SALVAGE))
        elif plan.errand is Errand.BUILD:
            if _watch(_fork(folder, Errand.BUILD)) != 0:
                _clean_up(folder)
                _watch(
                    _fork(folder, Errand.BUILD, lost=True)
                )  # the control plane sends another agent, if the run still needs it
        elif code := _watch(_fork(folder, Errand.RUN)):
            why = NO_ROOM.format(folder.root) if code == errno.ENOSPC else ""
            _watch(_fork(folder, Errand.SALVAGE, why=why, ended=_clean_up(folder)))
    except BaseException:
        log.exception("The keeper failed.")
        os._exit(1)
    os._exit(0)


def _may_have_run(folder: Folder) -> bool:
    """True when an earlier agent may have started the script, since it did not only build. No script is started twice."""
    try:
        return bool(json.loads(folder.agent.read_bytes())["errand"] != Errand.BUILD)
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError):
        return True


def _fork(folder: Folder, errand: Errand, *, lost: bool = False, why: str = "", ended: int = 0) -> int:
    """Does the errand in a child, whose exit code is 0 for success; ENOSPC means a full disk, on which the log may fail, too.
    `lost`: cleans up after a lost build. `why`: the salvage pass reports it as the reason for the earlier agent's end. `ended`:
    the number of processes that were ended before."""
    keeper = known(os.getpid())  # read here: an orphaned child would see init as its parent
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        # SIGTERM to a salvage pass would only lose data: the run is ending anyway.
        signal.signal(signal.SIGTERM, signal.SIG_IGN if errand is Errand.SALVAGE else signal.SIG_DFL)
        _sign(folder, errand)
        if errand is Errand.RUN:
            main.run(folder, keeper)
        elif errand is Errand.BUILD:
            (salvage.tidy if lost else build.build)(folder)
        else:
            salvage.salvage(folder, why, ended)
        code = 0
    except BaseException as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            code = errno.ENOSPC
        log.exception("The agent failed.")
    finally:
        # No normal exit: a thread may still wait for a control plane that is away, and all data is written.
        logging.shutdown()
        os._exit(code)


def _sign(folder: Folder, errand: Errand) -> None:
    """Writes `agent.json` for this process. A salvage pass continues without it on a full disk, to report the run's end."""
    me = known(os.getpid())
    facts = {"pid": me.pid, "started": me.started, "errand": errand, "mark": folder.mark}
    try:
        files.write(folder.agent, json.dumps(facts).encode())
    except OSError:
        if errand is not Errand.SALVAGE:
            raise
        log.warning("%s cannot be written.", folder.agent)


def _watch(pid: int) -> int:
    """Waits for a child and reaps orphans; returns the child's status, negative for a signal. Passes SIGTERM on to it."""

    def pass_on(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, pass_on)
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            return os.waitstatus_to_exitcode(status)


def _clean_up(folder: Folder) -> int:
    """Ends all processes of the run and returns their number."""

    def reap() -> None:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass

    count = Tree(folder.mark, known(os.getpid()), everywhere=folder.container.exists()).end(meanwhile=reap)
    reap()
    log.warning("The agent died; %d processes of the run were ended.", count)
    return count


def _stdio_to(path: Path) -> None:
    """Redirects standard streams and the log to the agent's own file."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nothing)
    os.close(output)
    logging.basicConfig(
        stream=sys.__stderr__, level=logging.INFO, format="%(asctime)s.%(msecs)03d %(message)s", datefmt="%H:%M:%S"
    )
