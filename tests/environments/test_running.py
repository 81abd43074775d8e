"""What is told of programs, and that nothing of them stays."""

import os
import signal
from pathlib import Path

from roost.environments.running import Compiling, Downloads, Runner, Words, last_words


def test_what_a_program_left_behind_ends_with_it() -> None:
    said: list[str] = []
    runner = Runner(said.append, lambda: None, os.environ)
    lines = runner.run(["sh", "-c", "sleep 1000 & echo $!"], Words("Trying"), scrub=str, hint=str)
    assert said == lines
    assert not Path("/proc", lines[0], "exe").exists()


def test_what_went_into_a_session_of_its_own_is_not_waited_for() -> None:
    said: list[str] = []
    runner = Runner(said.append, lambda: None, os.environ)
    lines = runner.run(["sh", "-c", "setsid sleep 1000 & echo $!"], Words("Trying"), scrub=str, hint=str)
    assert said == lines
    assert Path("/proc", lines[0], "exe").exists()
    os.kill(int(lines[0]), signal.SIGKILL)


def test_a_silent_program_gives_a_sign_of_life() -> None:
    words = Words("Resolving")
    assert words.pulse(3, 3) == ""
    assert words.pulse(23, 11) == "Resolving: 23 s."
    assert words.heard("error: no") == "error: no"


def test_downloads_are_told_together() -> None:
    words = Downloads("Installing")
    for line in (
        "Downloading torch (714.1MiB)",
        "Downloading numpy (14.1MiB)",
        "Downloading big (1.5GiB)",
        " Downloaded numpy",
    ):
        assert words.heard(line) == ""
    assert words.pulse(0.5, 0.5) == "", "at most a line a second"
    told = words.pulse(2, 2)
    assert told == "Downloading: 1 of 3 packages, 15 of 2374 MB, 2 s; on its way: big (1611 MB), torch (749 MB)."
    assert words.pulse(4, 2) == "", "nothing new"
    assert words.pulse(14, 12) == told.replace(" 2 s", " 14 s")
    for name in ("torch", "big"):
        words.heard(f" Downloaded {name}")
    assert words.pulse(15, 2) == "Downloading: 3 of 3 packages, 2374 of 2374 MB, 15 s."
    assert words.heard("Installed 3 packages in 2s") == "Installed 3 packages in 2s"


def test_of_a_compiler_what_it_is_at_now_and_then() -> None:
    words = Compiling("Compiling horovod")
    assert words.heard("DEBUG running build") == ""
    assert words.heard("DEBUG") == ""
    assert words.pulse(5, 5) == ""
    assert words.pulse(12, 12) == "Compiling horovod: 12 s. running build"
    words.heard("DEBUG " + "word " * 50)
    assert len(words.pulse(30, 12)) < 150
    words.heard("DEBUG g++ -c x/a.cc -o build/b.o " + "-I/x.c " * 50)
    words.heard("DEBUG      |  ^~~~~~")
    assert words.pulse(30, 12) == "Compiling horovod: 30 s. build/b.o"
    assert words.heard("error: failed") == "error: failed"


LONG = """Using Python 3.11.7 environment at: v
Resolved 1 package in 829ms
error: Failed to build `numpy==1.16.0`
  cause: The build backend returned an error
  cause: Call to `setuptools.build_meta:__legacy__.build_wheel` failed (exit status: 1)

{}
         NameError: name 'CCompiler' is not defined. Did you mean: 'ccompiler'?

hint: Build failures usually indicate a problem with the package or the build environment"""


def test_of_a_long_error_what_it_is_and_how_it_ended() -> None:
    words = last_words(LONG.format("\n".join(f"         File {each}" for each in range(40))).splitlines())
    assert words.startswith("error: Failed to build `numpy==1.16.0`\n")
    assert "\n…\n" in words and "File 20" not in words
    assert words.endswith("Did you mean: 'ccompiler'?")


def test_of_a_short_error_all_of_it() -> None:
    assert last_words(["Resolved", "error: no", "  cause: yes"]) == "error: no\n  cause: yes"
    assert last_words(["said", "something else"]) == "said\nsomething else"
    assert last_words([]) == ""
