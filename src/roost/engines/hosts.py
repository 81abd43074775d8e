"""Agents on other machines. Each host has one process of ours, `python -m roost.engines.host`, started by the command in the file
of hosts (`ssh gpu-1`). It gets requests over its standard input and passes them to the embedded engine there. It ends with the
control plane; the agents stay. Handles are JSON: the host's address and the handle there. Start with `HostsEngine.start`.
"""

import contextlib
import json
import logging
import os
import select
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from roost.domain import hosts as hosts_file
from roost.domain.codec import encode
from roost.domain.errors import InvalidInput, Unavailable, raise_for
from roost.domain.hosts import Host, Hosts
from roost.domain.plans import LOOPBACK, Access, Errand, Plan
from roost.engines.base import Abilities, AgentState
from roost.machine import umasks
from roost.version import VERSION

_HELLO_SECONDS = 20.0
_ANSWER_SECONDS = 30.0
_PAUSE_SECONDS = 5.0
"""The least time before a host that did not answer gets another request: each one blocks a thread of the control loop."""
_END_SECONDS = 5.0
_BLOCK = 64 * 1024
log = logging.getLogger("roost.engines")


class Settings(Protocol):
    @property
    def hosts(self) -> str: ...
    @property
    def hosts_file(self) -> Path: ...
    @property
    def host(self) -> str: ...
    @property
    def is_shared(self) -> bool: ...


def abilities(settings: Settings) -> Abilities | None:
    """None when there is no file of hosts. InvalidInput when the hosts could not reach the control plane."""
    if not settings.hosts_file.exists():
        if settings.hosts:
            raise InvalidInput(f"The file of hosts {settings.hosts} is not there.", hint="ROOST_HOSTS names it.")
        return None
    named = _read(settings)
    if not named.url and (not settings.is_shared or settings.host in ("0.0.0.0", "::")):  # noqa: S104 read, not bound
        raise InvalidInput(
            f"{settings.hosts_file} names other machines, and nothing says at which address they reach this control plane: it "
            f"listens on {settings.host}.",
            hint="Listen on an address of their network (ROOST_HOST), or give `url` in that file.",
        )
    return Abilities(hosts=tuple(host.address for host in named.hosts)) if named.hosts else None


def make(settings: Settings) -> "HostsEngine":
    return HostsEngine(_read(settings))


def _read(settings: Settings) -> Hosts:
    return hosts_file.read(settings.hosts_file.read_text(), str(settings.hosts_file))


class HostsEngine:
    """See `base.Engine`."""

    def __init__(self, hosts: Hosts) -> None:
        self._url = hosts.url
        self._channels = {host.address: _Channel(host) for host in hosts.hosts}

    def start(self, plan: Plan, access: Access) -> str:
        address = self._place(plan)
        there = replace(access, url=self._url or access.url)
        answer = self._channels[address].ask({"op": "start", "plan": encode(plan), "access": encode(there)})
        return json.dumps({"host": address, "handle": answer["handle"]})

    def status(self, handle: str) -> AgentState:
        try:
            return AgentState(self._ask("status", handle)["state"])
        except Unavailable as error:
            log.warning("%s", error.message)
            return AgentState.UNKNOWN

    def stop(self, handle: str) -> None:
        with contextlib.suppress(Unavailable):  # the caller will stop it again
            self._ask("stop", handle)

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()

    def _ask(self, op: str, handle: str) -> Mapping[str, Any]:
        known = json.loads(handle)
        if known["host"] not in self._channels:
            raise Unavailable(f"Host {known['host']} is not in the file of hosts any more.")
        return self._channels[known["host"]].ask({"op": op, "handle": known["handle"]})

    def _place(self, plan: Plan) -> str:
        """The host of the plan's node. A build, which has no node yet, goes to the first host."""
        if plan.address in self._channels:
            return plan.address
        if plan.errand is Errand.BUILD and plan.address == LOOPBACK and self._channels:
            return next(iter(self._channels))
        raise InvalidInput(
            f"No host has the address {plan.address}.", hint=f"The hosts are: {', '.join(self._channels) or 'none'}."
        )


class _Channel:
    """The process on a host and the pipes to it. One request at a time; starts at the first request, and again if it died."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._read = b""
        self._not_before = 0.0

    def ask(self, question: Mapping[str, object]) -> Mapping[str, Any]:
        """The answer. Raises the error in it, or Unavailable when there is no answer."""
        with self._lock:
            if time.monotonic() < self._not_before:
                raise Unavailable(f"Host {self._host.address} did not answer a moment ago.")
            try:
                answer = self._exchange(question)
            except (OSError, ValueError) as error:
                self._end()
                self._not_before = time.monotonic() + _PAUSE_SECONDS
                raise Unavailable(
                    f"Host {self._host.address} does not answer: {error}.",
                    hint=f"Try it: {' '.join(self._host.command)} {self._host.python} -m roost.engines.host --check",
                ) from None
        if "error" in answer:
            raise_for(500, answer)
        return answer

    def close(self) -> None:
        with self._lock:
            self._end()

    def _exchange(self, question: Mapping[str, object]) -> dict[str, Any]:
        if self._process is None or self._process.poll() is not None:
            self._begin()
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        return self._line(_ANSWER_SECONDS)

    def _begin(self) -> None:
        self._end()
        host, self._read = self._host, b""
        argv = [*host.command, host.python, "-P", "-m", "roost.engines.host", host.home]
        # Its own session, so that Ctrl-C in a terminal does not end it.
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, umask=umasks.users()
        )
        version = self._line(_HELLO_SECONDS).get("version")
        if version != VERSION:
            raise ValueError(f"it has Roost {version}, and the control plane {VERSION}")
        log.info("host %s is here", host.address)

    def _line(self, seconds: float) -> dict[str, Any]:
        """The next line of JSON; other lines are banners of a shell, and are skipped."""
        assert self._process is not None
        assert self._process.stdout is not None
        source, deadline = self._process.stdout.fileno(), time.monotonic() + seconds
        while True:
            line, cut, rest = self._read.partition(b"\n")
            if cut:
                self._read = rest
                with contextlib.suppress(ValueError):
                    return dict(json.loads(line))
                continue
            if not select.select([source], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"nothing came for {seconds:g} s")
            more = os.read(source, _BLOCK)
            if not more:
                raise OSError(f"its process ended with {self._process.wait()}; its words are in the server's log")
            self._read += more

    def _end(self) -> None:
        """Closes its input, which ends the process; kills it after `_END_SECONDS`."""
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
