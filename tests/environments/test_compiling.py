"""The rules of packages that are compiled, as tables: what is in the environment → what the compiler is told."""

import tomllib
from pathlib import Path

import pytest

from roost.domain.errors import InvalidInput
from roost.environments.base import BuildFailed
from roost.environments.pip import compiling

BODY = """--extra-index-url https://wheels.test/cpu
cloudpickle==2.2.1 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
Horovod==0.19.5 \\
    --hash=sha256:cc
mine @ roost-blob:00/mine-1-py3-none-any.whl \\
    --hash=sha256:dd
torch==1.6.0 \\
    --hash=sha256:ee
"""


@pytest.mark.parametrize(
    ("pins", "against", "variables", "flags"),
    [
        (
            {"horovod": "0.19.5", "torch": "1.6.0"},
            ("torch==1.6.0",),
            {"HOROVOD_WITH_PYTORCH": "1", "HOROVOD_WITHOUT_TENSORFLOW": "1", "HOROVOD_WITHOUT_GLOO": "1"},
            "",
        ),
        (
            {"horovod": "0.19.5", "tensorflow-gpu": "2.2.0"},
            ("tensorflow-gpu==2.2.0",),
            {"HOROVOD_WITHOUT_PYTORCH": "1", "HOROVOD_WITH_TENSORFLOW": "1", "CFLAGS": "-include stdexcept"},
            "",
        ),
        (
            {"horovod": "0.19.5", "torch": "1.6.0", "tensorflow": "2.2.0"},
            ("torch==1.6.0", "tensorflow==2.2.0"),
            {"HOROVOD_WITH_PYTORCH": "1", "HOROVOD_WITH_TENSORFLOW": "1", "HOROVOD_WITHOUT_MXNET": "1"},
            "",
        ),
        (
            {"horovod": "0.28.1", "torch": "2.13.0+cpu"},
            ("torch==2.13.0+cpu",),
            {"HOROVOD_WITH_PYTORCH": "1", "HOROVOD_WITH_GLOO": "1", "HOROVOD_WITH_MPI": "1"},
            "-std=c++17",
        ),
        ({"horovod": "0.28.1", "torch": "1.13.1"}, ("torch==1.13.1",), {"HOROVOD_WITH_GLOO": "1"}, ""),
    ],
)
def test_horovod_is_compiled_for_what_is_there(
    pins: dict[str, str], against: tuple[str, ...], variables: dict[str, str], flags: str
) -> None:
    plan = compiling.load().plan("horovod", pins)
    assert (plan.against, plan.flags) == (against, flags)
    assert [need.program for need in plan.needs] == ["g++", "mpicxx"]
    assert variables.items() <= plan.variables.items()
    for name in ("PYTORCH", "TENSORFLOW", "MXNET"):
        assert (f"HOROVOD_WITH_{name}" in plan.variables) != (f"HOROVOD_WITHOUT_{name}" in plan.variables)


def test_a_pytorch_for_cuda_does_not_make_it_look_for_cuda_on_a_node_without_gpu() -> None:
    plan = compiling.load().plan("horovod", {"horovod": "0.28.1", "torch": "1.13.1"})
    assert plan.hide == ("torch.utils.cpp_extension.CUDA_HOME",)
    assert "HOROVOD_GPU_OPERATIONS".startswith(plan.unless)


def test_which_are_compiled_wherever_they_are_asked_for() -> None:
    lines = ["Horovod[torch]==0.19.5", "mpi4py", "torch==1.6.0", "mine @ roost-blob:00/mine-1-py3-none-any.whl"]
    assert compiling.load().always(lines) == ["horovod"], "of mpi4py a wheel is as good"


def test_without_a_framework_it_says_so() -> None:
    with pytest.raises(BuildFailed, match=r"horovod 0\.19\.5 .* has none") as caught:
        compiling.load().plan("horovod", {"horovod": "0.19.5", "numpy": "1.19.5"})
    assert "torch or tensorflow" in caught.value.hint


def test_a_plan_stands_in_a_lock_and_reads_back() -> None:
    plan = compiling.load().plan("horovod", {"horovod": "0.28.1", "torch": "2.13.0"})
    assert compiling.plans(f"{BODY}{plan.line}\n# another remark\n") == [plan]
    assert compiling.plans(BODY) == []


def test_a_lock_s_lines() -> None:
    assert compiling.pins(BODY) == {"cloudpickle": "2.2.1", "horovod": "0.19.5", "mine": "", "torch": "1.6.0"}
    assert compiling.entry(BODY, "cloudpickle").count("--hash") == 2
    assert compiling.entry(BODY, "numpy") == ""
    rest = compiling.without(BODY, ["horovod", "numpy"])
    assert "orovod" not in rest
    assert rest.count("--hash") == 4
    assert rest.startswith("--extra-index-url")


def test_uv_is_told_what_such_packages_depend_on() -> None:
    told = tomllib.loads(compiling.load().metadata())["dependency-metadata"]
    (horovod,) = [each for each in told if each["name"] == "horovod"]
    assert "cloudpickle" in horovod["requires-dist"]


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("0.19.5", "<0.20", True),
        ("0.20", "<0.20", False),
        ("0.20.0", "<=0.20", True),
        ("2.13.0+cpu", ">=2.1,<3", True),
        ("2.0.1", ">=2.1", False),
        ("1.10", ">1.9", True),
        ("1.2rc1", "==1.2", True),
        ("1.2", "!=1.2", False),
        ("7", "", True),
    ],
)
def test_versions_fit_by_their_numbers(version: str, wanted: str, fits: bool) -> None:
    assert compiling.fits(version, wanted) == fits


def test_a_machine_has_rules_of_its_own(tmp_path: Path) -> None:
    own = tmp_path / "build-rules.toml"
    own.write_text(
        '[package.Their_Ops]\nrequires = ["numpy"]\n[[package.Their_Ops.rule]]\nneeds = ["compiler"]\n'
        '[package.mpi4py]\n[[package.mpi4py.rule]]\nvariables = { MPICC = "/opt/mpi/bin/mpicc" }\n'
    )
    rules = compiling.load(own, tmp_path / "absent.toml")
    assert rules.plan("their-ops", {"their-ops": "1.0"}).needs[0].program == "g++"
    assert rules.plan("mpi4py", {"mpi4py": "3.1"}).variables == {"MPICC": "/opt/mpi/bin/mpicc"}
    assert not rules.takes_wheels("mpi4py"), "its own word stands before Roost's"
    assert "horovod" in rules.packages


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[package", "Expected"),
        ("[[package.ops.rule]]\nneeds = ['unobtainium']\n", "'unobtainium' is missing"),
        ("[[package.ops.rule]]\nframeworks = ['torch']\n", "'framework' is missing"),
        ("[[package.ops.rule]]\nversion = '>1'\n", "unknown words version"),
        ("[[package.ops.rule]]\nversions = 'new'\n", "no range"),
        ("[need.cuda]\nprogram = 'nvcc'\n", "install"),
        ("[need.cuda]\nprogram = 'nvcc'\ninstall = 'x'\nwhat = 'x'\nurl = 'x'\n", "unknown words url"),
    ],
)
def test_rules_that_are_not_understood_are_named(tmp_path: Path, text: str, told: str) -> None:
    own = tmp_path / "build-rules.toml"
    own.write_text(text)
    with pytest.raises(InvalidInput, match=told) as caught:
        compiling.load(own)
    assert str(own) in caught.value.message


def test_a_version_that_no_rule_is_for(tmp_path: Path) -> None:
    own = tmp_path / "build-rules.toml"
    own.write_text('[package.ops]\n[[package.ops.rule]]\nversions = "<2"\n')
    with pytest.raises(BuildFailed, match=r"ops 2\.1"):
        compiling.load(own).plan("ops", {"ops": "2.1"})
