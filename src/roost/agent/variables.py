"""Which variables of the process that started the control plane reach a run. Pure. Start with `passed`.

A run's environment must not depend on which shell happened to start the control plane: what describes the machine passes, what
describes a shell session, a build or a person's credentials does not, unless ROOST_PASS names it.
"""

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
        "MPLBACKEND",
        "PATH",
        "ROOST_HOME",
        "SHELL",
        "TEMP",
        "TERM",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
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
    # Python, its packages and what caches them
    "CONDA_",
    "HF_",
    "KERAS_",
    "MAMBA_",
    "PIP_",
    "PYENV_",
    "PYTHON",
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
_ACTIVATION = ("CONDA_DEFAULT_ENV", "CONDA_PREFIX*", "CONDA_PROMPT_MODIFIER", "CONDA_SHLVL", "PYENV_VERSION", "*_TOKEN")
"""Of those families: which environment a shell was in, and keys. A run has an environment of its own."""
_NEVER = frozenset({"ROOST_TOKEN", "ROOST_URL", NAMED})


def passed(own: Mapping[str, str]) -> dict[str, str]:
    """Of these variables, those that a run gets too."""
    named = [each.strip() for each in own.get(NAMED, "").split(",") if each.strip()]
    return dict(_passing(own, named))


def _passing(own: Mapping[str, str], named: list[str]) -> Iterator[tuple[str, str]]:
    for name, value in own.items():
        plain = name.upper() if name.endswith("_proxy") else name  # these are written both ways
        known = plain in _NAMES or (name.startswith(_FAMILIES) and not _fits(name, _ACTIVATION))
        if name not in _NEVER and (known or _fits(name, named)):
            yield name, value


def _fits(name: str, patterns: "tuple[str, ...] | list[str]") -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
