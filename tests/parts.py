"""`make test-real`: the parts, some at the same time, each in a pytest of its own with the seconds it may take. Ends with a table
of times and outcomes and the skipped tests by reason; a part that is left out for time stands in it.

With ROOST_TEST_TIMES set, a line `name<TAB>seconds<TAB>outcome` per part is added to that file, which `.ci/run` prints.
"""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests import skips

LEFT_OUT, CUT_OFF = "left out", "cut off"
_TIMED_OUT = 124, 137  # timeout's own codes: ended with INT, ended with KILL


@dataclass(frozen=True)
class Part:
    name: str
    seconds: float
    outcome: str
    counts: str = ""
    skipped: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return self.outcome not in ("passed", LEFT_OUT, CUT_OFF)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.parts")
    parser.add_argument("--known", required=True, help="all parts with their seconds: studio:600 bench:1800")
    parser.add_argument("--seconds", type=float, required=True, help="what all of them together may take")
    parser.add_argument("--at-once", type=int, default=1, help="how many parts run at the same time")
    parser.add_argument("--alone", default="", help="the part that measures: it runs last, with no other beside it")
    parser.add_argument(
        "--folder", type=Path, default=Path("tests/real"), help="where test_<part>.py and test_<part>_*.py are"
    )
    parser.add_argument("parts", nargs="+")
    given = parser.parse_args(argv)
    budgets = {name: float(seconds) for name, _, seconds in (each.partition(":") for each in given.known.split())}
    unknown = [name for name in given.parts if name not in budgets]
    if unknown:
        print(f'There is no part "{unknown[0]}"; they are: {" ".join(budgets)}')
        return 2
    began = time.monotonic()
    done: list[Part] = []
    for names in ([name for name in given.parts if name != given.alone], [given.alone] * (given.alone in given.parts)):
        queue = [(name, budgets[name]) for name in names]
        done += run(queue, given.folder, began + given.seconds, min(given.at_once, len(queue)))
    print("\n".join(report(done, time.monotonic() - began, given.seconds)), flush=True)
    return 1 if any(part.failed for part in done) else 0


def run(queue: list[tuple[str, float]], folder: Path, deadline: float, at_once: int) -> list[Part]:
    """Runs parts in their order. One by one they write to this terminal; of several at once each is shown whole when it ends."""
    queue, done = queue[:], []
    going: list[Going] = []
    try:
        while queue or going:
            while queue and len(going) < at_once:
                name, budget = queue.pop(0)
                left = deadline - time.monotonic()
                if budget / 2 > left:  # half of its budget is what a part usually takes
                    done.append(_noted(Part(name, 0, LEFT_OUT)))
                else:
                    going.append(Going(name, files(name, folder), budget, left, live=at_once == 1))
            for ended in [each for each in going if each.process.poll() is not None]:
                going.remove(ended)
                done.append(_noted(ended.finish()))
            time.sleep(0.1)
    except KeyboardInterrupt:
        for each in going:
            each.interrupt()
        raise
    return done


class Going:
    """A part that runs. One that all parts together left too little time for has not failed, unless a test of it has."""

    def __init__(self, name: str, tests: Sequence[Path], budget: float, left: float, live: bool) -> None:
        self.name, self.seconds, self.may_be_cut = name, min(budget, left), left < budget
        print(f"== {name} (at most {self.seconds:.0f} s)", flush=True)
        self.began = time.monotonic()
        self.place = tempfile.TemporaryDirectory(prefix="roost-parts-")
        self.results = Path(self.place.name, "results.xml")
        self.output = None if live else Path(self.place.name, "output")
        pytest = [sys.executable, "-m", "pytest", "-p", "tests.interrupts", "-m", "real"]
        limit = ["timeout", "--signal", "INT", "--kill-after", "60", f"{self.seconds:.0f}"]
        command = [*limit, *pytest, *map(str, tests), f"--junitxml={self.results}"]
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(self.output.open("wb")) if self.output else None
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT if output else None)

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)  # it is in a process group of its own, which no signal for ours reaches
        self.process.wait()
        self.place.cleanup()

    def finish(self) -> Part:
        """The part that has ended, its output shown."""
        took, code = time.monotonic() - self.began, self.process.returncode
        if self.output:
            print(self.output.read_text(errors="replace"), end="", flush=True)
        counts, skipped = _read(self.results)
        self.place.cleanup()
        outcome = "passed" if not code else "failed"
        if code in _TIMED_OUT and "failed" not in counts and "errors" not in counts:
            outcome = CUT_OFF if self.may_be_cut else f"not done in {self.seconds:.0f} s"
        print(f"== {self.name}: {outcome}, {took:.0f} s", flush=True)
        return Part(self.name, took, outcome, counts, skipped)


def files(name: str, folder: Path) -> list[Path]:
    """The files of a part; the first need not be there, so that pytest names it when a part has none."""
    return [folder / f"test_{name}.py", *sorted(folder.glob(f"test_{name}_*.py"))]


def _read(results: Path) -> tuple[str, tuple[str, ...]]:
    """Numbers of tests, and why the skipped ones were; of a part that was ended with KILL there is nothing to read."""
    try:
        suite = next(ElementTree.parse(results).getroot().iter("testsuite"))  # written by our own pytest
    except (OSError, ElementTree.ParseError, StopIteration):
        return "", ()
    failed, errors, skipped = (int(suite.get(name, 0)) for name in ("failures", "errors", "skipped"))
    passed = int(suite.get("tests", 0)) - failed - errors - skipped
    counts = {"passed": passed, "failed": failed, "errors": errors, "skipped": skipped}
    reasons = tuple(each.get("message", "") for each in suite.iter("skipped") if each.get("type") == "pytest.skip")
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count), reasons


def report(parts: Sequence[Part], took: float, seconds: float) -> list[str]:
    lines = ["", "The parts of test-real:"]
    lines += [f"  {part.name:<14}{part.seconds:>6.0f} s  {part.outcome:<10}  {part.counts}".rstrip() for part in parts]
    lines.append(f"  {'all':<14}{took:>6.0f} s")
    lines += skips.summary(reason for part in parts for reason in part.skipped)
    if late := [part.name for part in parts if part.outcome in (LEFT_OUT, CUT_OFF)]:
        lines.append(f"Not run to their end within the {seconds:.0f} s of all parts: {' '.join(late)}")
    if failed := [part.name for part in parts if part.failed]:
        lines.append(f"Failed: {' '.join(failed)}")
    return lines


def _noted(part: Part) -> Part:
    if place := os.environ.get("ROOST_TEST_TIMES"):
        with open(place, "a") as file:
            file.write(f"{part.name}\t{part.seconds:.0f}\t{part.outcome}\n")
    return part


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # told to end, it ends the parts that run too
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
