"""Pickled scikit-learn models of every year: which joblib reads a file. Stand-ins for the packages, in a process of their own;
`tests/real/test_serving.py` has the real ones."""

import bz2
import gzip
import lzma
import pickle
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

import roost_job
from roost_job.scoring.handlers import sklearn

JOBLIB = (
    "import pickle\n\ndef load(path):\n    with open(path, 'rb') as file:\n        return ({!r}, pickle.load(file))\n"
)
LOAD = "import sys; from roost_job.scoring.handlers import sklearn; print(sklearn.unpickled(sys.argv[1]))"
PLAIN = pickle.dumps(["a model"])
OLD = b"\x80\x03csklearn.externals.joblib.numpy_pickle\nNumpyArrayWrapper\nq\x00."
"""A file of scikit-learn before 0.23: the class of its arrays."""


def packages(folder: Path, *, own: bool, joblib: bool) -> Path:
    """What is to be imported: scikit-learn with a joblib of its own or without, and joblib itself."""
    externals = folder / "sklearn" / "externals"
    externals.mkdir(parents=True)
    for place in (folder / "sklearn", externals):
        (place / "__init__.py").touch()
    for there, name, place in ((own, "own", externals / "joblib"), (joblib, "joblib", folder / "joblib")):
        if there:
            place.mkdir()
            (place / "__init__.py").write_text(JOBLIB.format(name))
            (place / "numpy_pickle.py").write_text(f"class NumpyArrayWrapper:\n    by = {name!r}\n")
    return folder


def load(folder: Path, data: bytes) -> str:
    file = folder / "model.pkl"
    file.write_bytes(data)
    path = f"{folder}:{Path(roost_job.__file__).parents[1]}"
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(file)], env={"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("own", "joblib", "plain", "old"),
    [
        (False, True, "('joblib', ['a model'])", "('joblib', <class 'joblib.numpy_pickle.NumpyArrayWrapper'>)"),
        (
            True,
            True,
            "('joblib', ['a model'])",
            "('own', <class 'sklearn.externals.joblib.numpy_pickle.NumpyArrayWrapper'>)",
        ),
        (
            True,
            False,
            "('own', ['a model'])",
            "('own', <class 'sklearn.externals.joblib.numpy_pickle.NumpyArrayWrapper'>)",
        ),
        (False, False, "['a model']", ""),
    ],
)
def test_a_file_is_read_by_the_joblib_that_made_it(
    tmp_path: Path, own: bool, joblib: bool, plain: str, old: str
) -> None:
    folder = packages(tmp_path, own=own, joblib=joblib)
    assert load(folder, PLAIN) == plain
    if old:
        assert load(folder, OLD) == old


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zlib.compress])
def test_a_packed_file_is_known_too(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "model.pkl").write_bytes(pack(OLD))
    assert sklearn._beginning(str(tmp_path / "model.pkl")) == OLD
    (tmp_path / "model.pkl").write_bytes(pack(OLD)[:-3])
    sklearn._beginning(str(tmp_path / "model.pkl"))  # one that is cut off fails where it is loaded
