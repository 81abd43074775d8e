"""The warm process, `python -m roost.agent.warm FD`: everything an agent needs is imported here once, each agent is a fork of it.

It has one thread and does one thing: a request on its socket names a run's folder and brings its held lock; a keeper is
forked for it, and the answer is that keeper's pid and start time. It ends when the socket closes; the keepers stay.
"""

import argparse
import contextlib
import gc
import json
import os
import signal
import socket
from pathlib import Path

import roost.transport.exchanges  # noqa: F401 - every agent talks; else each would load it anew
from roost.agent.keeper import keep
from roost.agent.preparing import job_library
from roost.agent.shipping import vitals
from roost.domain.codec import decode, encode
from roost.domain.plans import Access, Plan
from roost.domain.runs import Run, RunSpec
from roost.machine.processes import known

_LARGEST = 64 * 1024


def serve(channel: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps keepers that end
    while True:
        data, fds, _, _ = socket.recv_fds(channel, _LARGEST, 4)
        if not data:
            return
        answer = _start(channel, Path(json.loads(data)["folder"]), fds)
        with contextlib.suppress(BrokenPipeError):
            channel.send(json.dumps(answer).encode())


def _start(channel: socket.socket, folder: Path, fds: list[int]) -> dict[str, object]:
    try:
        for fd in fds:
            os.set_inheritable(fd, False)
        pid = os.fork()
        if pid == 0:
            channel.close()
            keep(folder)
        return {"pid": pid, "started": known(pid).started}
    except OSError as error:
        return {"error": f"No process can be started for {folder.name}: {error.strerror}."}
    finally:
        for fd in fds:  # the keeper has its own copies, and so the lock
            os.close(fd)


def rehearse() -> None:
    """Does the slow first-time work here, once for all agents: libraries that load on use, type hints of records."""
    job_library.name()
    vitals.load()
    "localhost".encode("idna")  # every first connection loads this codec
    plan = Plan(run_id="r", workspace="w", experiment="e", spec=RunSpec())
    decode(Plan, encode(plan))
    decode(Access, encode(Access(url="", token="")))
    decode(Run, encode(Run(id="r", workspace="w", experiment="e", number=1, spec=plan.spec, user="u", created_at=0.0)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m roost.agent.warm", description=__doc__)
    parser.add_argument("fd", type=int, help="a SOCK_SEQPACKET socket")
    channel = socket.socket(fileno=parser.parse_args().fd)
    channel.set_inheritable(False)
    rehearse()
    gc.collect()
    gc.freeze()  # forks share these pages as long as the collector does not touch them
    with channel, contextlib.suppress(KeyboardInterrupt):
        serve(channel)


if __name__ == "__main__":
    main()
