"""A conda environment of this machine as a definition: from conda itself, else from the folder it is in."""

import json
from pathlib import Path

import pytest

from roost import Environment
from roost_job.exceptions import UserErrorException


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name in ("CONDA_PREFIX", "MAMBA_ROOT_PREFIX"):
        monkeypatch.delenv(name, raising=False)


def prefix(place: Path) -> Path:
    """As conda leaves it: a record of each package, and what pip added."""
    meta = place / "conda-meta"
    meta.mkdir(parents=True)
    for name, version, channel in (
        ("python", "3.8.18", "https://conda.anaconda.org/conda-forge/linux-64"),
        ("numpy", "1.24.4", "https://conda.anaconda.org/conda-forge/linux-64"),
        ("ours", "2", "file:///srv/channel/noarch"),
    ):
        record = {"name": name, "version": version, "channel": channel}
        (meta / f"{name}-{version}-0.json").write_text(json.dumps(record))
    for name, installer in (("numpy", "conda"), ("requests", "pip")):
        info = place / "lib" / "python3.8" / "site-packages" / f"{name}-2.31.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.31.0\n")
        (info / "INSTALLER").write_text(f"{installer}\n")
    return place


def test_from_its_folder_by_name_and_by_path(tmp_path: Path) -> None:
    place = prefix(tmp_path / "miniconda3" / "envs" / "birds")
    for name in ("birds", str(place)):
        made = Environment.from_existing_conda_environment("mine", name).python.conda_dependencies
        assert list(made.conda_channels) == ["conda-forge", "file:///srv/channel"]
        assert list(made.conda_packages) == ["numpy=1.24.4", "ours=2", "python=3.8.18"]
        assert list(made.pip_packages) == ["requests==2.31.0"]


def test_conda_itself_is_asked_where_it_is(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "conda"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\n[ "$4" = birds ] || { echo EnvironmentLocationNotFound >&2; exit 1; }\n'
        "echo 'name: birds'\necho 'channels: [defaults]'\necho 'dependencies: [python=3.9.1, {pip: [tqdm]}]'\n"
    )
    program.chmod(0o755)
    made = Environment.from_existing_conda_environment("mine", "birds").python.conda_dependencies
    assert (made.get_python_version(), list(made.conda_channels)) == ("3.9.1", ["defaults"])
    with pytest.raises(UserErrorException, match="EnvironmentLocationNotFound"):
        Environment.from_existing_conda_environment("mine", "cats")


def test_what_is_not_there_is_said_with_what_is(tmp_path: Path) -> None:
    prefix(tmp_path / ".conda" / "envs" / "birds")
    with pytest.raises(UserErrorException, match="cats") as caught:
        Environment.from_existing_conda_environment("mine", "cats")
    assert "birds" in str(caught.value)
    empty = tmp_path / "empty"
    (empty / "conda-meta").mkdir(parents=True)
    with pytest.raises(UserErrorException, match="no Python"):
        Environment.from_existing_conda_environment("mine", str(empty))
