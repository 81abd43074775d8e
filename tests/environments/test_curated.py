"""Curated environments: names of Azure's lead to exact requirements, by pattern, with a line for what is not as they say."""

import re
from pathlib import Path

import pytest

from roost.domain.errors import NotFound
from roost.environments.curated import catalogue, machine, naming
from roost.environments.curated.machine import Machine
from roost.environments.curated.resolving import Curated, resolve

ALL = tuple(f"3.{minor}" for minor in range(6, 14))
WORKSTATION = Machine(pythons=ALL, gpu=True, mpi=True)
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "environments.md"
LAPTOP = Machine(pythons=("3.11",), gpu=False, mpi=False)


@pytest.mark.parametrize(
    ("name", "title", "python", "first"),
    [
        ("AzureML-PyTorch-1.6-GPU", "PyTorch 1.6.0", "3.6", "torch==1.6.0"),
        ("AzureML-TensorFlow-2.2-GPU", "TensorFlow 2.2.0", "3.6", "tensorflow-gpu==2.2.0"),
        ("AzureML-TensorFlow-2.2-CPU", "TensorFlow 2.2.0", "3.6", "tensorflow-cpu==2.2.0"),
        ("AzureML-TensorFlow-2.0-CPU", "TensorFlow 2.0.4", "3.6", "tensorflow==2.0.4"),
        ("AzureML-TensorFlow-1.13-GPU", "TensorFlow 1.13.2", "3.6", "tensorflow-gpu==1.13.2"),
        ("AzureML-tensorflow-2.12-cuda11", "TensorFlow 2.12.1", "3.10", "tensorflow==2.12.1"),
        ("AzureML-tensorflow-2.16-cuda12", "TensorFlow 2.16.2", "3.10", "tensorflow[and-cuda]==2.16.2"),
        ("AzureML-TensorFlow2.4-Cuda11-OpenMpi4.1.0-py36", "TensorFlow 2.4.4", "3.6", "tensorflow-gpu==2.4.4"),
        ("AzureML-sklearn-0.24-ubuntu18.04-py37-cpu", "scikit-learn 0.24.2", "3.7", "scikit-learn==0.24.2"),
        ("AzureML-Scikit-learn-0.20.3", "scikit-learn 0.20.3", "3.6", "scikit-learn==0.20.3"),
        ("AzureML-pytorch-1.9-ubuntu18.04-py37-cuda11-gpu", "PyTorch 1.9.1", "3.7", "torch==1.9.1"),
        ("AzureML-PyTorch-1.9-CU11-ubuntu18.04-Py37", "PyTorch 1.9.1", "3.7", "torch==1.9.1"),
        ("AzureML-ACPT-pytorch-1.12-py39-cuda11.6-gpu", "PyTorch 1.12.1", "3.9", "torch==1.12.1"),
        ("azureml-acpt-pytorch-2.2-cuda12.1", "PyTorch 2.2.2", "3.10", "torch==2.2.2"),
        ("AzureML-pytorch-1.10-ubuntu18.04-py38-cuda11-gpu@latest", "PyTorch 1.10.1", "3.8", "torch==1.10.1"),
        ("AzureML-onnxruntime-1.6-ubuntu18.04-py37-cpu-inference", "ONNX Runtime 1.6.0", "3.7", "onnxruntime==1.6.0"),
        ("AzureML-xgboost-0.9-ubuntu18.04-py37-cpu-inference", "XGBoost 0.90", "3.7", "xgboost==0.90"),
        ("AzureML-lightgbm-3.2-ubuntu18.04-py37-cpu", "LightGBM 3.2.1", "3.7", "lightgbm==3.2.1"),
        ("AzureML-Chainer-5.1.0-CPU", "Chainer 5.1.0", "3.6", "chainer==5.1.0"),
    ],
)
def test_a_name_gives_the_versions_it_says(name: str, title: str, python: str, first: str) -> None:
    found = resolve(name, WORKSTATION)
    assert (found.title, found.python, found.requirements[0]) == (title, python, first)
    assert not [note for note in found.notes if "Horovod" not in note]


def test_what_belongs_to_a_release_comes_with_it() -> None:
    found = resolve("AzureML-PyTorch-1.6-GPU", WORKSTATION)
    assert {"torchvision==0.7.0", "future", "horovod==0.19.5", "setuptools<59.6", "numpy<2"} <= {*found.requirements}
    assert _named_once(found)
    assert "horovod==0.19.5" in resolve("AzureML-TensorFlow-2.2-GPU", WORKSTATION).requirements


def test_names_without_a_version() -> None:
    assert resolve("AzureML-Minimal").requirements == ()
    assert resolve("AzureML-minimal-ubuntu18.04-py37-cpu-inference", WORKSTATION).python == "3.7"
    assert "scikit-learn" in resolve("AzureML-Tutorial").requirements
    assert resolve("AzureML-PyTorch").title.startswith("PyTorch 2.")


def test_a_version_that_is_not_there_is_the_nearest_newer_one_and_says_so() -> None:
    found = resolve("AzureML-TensorFlow-1.11-CPU", WORKSTATION)
    assert found.requirements[0] == "tensorflow==1.12.0"
    assert "TensorFlow 1.11 cannot be had; the nearest newer one is 1.12.0." in found.notes


def test_a_patch_that_the_catalogue_does_not_name_is_taken_as_it_is_and_what_fits_is_found() -> None:
    found = resolve("AzureML-PyTorch-1.13.0-horovod-CPU", WORKSTATION)
    assert found.requirements[:2] == ("torch==1.13.0", "torchvision")
    assert "horovod==0.28.1" in found.requirements, "that of the release beside it"
    assert found.notes == ()


def test_a_version_past_the_catalogue_is_left_to_the_index_and_says_so() -> None:
    found = resolve("AzureML-PyTorch-9.1", WORKSTATION)
    assert found.requirements[0] == "torch==9.1.*"
    assert "newer than the catalogue" in found.notes[0]


def test_a_machine_without_that_python_takes_the_nearest_that_has_packages() -> None:
    found = resolve("AzureML-PyTorch-1.6-CPU", Machine(pythons=("3.8", "3.11"), gpu=False, mpi=True))
    assert found.python == "3.8"
    assert "There is no Python 3.6 on this machine; the nearest that has packages is 3.8." in found.notes
    assert resolve("AzureML-PyTorch-1.6-CPU", LAPTOP).python == "3.6", "none fits: the build says what is there"


def test_a_python_that_the_release_has_no_packages_for() -> None:
    found = resolve("AzureML-sklearn-1.0-ubuntu18.04-py36-cpu", WORKSTATION)
    assert found.python == "3.7"
    assert "It has no packages for Python 3.6; the nearest that has is 3.7." in found.notes


def test_a_gpu_name_on_a_machine_without_gpu_takes_the_packages_for_processors_and_says_so() -> None:
    found = resolve("AzureML-tensorflow-2.4-ubuntu18.04-py37-cuda11-gpu", Machine(pythons=ALL, gpu=False, mpi=True))
    assert found.requirements[0] == "tensorflow-cpu==2.4.4"
    assert "This machine has no GPU: tensorflow-cpu is installed in place of tensorflow-gpu." in found.notes
    assert resolve("AzureML-TensorFlow-2.2-GPU").requirements[0].startswith("tensorflow-gpu"), "no machine is known"


def test_horovod_is_left_out_where_it_cannot_be_built_and_says_so() -> None:
    found = resolve("AzureML-PyTorch-1.6-GPU", Machine(pythons=ALL, gpu=False, mpi=False))
    assert not any(line.startswith("horovod") for line in found.requirements)
    assert any("Horovod 0.19.5 is left out" in note for note in found.notes)
    (note,) = resolve("AzureML-TensorFlow-2.21-horovod", WORKSTATION).notes
    assert "none is known to build against TensorFlow 2.21.0; the newest that has one is" in note
    assert any("against PyTorch 9.1;" in note for note in resolve("AzureML-PyTorch-9.1-horovod", WORKSTATION).notes)
    assert resolve("AzureML-pytorch-1.7-ubuntu18.04-py37-cpu-inference", WORKSTATION).notes == ()


def test_a_pair_that_was_not_tried_is_taken_where_it_is_asked_for_by_name() -> None:
    promised = resolve("AzureML-PyTorch-1.9-GPU", WORKSTATION)
    assert not any(line.startswith("horovod") for line in promised.requirements)
    assert any("Horovod 0.23.0, the one of its year, is left out: it was not tried" in note for note in promised.notes)
    asked = resolve("AzureML-PyTorch-1.9-horovod", WORKSTATION)
    assert "horovod==0.23.0" in asked.requirements
    assert asked.notes == ()


def test_the_guide_s_table_of_horovod_is_the_catalogue_s() -> None:
    rows: dict[str, dict[str, list[str]]] = {}
    for framework in catalogue.frameworks()[:2]:
        for release in framework.releases:
            if release.horovod:
                minor = ".".join(release.text.split(".")[:2])
                cells = rows.setdefault(release.horovod, {"PyTorch": [], "TensorFlow": []})
                cells[framework.title].append(f"**{minor}**" if release.tried else minor)
    lines = GUIDE.read_text().splitlines()
    assert len(rows) > 3
    for horovod, cells in rows.items():
        assert f"| {horovod} | {', '.join(cells['PyTorch'])} | {', '.join(cells['TensorFlow'])} |" in lines


def test_chainer_on_a_gpu_says_what_is_left_to_the_user() -> None:
    assert any("CuPy, which is left out" in note for note in resolve("AzureML-Chainer-5.1.0-GPU", WORKSTATION).notes)
    assert resolve("AzureML-Chainer-5.1.0-GPU", Machine(pythons=ALL, gpu=False, mpi=True)).notes == ()


def test_newer_ones_have_horovod_when_they_say_so() -> None:
    assert resolve("AzureML-PyTorch-2.13", WORKSTATION).notes == ()
    assert "horovod==0.28.1" not in resolve("AzureML-PyTorch-2.13", WORKSTATION).requirements
    assert "horovod==0.28.1" in resolve("AzureML-PyTorch-2.13-horovod", WORKSTATION).requirements


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("AzureML-AutoML-DNN-GPU", "automated"),
        ("AzureML-PySpark-MmlSpark-0.15", "Spark"),
        ("AzureML-DeepSpeed-0.3-GPU", "DeepSpeed"),
        ("AzureML-Designer", "Azure"),
        ("AzureML-Nonsense-1.0", "no curated environment"),
    ],
)
def test_a_name_that_leads_nowhere_says_why_and_what_to_do(name: str, word: str) -> None:
    with pytest.raises(NotFound, match=word) as caught:
        resolve(name)
    assert caught.value.hint


def test_every_listed_name_leads_to_an_environment_and_names_each_package_once() -> None:
    assert len(catalogue.names()) > 50
    for name in catalogue.names():
        found = resolve(name, WORKSTATION)
        assert naming.is_curated(name)
        assert _named_once(found), name


def test_the_catalogue_holds_together() -> None:
    assert {"PyTorch", "TensorFlow"} <= {framework.title for framework in catalogue.frameworks()}
    for framework in catalogue.frameworks():
        assert framework.releases
        for release in framework.releases:
            assert release.python in release.pythons, release.text
            assert _named_once(resolve(f"AzureML-{_word(framework.title)}-{release.text}", WORKSTATION))


def test_this_machine_can_be_asked() -> None:
    found = machine.here()
    assert found.pythons
    assert machine.here() is found


def _named_once(found: Curated) -> bool:
    names = [re.split(r"[<>=\[]", line)[0] for line in found.requirements]
    return len(names) == len(set(names))


def _word(title: str) -> str:
    return title.replace(" ", "")
