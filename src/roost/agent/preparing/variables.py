"""Which variables of the process that started the control plane reach a run. Pure. Start with `passed`.

A run's environment must not depend on the shell, notebook or editor that started the control plane: variables of the machine
pass; variables of a session or a build, and a person's credentials, pass only if ROOST_PASS names them.
"""

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

NAMED = "ROOST_PASS"
"""Further names, comma-separated; `*` stands for anything: `WANDB_API_KEY,AWS_*`."""

_NAMES = frozenset(
    {
        "HOME",
        "JAVA_HOME",
        "LANG",
        "LANGUAGE",
        "LOGNAME",
        "PATH",
        "ROOST_HOME",
        "SHELL",
        "TEMP",
        "TERM",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
        # how Python and its tools work on this machine; module paths and startup files belong to a session and do not pass
        "MAMBA_ROOT_PREFIX",
        "PYENV_ROOT",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "PYTHONIOENCODING",
        "PYTHONNOUSERSITE",
        "PYTHONPYCACHEPREFIX",
        "PYTHONUSERBASE",
        "PYTHONUTF8",
        "PYTHON_CPU_COUNT",
        # proxies and certificates
        "ALL_PROXY",
        "CURL_CA_BUNDLE",
        "FTP_PROXY",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
        "REQUESTS_CA_BUNDLE",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        # compilers and libraries
        "CPATH",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "LIBRARY_PATH",
        "PKG_CONFIG_PATH",
    }
)
_FAMILIES = (
    "LC_",
    "XDG_",
    # packages and their caches
    "CONDA_",
    "HF_",
    "KERAS_",
    "PIP_",
    "UV_",
    # accelerators and the threads of numerical libraries
    "CUBLAS_",
    "CUDA",
    "CUDNN_",
    "GLOO_",
    "GOMP_",
    "HIP_",
    "HSA_",
    "JAX_",
    "KMP_",
    "MKL_",
    "NCCL_",
    "NUMBA_",
    "NUMEXPR_",
    "NVIDIA_",
    "OMP_",
    "OPENBLAS_",
    "PYTORCH_",
    "ROCM_",
    "ROCR_",
    "TF_",
    "TORCH",
    "UCX_",
    "VECLIB_",
    "XLA_",
)
_SESSION = (
    "CONDA_BACKUP_*",
    "CONDA_BUILD*",
    "CONDA_DEFAULT_ENV",
    "CONDA_ENV_SHLVL_*",
    "CONDA_EXE",
    "CONDA_PREFIX*",
    "CONDA_PROMPT_MODIFIER",
    "CONDA_PYTHON_EXE",
    "CONDA_SHLVL",
    "LC_TERMINAL*",
    "TORCHELASTIC_*",
    "UV_INTERNAL_*",
    "UV_PROJECT*",
    "UV_PYTHON",
    "UV_RUN_*",
    "UV_WORKING_DIRECTORY",
    "XDG_CURRENT_DESKTOP",
    "XDG_MENU_PREFIX",
    "XDG_SEAT*",
    "XDG_SESSION_*",
    "XDG_VTNR",
    "*_TOKEN",
)
"""Exceptions from those families: a shell's environment or desktop, a launcher's variables for its own processes, and keys. A run
has its own environment."""
_ACTIVE = ("VIRTUAL_ENV", "CONDA_PREFIX*")
"""Folders of environments that a shell had activated."""
_PATHS = frozenset({"CPATH", "JAVA_HOME", "LD_LIBRARY_PATH", "LIBRARY_PATH", "PATH", "PKG_CONFIG_PATH"})
"""Lists of folders: those of an activated environment are left out."""
_NEVER = frozenset({"ROOST_TOKEN", "ROOST_URL", NAMED})


def passed(own: Mapping[str, str]) -> dict[str, str]:
    """The variables that are passed on to a run."""
    named = [each.strip() for each in own.get(NAMED, "").split(",") if each.strip()]
    active = [os.path.normpath(value) for name, value in own.items() if value and _fits(name, _ACTIVE)]
    found = {}
    for name, value in _passing(own, named):
        kept = _without(value, active) if active and name in _PATHS and not _fits(name, named) else value
        if kept or not value:
            found[name] = kept
    return found


def _without(value: str, folders: list[str]) -> str:
    """A list of folders without those inside one of `folders`."""
    inside = tuple(f"{folder}{os.sep}" for folder in folders)
    entries = value.split(os.pathsep)
    return os.pathsep.join(each for each in entries if not f"{os.path.normpath(each)}{os.sep}".startswith(inside))


def _passing(own: Mapping[str, str], named: list[str]) -> Iterator[tuple[str, str]]:
    for name, value in own.items():
        plain = name.upper() if name.endswith("_proxy") else name  # used in both cases
        known = plain in _NAMES or (name.startswith(_FAMILIES) and not _fits(name, _SESSION))
        if name not in _NEVER and (known or _fits(name, named)):
            yield name, value


def _fits(name: str, patterns: "tuple[str, ...] | list[str]") -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
