"""Which variables of the machine reach a run."""

import pytest

from roost.agent.variables import passed

MACHINE = """
    PATH HOME LANG LC_ALL TZ TMPDIR https_proxy NO_PROXY SSL_CERT_FILE CUDA_VISIBLE_DEVICES OMP_NUM_THREADS NCCL_DEBUG
    PIP_INDEX_URL UV_CACHE_DIR CONDA_PKGS_DIRS PYTHONHASHSEED ROOST_HOME LD_LIBRARY_PATH HF_HOME TORCH_HOME TF_CPP_MIN_LOG_LEVEL
"""
OTHERS = """
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
