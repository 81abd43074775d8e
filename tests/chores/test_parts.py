"""`make test-real` ends with the time and outcome of every part, and with the skipped tests by reason."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from tests import parts, skips

KNOWN = "good:100 bad:100 slow:2 long:4000"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    head = "import time\nimport pytest\npytestmark = pytest.mark.real\n"
    files = {
        "good": "def test_a(): pass\n@pytest.mark.skip('no GPU')\ndef test_b(): pass\ndef test_c(): pytest.skip('no GPU')\n",
        "bad": "def test_a(): assert 0\ndef test_b(): pytest.skip('no FUSE')\n",
        "slow": "def test_a(): time.sleep(100)\n",
    }
    for name, text in files.items():
        (tmp_path / f"test_{name}.py").write_text(head + text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = real: x\n")
    monkeypatch.setenv("ROOST_TEST_TIMES", str(tmp_path / "times"))
    return tmp_path


def run(folder: Path, *names: str, seconds: int = 1000) -> int:
    return parts.main(["--known", KNOWN, "--seconds", str(seconds), "--folder", str(folder), *names])


def test_the_end_names_every_part(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "good", "bad", "slow", "long") == 1
    said = re.sub(r" +\d+ s(?=\n|  )", " N s", capfd.readouterr().out)
    assert said[said.index("The parts of") :].splitlines() == [
        "The parts of test-real:",
        "  good N s  passed      1 passed, 2 skipped",
        "  bad N s  failed      1 failed, 1 skipped",
        "  slow N s  not done in N s",
        "  long N s  left out",
        "  all N s",
        "3 skipped, for 2 reasons:",
        "  2 × no GPU",
        "  1 × no FUSE",
        "Not run to their end within the 1000 s of all parts: long",
        "Failed: bad slow",
    ]
    times = [line.split("\t") for line in (folder / "times").read_text().splitlines()]
    assert [(name, outcome) for name, _, outcome in times] == [
        ("good", "passed"),
        ("bad", "failed"),
        ("slow", "not done in 2 s"),
        ("long", "left out"),
    ]


def test_what_is_left_out_is_no_failure(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "good", "long") == 0
    assert capfd.readouterr().out.endswith("of all parts: long\n")


def test_a_part_that_the_others_left_no_time_for_has_not_failed(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "test_long.py").write_text((folder / "test_slow.py").read_text())
    assert parts.main(["--known", "long:5", "--seconds", "3", "--folder", str(folder), "long"]) == 0
    assert "  long N s  cut off" in re.sub(r" +\d+ s(?=\n|  )", " N s", capfd.readouterr().out)


def test_a_part_that_is_cut_off_after_a_failure_has_failed(folder: Path) -> None:
    (folder / "test_long.py").write_text((folder / "test_bad.py").read_text() + "def test_c(): time.sleep(100)\n")
    assert parts.main(["--known", "long:30", "--seconds", "16", "--folder", str(folder), "long"]) == 1


def test_a_part_whose_test_takes_the_cut_for_an_error_has_not_failed(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "test_long.py").write_text(
        "import time, pytest\n@pytest.mark.real\ndef test_a():\n    try:\n        time.sleep(100)\n"
        "    except KeyboardInterrupt:\n        raise RuntimeError('interrupted')\n"
    )
    assert parts.main(["--known", "long:30", "--seconds", "16", "--folder", str(folder), "long"]) == 0
    assert "== long: cut off" in capfd.readouterr().out


def test_parts_at_the_same_time_are_shown_one_after_the_other_and_the_last_is_alone(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    beside = f"import os\nhere = {str(folder)!r} + '/here-'\n"
    meet = "    open(here + {0!r}, 'w')\n    while not os.path.exists(here + {1!r}): time.sleep(0.1)\n    print('met', {1!r})\n"
    for name, other in (("good", "bad"), ("bad", "good")):
        head = "import time, pytest\n" + beside + "@pytest.mark.real\ndef test_a():\n"
        (folder / f"test_{name}.py").write_text(head + meet.format(name, other) + "    assert 0\n")
    (folder / "test_slow.py").write_text("import os, pytest\n@pytest.mark.real\ndef test_a(): pass\n")
    options = ["--known", "good:100 bad:100 slow:100", "--seconds", "1000", "--folder", str(folder)]
    assert parts.main([*options, "--at-once", "2", "--alone", "slow", "slow", "good", "bad"]) == 1
    said = capfd.readouterr().out
    begun = [line for line in said.splitlines() if line.startswith("== ") and "at most" in line]
    assert [line.split()[1] for line in begun] == ["good", "bad", "slow"]
    ends = [said.index(f"== {name}: failed") for name in ("good", "bad")]
    met = [said.index(f"met {name}") for name in ("bad", "good")]
    (first, second) = sorted(zip(met, ends, strict=True))
    assert first[0] < first[1] < second[0] < second[1] < said.index("== slow (at most")


def test_told_to_end_it_ends_the_part_that_runs(folder: Path) -> None:
    (folder / "test_long.py").write_text(
        "import os, time, pytest\n@pytest.mark.real\ndef test_a():\n"
        f"    open({str(folder / 'pid')!r}, 'w').write(str(os.getpid()))\n    time.sleep(300)\n"
    )
    words = ["--known", KNOWN, "--seconds", "9000", "--folder", str(folder), "long"]
    process = subprocess.Popen([sys.executable, "-m", "tests.parts", *words], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 100
    while not (folder / "pid").exists() or not (folder / "pid").read_text():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    process.terminate()
    assert process.wait(60) == 130
    assert not psutil.pid_exists(int((folder / "pid").read_text()))


def test_a_name_that_is_no_part_is_refused_before_any_runs(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "good", "godo") == 2
    assert capfd.readouterr().out == 'There is no part "godo"; they are: good bad slow long\n'


def test_reasons_are_counted() -> None:
    assert skips.summary([]) == []
    assert skips.summary(["Skipped: b", "a", "b"]) == ["3 skipped, for 2 reasons:", "  2 × b", "  1 × a"]


def test_pytest_ends_with_them(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_terminal_summary\n")
    (tmp_path / "test_x.py").write_text("import pytest\ndef test_a(): pytest.skip('no GPU')\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", "--rootdir", tmp_path, tmp_path],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-3:-1] == ["1 skipped, for 1 reason:", "  1 × no GPU"]


def test_every_real_test_belongs_to_a_part() -> None:
    root = Path(__file__).parents[2]
    known = next(line for line in (root / "Makefile").read_text().splitlines() if line.startswith("REAL_PARTS :="))
    names = [each.partition(":")[0] for each in known.partition(":=")[2].split()]
    of_parts = [file for name in names for file in parts.files(name, root / "tests" / "real")]
    assert sorted(of_parts) == sorted((root / "tests" / "real").glob("test_*.py"))
