"""Environments: what a known lock with its prefix adds to a run, and a prefix made beside `uv pip install` of the same lock."""

import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import uv

from bench.noop_run import SCRIPT
from bench.setting import Setting, timed
from bench.table import Line, within
from roost import Environment, ScriptRunConfig
from roost.environments import base, pythons
from roost.environments.pip import settings as pip_settings
from roost.environments.pip.builder import UvBuilder

PACKAGES = ("numpy", "requests", "click", "rich", "jinja2")


def measure(bench: Setting) -> list[Line]:
    environment = Environment("bench")
    environment.python.conda_dependencies.set_pip_requirements(list(PACKAGES if not bench.small else PACKAGES[-1:]))
    plain = ScriptRunConfig(bench.script(SCRIPT), script="train.py")
    ours = ScriptRunConfig(bench.script(SCRIPT), script="train.py", environment=environment)
    first = bench.experiment.submit(ours)  # builds it
    first.wait_for_completion()
    first.download_file("system_logs/environment.lock", str(bench.folder / "lock.txt"))
    lock = base.read_lock((bench.folder / "lock.txt").read_text())
    with_it, without = [], []
    for _ in range(max(bench.rounds, bench.size(15, 3))):
        with_it.append(started(bench, ours))
        without.append(started(bench, plain))
    extra = statistics.median(with_it) - statistics.median(without)
    # In turn, so that both meet the same disk in the same mood.
    mine, bare = [], []
    for number in range(max(3, bench.rounds)):
        mine.append(timed(lambda number=number: install(bench, lock, number)))  # type: ignore[misc]
        bare.append(timed(lambda number=number: uv_alone(bench, lock, number)))  # type: ignore[misc]
    return [
        Line(what="warm environment: lock known, prefix there", ours=extra, unit="s", budget=0.03),
        within("cold environment", statistics.median(mine), "s", "uv pip install", statistics.median(bare), 1.1),
    ]


def started(bench: Setting, config: ScriptRunConfig) -> float:
    """Seconds from the submission to the script's start."""
    begun = time.time()
    run = bench.experiment.submit(config)
    run.wait_for_completion()
    moment = run.start_time
    assert moment is not None
    return moment.timestamp() - begun


def install(bench: Setting, lock: base.Lock, number: int) -> None:
    """As an agent does it: under the prefix's lock, with its log and its mark."""
    home = bench.folder / f"node-{number}"
    builder = UvBuilder(lambda _: None, lambda: None, home=home)
    base.ensure(home, "ab" * 32, lambda prefix: builder.install(lock, prefix), lambda _: None, lambda: None)
    shutil.rmtree(home)


def uv_alone(bench: Setting, lock: base.Lock, number: int) -> None:
    """The same by hand: a virtual environment, and the lock into it."""
    folder = bench.folder / f"bare-{number}"
    wanted = Path(bench.folder, "body.txt")
    wanted.write_text(lock.body)
    env = {**os.environ, **pip_settings.read().variables}
    tool = uv.find_uv_bin()
    for arguments in (
        ["venv", "--python", pythons.choose(lock.python).path, str(folder)],
        ["pip", "install", "--python", str(folder / "bin/python"), "-r", str(wanted)],
    ):
        subprocess.run([tool, *arguments], check=True, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    shutil.rmtree(folder)
