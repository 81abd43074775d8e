"""Tab in a shell: commands, options and run ids; it starts nothing. Asked as the shell's own script asks."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.cli.commands import ROOST
from tests.cli.test_cli import roost
from tests.shared.folders import tree

ASK = 'eval "$($0 completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _roost_completion $0; echo "${COMPREPLY[@]}"'


def offered(*words: str) -> list[str]:
    argv = ["bash", "-c", ASK, ROOST, "roost", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_commands_and_options(home: Path) -> None:
    assert offered("run", "sh") == ["show"]
    assert {"doctor", "down", "du"} <= set(offered("d"))
    assert "--older-than" in offered("gc", "--")
    assert offered("run", "show", "") == []
    assert not home.exists()


def test_every_shell_has_a_script(home: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        assert "_ROOST_COMPLETE" in roost("completion", shell)
    assert "error: There is no completion for the shell 'tcsh'." in roost("completion", "tcsh", code=1)


@pytest.mark.slow
def test_run_ids(home: Path, tmp_path: Path) -> None:
    tree(tmp_path, {"train.py": "print(1)"})
    run_id = roost("submit", "-d", "train.py").strip()
    assert offered("run", "show", "tr") == [run_id]
    assert offered("run", "cancel", "@") == ["@latest"]
    assert os.environ["ROOST_HOME"] == str(home)
