"""ScriptRunConfig: what it takes, what it refuses and when."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.shared.folders import tree

from roost import ScriptRunConfig
from roost_job.exceptions import ExperimentExecutionException, UserErrorException


def test_a_script_with_arguments_of_all_kinds(tmp_path: Path) -> None:
    arguments = ["--epochs", 30, "--rate", 0.1, "--seed", np.int64(7), "--out", Path("a/b"), "$RANK", True]
    spec = ScriptRunConfig(tmp_path, script="./train.py", arguments=arguments, max_run_duration_seconds=60).spec("")
    assert spec.script == "train.py"
    assert spec.arguments == ("--epochs", "30", "--rate", "0.1", "--seed", "7", "--out", "a/b", "$RANK", "True")
    assert (spec.interpreter, spec.target, spec.timeout_seconds) == (sys.executable, "local", 60.0)


@pytest.mark.parametrize(
    ("command", "words", "shell"),
    [
        ("python train.py --name 'a b'", ("python train.py --name 'a b'",), True),
        ("python train.py && echo done", ("python train.py && echo done",), True),
        (["python train.py > out.txt"], ("python train.py > out.txt",), True),
        (["pip", "install", ".", "&&", "python", "train.py", 3], ("pip install . && python train.py 3",), True),
        (["python", "train.py", "--name", "a b"], ("python", "train.py", "--name", "a b"), False),
        (["python", "-c", "print(1); print(2)"], ("python", "-c", "print(1); print(2)"), False),
        (["nvidia-smi"], ("nvidia-smi",), False),
    ],
)
def test_a_command(command: Any, words: tuple[str, ...], shell: bool) -> None:
    spec = ScriptRunConfig(".", command=command).spec("")
    assert (spec.command, spec.shell) == (words, shell)


def test_no_file_is_looked_at_when_it_is_constructed() -> None:
    config = ScriptRunConfig("/nowhere", script="missing.py")
    with pytest.raises(ExperimentExecutionException, match="/nowhere"):
        config.check()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"arguments": ["--data", object()]}, r"arguments\[1\] is object"),
        ({"arguments": ["--data", None]}, r"arguments\[1\] is NoneType"),
        ({"arguments": "--epochs 3"}, "arguments must be a list"),
        ({"arguments": ["a\0b"]}, "NUL"),
        ({"command": ["python", {"a": 1}]}, r"command\[1\] is dict"),
        ({"command": "  "}, "command is empty"),
        ({"command": "ls", "script": "train.py"}, "Both"),
        ({"environment": object()}, "environment must be an Environment"),
        ({"distributed_job_config": object()}, "distributed_job_config cannot be object"),
        ({"run_config": object()}, "run_config must be a RunConfiguration"),
        ({"docker_runtime_config": object()}, "must be a DockerConfiguration"),
        ({"resume_from": object()}, "resume_from must be a DataPath, got object"),
        ({"compute_target": object()}, "compute_target must be a compute target or its name"),
        ({"max_run_duration_seconds": -1}, "seconds above 0, got -1"),
        ({"max_run_duration_seconds": "60"}, "seconds above 0, got '60'"),
    ],
)
def test_what_is_refused_at_once(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserErrorException, match=said):
        ScriptRunConfig(".", **given)


class TestCheck:
    def test_a_missing_script_names_what_may_have_been_meant(self, tmp_path: Path) -> None:
        tree(tmp_path, {"train.py": "", "lib/evaluate.py": ""})
        for typed, meant in (("trian.py", "train.py"), ("evaluate.py", "lib/evaluate.py")):
            with pytest.raises(ExperimentExecutionException) as raised:
                ScriptRunConfig(tmp_path, script=typed).check()
            assert typed in raised.value.message
            assert meant in raised.value.hint

    @pytest.mark.parametrize("script", ["../train.py", "/etc/passwd", "a\\b.py", "", "x\n.py"])
    def test_a_script_outside_or_with_an_odd_name(self, script: str, tmp_path: Path) -> None:
        with pytest.raises((UserErrorException, ExperimentExecutionException)):
            ScriptRunConfig(tmp_path, script=script).check()

    def test_a_folder_is_no_script(self, tmp_path: Path) -> None:
        tree(tmp_path, {"pkg/a.py": ""})
        with pytest.raises(ExperimentExecutionException, match="pkg"):
            ScriptRunConfig(tmp_path, script="pkg").check()

    def test_nothing_to_run(self, tmp_path: Path) -> None:
        with pytest.raises(ExperimentExecutionException, match="nothing to run"):
            ScriptRunConfig(tmp_path).check()
