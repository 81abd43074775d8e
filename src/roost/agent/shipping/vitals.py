"""System metrics: measures every few seconds what the node and the run's processes use, and logs it in the system space.

The metrics go into the run's spool folder, and are sent like all others. psutil and NVIDIA's library are loaded on first use, or
ahead of time in the warm process; without them a run has fewer metrics.
"""

import contextlib
import importlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from roost.agent.folder import Folder
from roost.machine.processes import Known
from roost_job.tracking.spool import Writer

_FIRST = 1.0
_EVERY, _LATER, _YOUNG = 5.0, 15.0, 60.0
"""Seconds between samples: `_EVERY` during the first `_YOUNG` seconds, then `_LATER`, which is enough to plot a long run."""
log = logging.getLogger("roost.agent")

Sample = Iterator[tuple[str, float]]


@cache
def load() -> tuple[Any, Any]:
    """psutil and pynvml; None for a module that is not installed."""
    found: list[Any] = []
    for name in ("psutil", "pynvml"):
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            found.append(None)
    return found[0], found[1]


class Vitals(threading.Thread):
    """Measures until `stop`. `members` returns the run's processes."""

    def __init__(
        self,
        folder: Folder,
        rank: int,
        members: Callable[[], list[Known]],
        *,
        several: bool = False,
        written: Callable[[], None] = lambda: None,
    ) -> None:
        """`rank` is the node's; with `several` nodes, metrics are named by node: `node_1/cpu_percent`. `written` is called after
        each sample."""
        super().__init__(name="vitals", daemon=True)
        self._folder = folder
        self._rank = rank
        self._several = several
        self._members = members
        self._written = written
        self._over = threading.Event()

    def stop(self) -> None:
        """Returns at once: the thread ends by itself."""
        self._over.set()

    def run(self) -> None:
        if self._over.wait(_FIRST):  # spare short runs this cost
            return
        try:
            self._measure()
        except Exception:
            log.exception("System metrics have stopped.")

    def _measure(self) -> None:
        writer = Writer(str(self._folder.spool), self._rank, "system")
        node, run, gpus = _Node(), _Processes(self._members), _Gpus()
        young_until = time.monotonic() + _YOUNG
        pause = 0.2  # rates need an earlier sample
        while not self._over.wait(pause):
            for source in (node, run, gpus):
                for name, value in source.sample():
                    writer.number(self._named(name), float(value))
            self._written()
            pause = _EVERY if time.monotonic() < young_until else _LATER

    def _named(self, name: str) -> str:
        return f"node_{self._rank}/{name.removeprefix('node/')}" if self._several else name


class _Node:
    """The whole machine. Rates are per second since the last sample."""

    def __init__(self) -> None:
        self._psutil, _ = load()
        self._last: dict[str, float] = {}
        self._at = time.monotonic()
        if self._psutil:
            self._psutil.cpu_percent(None)
            self._last = self._counters()

    def sample(self) -> Sample:
        if not self._psutil:
            return
        yield "node/cpu_percent", self._psutil.cpu_percent(None)
        memory = self._psutil.virtual_memory()
        yield "node/memory_percent", memory.percent
        yield "node/memory_bytes", memory.total - memory.available
        now, counters = time.monotonic(), self._counters()
        for name, value in counters.items():
            if name in self._last and now > self._at:
                yield f"node/{name}_per_second", (value - self._last[name]) / (now - self._at)
        self._last, self._at = counters, now

    def _counters(self) -> dict[str, float]:
        counters: dict[str, float] = {}
        disk = self._psutil.disk_io_counters()
        if disk:
            counters |= {"disk_read_bytes": disk.read_bytes, "disk_write_bytes": disk.write_bytes}
        network = self._psutil.net_io_counters()
        if network:
            counters |= {"network_sent_bytes": network.bytes_sent, "network_received_bytes": network.bytes_recv}
        return counters


class _Processes:
    """The run's own processes together; 100 % of processor time is one core."""

    def __init__(self, members: Callable[[], list[Known]]) -> None:
        self._psutil, _ = load()
        self._members = members
        self._seconds: dict[Known, float] = {}
        self._at = time.monotonic()

    def sample(self) -> Sample:
        if not self._psutil:
            return
        now, memory, used = time.monotonic(), 0, 0.0
        seconds: dict[Known, float] = {}
        for member in self._members():
            with contextlib.suppress(self._psutil.Error):
                process = self._psutil.Process(member.pid)
                times = process.cpu_times()
                seconds[member] = times.user + times.system
                used += seconds[member] - self._seconds.get(member, 0.0 if self._seconds else seconds[member])
                memory += process.memory_info().rss
        if self._seconds and now > self._at:
            yield "run/cpu_percent", 100.0 * used / (now - self._at)
        yield "run/memory_bytes", memory
        yield "run/processes", len(seconds)
        self._seconds, self._at = seconds, now


class _Gpus:
    """NVIDIA GPUs, where there are any."""

    def __init__(self) -> None:
        _, self._nvml = load()
        self._handles: list[Any] = []
        if self._nvml:
            with contextlib.suppress(self._nvml.NVMLError):  # no driver on this node
                self._nvml.nvmlInit()
                count = self._nvml.nvmlDeviceGetCount()
                self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]

    def sample(self) -> Sample:
        for index, handle in enumerate(self._handles):
            with contextlib.suppress(self._nvml.NVMLError):
                rates = self._nvml.nvmlDeviceGetUtilizationRates(handle)
                memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
                yield f"gpu/{index}/utilization_percent", rates.gpu
                yield f"gpu/{index}/memory_bytes", memory.used
                yield f"gpu/{index}/memory_percent", 100.0 * memory.used / memory.total
            with contextlib.suppress(self._nvml.NVMLError):
                yield f"gpu/{index}/power_watts", self._nvml.nvmlDeviceGetPowerUsage(handle) / 1000
