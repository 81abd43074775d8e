import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.shared.disks import small_disk

from roost.agent.finishing import outcomes
from roost.agent.folder import Folder
from roost.domain.environments import EnvironmentUse
from roost.domain.runs import Reason, RunSpec, RunStatus

TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
    raise ValueError("bad lr")
ValueError: bad lr"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", ""),
        (b"one\ntwo\n", "one\ntwo"),
        (b"no newline", "no newline"),
        (f"epoch 1\nepoch 2\n{TRACEBACK}\n".encode(), TRACEBACK),
        (f"{TRACEBACK}\n\nDuring handling of it:\n\n{TRACEBACK}\n\n".encode(), TRACEBACK),
        (b"10%\r50%\r100%\ndone\r\n", "100%\ndone"),
        (b"\x1b[31mred\x1b[0m\x07\n", "red"),
        (b"\xff\xfe garbage\n", "�� garbage"),
        (b"".join(b"%d\n" % n for n in range(100)), "\n".join(str(n) for n in range(80, 100))),
        (b"x" * 100_000, "x" * 500 + "…"),
    ],
)
def test_last_words(tmp_path, text, expected):
    log = tmp_path / "log"
    log.write_bytes(text)
    assert outcomes.last_words(log) == expected


def test_no_log_has_no_last_words(tmp_path):
    assert outcomes.last_words(tmp_path / "none") == ""


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        (0, RunStatus.COMPLETED, ""),
        (3, RunStatus.FAILED, "The script ended with exit code 3.\nlast line"),
        (-9, RunStatus.FAILED, "The script was ended by SIGKILL. Perhaps the machine ran out of memory.\nlast line"),
        (-11, RunStatus.FAILED, "The script was ended by SIGSEGV.\nlast line"),
        (-40, RunStatus.FAILED, "The script was ended by signal 40.\nlast line"),
    ],
)
def test_of_exit(tmp_path, code, status, words):
    log = tmp_path / "log"
    log.write_text("last line\n")
    outcome = outcomes.of_exit(code, log)
    assert (outcome.to, outcome.message, outcome.exit_code) == (status, words, code)


def test_of_exit_on_a_full_disk(tmp_path):
    """The log had no room for the script's own words about it."""
    with small_disk(tmp_path / "disk", "1m") as disk:
        log = disk / "log"
        log.write_text("last line\n")
        (disk / "filler").write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize))
        outcome = outcomes.of_exit(1, log)
        assert (
            outcome.message == f"The script ended with exit code 1.\nlast line\nNo room is left on the disk of {disk}."
        )


def test_losses_fail_a_run_that_went_well():
    outcome = outcomes.DONE.with_losses(["'outputs/a' (it may not be read)"], Path("/node/work"))
    assert outcome.to is RunStatus.FAILED
    assert outcome.reason is Reason.UPLOAD_FAILED
    assert "outputs/a" in outcome.message
    assert "/node/work" in outcome.message
    assert outcome.exit_code == 0


def test_losses_do_not_hide_why_a_run_failed():
    outcome = outcomes.failed(Reason.EXIT_CODE, "It broke.", 1).with_losses([f"f{n}" for n in range(30)], Path("/w"))
    assert outcome.reason is Reason.EXIT_CODE
    assert outcome.message.startswith("It broke.\n")
    assert "f9 and 20 more" in outcome.message


def test_an_outcome_is_noted_and_found_again(tmp_path):
    folder = Folder(tmp_path)
    assert outcomes.load(folder) is None
    outcome = outcomes.failed(Reason.TIMED_OUT, "Too long.", -15)
    outcomes.save(folder, outcome)
    assert outcomes.load(folder) == outcome
    assert folder.ended.stat().st_mode & 0o777 == 0o600


def test_a_damaged_note_counts_as_none(tmp_path):
    (tmp_path / "ended.json").write_text('{"to": "Compl')
    assert outcomes.load(Folder(tmp_path)) is None


def test_the_first_rank_that_failed_under_mpi_is_told_with_its_last_lines_masked(tmp_path):
    folder = Folder(tmp_path)
    assert outcomes.of_ranks(folder, str) == ""
    folder.ranks.mkdir()
    for rank, code, at in ((2, "-15", 20), (10, "3", 10), (4, "", 5)):
        (folder.ranks / f"{rank}.txt").write_text(f"rank {rank} cannot log in with hunter2\n")
        mark = folder.ranks / f"{rank}.failed"
        mark.write_text(code)
        os.utime(mark, (at, at))
    words = outcomes.of_ranks(folder, lambda text: text.replace("hunter2", "***"))
    assert words == "Rank 10 ended with exit code 3.\nrank 10 cannot log in with ***"
    assert outcomes.told(Reason.NODE_FAILED, words=words).message == words


class TestMissingModule:
    """Where a script looked for a module that it did not find, and what to do."""

    SPEC = RunSpec(script="train.py", interpreter="/opt/python")

    def test_without_an_environment_the_interpreter_is_named(self):
        hint = outcomes.missing_module("Traceback\nModuleNotFoundError: No module named 'numpy'", self.SPEC)
        assert hint.startswith(
            "hint: 'numpy' is neither among the run's files nor in /opt/python, which was used because"
        )
        assert "--environment" in hint

    def test_an_environment_is_named(self):
        spec = replace(self.SPEC, environment=EnvironmentUse(name="birds"))
        hint = outcomes.missing_module("ModuleNotFoundError: No module named 'numpy'", spec)
        assert hint == (
            "hint: 'numpy' is neither among the run's files nor in environment 'birds': add the package that has it to the "
            "environment."
        )

    def test_a_package_without_the_module_is_another_version(self):
        hint = outcomes.missing_module("ModuleNotFoundError: No module named 'sklearn.externals.six'", self.SPEC)
        assert hint.startswith(
            "hint: 'sklearn' is there, but without 'sklearn.externals.six': the script needs another version"
        )

    @pytest.mark.parametrize(
        "message",
        [
            "",
            "ValueError: no",
            "ModuleNotFoundError: No module named 'numpy'\nI go on without it",
            "ModuleNotFoundError: gone",
        ],
    )
    def test_other_ends_have_no_hint(self, message):
        assert outcomes.missing_module(message, self.SPEC) == ""
