"""Which variables of the machine reach a run."""

import pytest

from roost.agent.preparing.variables import passed

MACHINE = """
    PATH HOME LANG LC_ALL TZ TMPDIR https_proxy NO_PROXY SSL_CERT_FILE CUDA_VISIBLE_DEVICES OMP_NUM_THREADS NCCL_DEBUG
    PIP_INDEX_URL UV_CACHE_DIR CONDA_PKGS_DIRS PYTHONHASHSEED ROOST_HOME LD_LIBRARY_PATH HF_HOME TORCH_HOME TF_CPP_MIN_LOG_LEVEL
"""
OTHERS = """
    MPLBACKEND MPLCONFIGDIR JPY_PARENT_PID JPY_SESSION_NAME IPYTHONDIR IPY_TEST_SIMPLE_PROMPT COLAB_GPU COLAB_JUPYTER_IP
    VSCODE_CWD PYDEVD_USE_FRAME_EVAL DEBUGPY_RUNNING PYCHARM_HOSTED PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONINSPECT
    VSCODE_PID PYTHONBREAKPOINT PYTHON_BASIC_REPL PYTHONDEVMODE PYTHONOPTIMIZE PYTHONWARNINGS PYTHONEXECUTABLE
    PYENV_VERSION PYENV_SHELL PYENV_DIR CONDA_EXE
    CONDA_PYTHON_EXE CONDA_SHLVL MAMBA_EXE UV_PROJECT_ENVIRONMENT UV_RUN_RECURSION_DEPTH UV_PYTHON UV_INTERNAL__PARENT_INTERPRETER
    TORCHELASTIC_RUN_ID XDG_SESSION_ID XDG_CURRENT_DESKTOP LC_TERMINAL DISPLAY COLUMNS KERNEL_ID
    MAKEFLAGS MFLAGS MAKELEVEL VIRTUAL_ENV CONDA_PREFIX CONDA_PREFIX_1 CONDA_DEFAULT_ENV OLDPWD AWS_SECRET_ACCESS_KEY
    OPENAI_API_KEY HF_TOKEN SSH_AUTH_SOCK ROOST_TOKEN ROOST_URL ROOST_PASS ROOST_PORT PYTEST_CURRENT_TEST path BASH_FUNC_x%%
"""


@pytest.mark.parametrize("name", MACHINE.split())
def test_what_describes_the_machine_passes(name: str) -> None:
    assert passed({name: "x"}) == {name: "x"}


@pytest.mark.parametrize("name", OTHERS.split())
def test_what_describes_a_session_a_build_or_a_person_does_not(name: str) -> None:
    assert passed({name: "x"}) == {}


def test_what_somebody_named_passes_too() -> None:
    keys = {"OPENAI_API_KEY": "k", "AWS_REGION": "r"}
    assert passed({"ROOST_PASS": "OPENAI_API_KEY, AWS_*", "OTHER": "o", "ROOST_TOKEN": "t", **keys}) == keys
    assert passed({"ROOST_PASS": "*", "ROOST_TOKEN": "t", "MAKEFLAGS": "j"}) == {"MAKEFLAGS": "j"}


def test_the_folders_of_an_activated_environment_are_left_out() -> None:
    shell = {
        "VIRTUAL_ENV": "/srv/venv",
        "CONDA_PREFIX": "/opt/conda/envs/x",
        "CONDA_PREFIX_1": "/opt/conda",
        "PATH": "/srv/venv/bin:/opt/conda/envs/x/bin:/opt/conda/condabin:/srv/venv-2/bin:/usr/bin",
        "LD_LIBRARY_PATH": "/opt/conda/envs/x/lib:/usr/local/cuda/lib64",
        "JAVA_HOME": "/opt/conda/envs/x/lib/jvm",
    }
    assert passed(shell) == {"PATH": "/srv/venv-2/bin:/usr/bin", "LD_LIBRARY_PATH": "/usr/local/cuda/lib64"}
    assert passed({**shell, "ROOST_PASS": "JAVA_HOME"})["JAVA_HOME"] == shell["JAVA_HOME"]
    assert passed({"PATH": "/opt/conda/bin:/usr/bin"}) == {"PATH": "/opt/conda/bin:/usr/bin"}
