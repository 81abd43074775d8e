"""Images of runs in real containers: given, built, with packages beside them, kept, and carried to other nodes."""

import base64
import io
import json
import os
import shutil
import signal
import tarfile
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tests.journeys.test_submit import until
from tests.real import test_conda as conda
from tests.real.containers import SCRIPT, engine, machine, own, shown, submit
from tests.real.podman import BASE, Podman
from tests.shared import channels, wheels
from tests.shared.folders import tree
from tests.shared.interpreters import python

from roost import (
    ContainerRegistry,
    Environment,
    Experiment,
    Run,
    ScriptRunConfig,
    Workspace,
)
from roost.agent.folder import Folder
from roost.domain.environments import BUILD_LOG, LOCK_FILE
from roost.environments.containers import engine as container_engine
from roost.environments.containers import facts as container_facts
from roost.sdk.environments import prefixes
from roost_job.exceptions import ActivityFailedException

__all__ = ["engine", "machine", "submit"]
pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]
AZURES = "mcr.microsoft.com/azureml/openmpi3.1.2-ubuntu18.04"


def test_the_images_own_python(submit: Callable[..., Run], tmp_path: Path) -> None:
    run = submit(own(GREETING="hello"))
    text = shown(run)
    assert run.get_status() == "Completed", text
    assert run.get_metrics() == {"loss": [1.0, 0.5, 1 / 3, 0.25, 0.2], "minor": 11}
    assert run.get_tags()["inside"] == "True" and run.get_tags()["executable"] == "/usr/bin/python3"
    assert {"outputs/model.txt", "note.txt", BUILD_LOG, LOCK_FILE} <= set(run.get_file_names())
    assert "passwd" not in run.get_file_names() and "REFUSED '/etc/passwd' is in the container alone" in text
    assert "HOST VARIABLE None GIVEN hello" in text and "to standard error" in text
    run.download_file(LOCK_FILE, "lock.txt")
    lock = Path("lock.txt").read_text()
    assert "# kind image\n" in lock and "sha256:" in lock
    again = submit(own(GREETING="hello"))
    again.wait_for_completion()
    assert BUILD_LOG not in again.get_file_names()


def test_packages_beside_an_image(
    submit: Callable[..., Run], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = wheels.machine(tmp_path, monkeypatch)
    wheels.wheel(shelf, "lower", "2.0")
    (tmp_path / "requirements.txt").write_text("lower\n")
    made = Environment.from_docker_image("packages", BASE, pip_requirements=str(tmp_path / "requirements.txt"))
    made.python.conda_dependencies.set_python_version("3.11")
    script = SCRIPT + "\nimport lower\nrun.log('lower', lower.VERSION)\n"
    run = submit(made, script)
    text = shown(run)
    assert run.get_status() == "Completed", text
    assert run.get_metrics("lower") == {"lower": "2.0"}
    assert str(shelf) not in text
    assert run.get_tags()["executable"].startswith(str(home / "envs"))
    made.python.conda_dependencies.set_python_version("3.6")
    refused = submit(made, script)
    with pytest.raises(ActivityFailedException, match=r"no Python 3\.6 in it; the Pythons there: 3\.11"):
        refused.wait_for_completion()


def test_a_dockerfile_is_built_once(submit: Callable[..., Run], engine: Podman, home: Path) -> None:
    text = f"FROM {BASE}\nRUN echo inside > /made-here\nENV GREETING=hi\n"
    runs = [submit(Environment.from_dockerfile("file", text)) for _ in range(2)]
    told = [shown(run) for run in runs]
    assert [run.get_status() for run in runs] == ["Completed", "Completed"], told
    assert all("GIVEN hi" in each for each in told)
    assert sum(BUILD_LOG in run.get_file_names() for run in runs) == 1
    found = container_engine.find()
    assert container_facts.unused(found, home) == []
    broken = submit(Environment.from_dockerfile("broken", f"FROM {BASE}\nRUN echo before; false\n"))
    with pytest.raises(ActivityFailedException, match="false"):
        broken.wait_for_completion()
    for prefix in (home / "envs").glob("[0-9a-f]*"):
        (prefix / container_facts.FACTS).unlink()
    until(lambda: len(container_facts.unused(found, home)) == 1)  # once the last build agent has left
    left = container_facts.unused(found, home)
    assert container_facts.drop(found, home, left[0][0]) and container_facts.unused(found, home) == []


@pytest.mark.parametrize("way", ["pruned", "deleted by hand"])
def test_a_dockerfile_is_built_again_when_its_image_is_gone(
    submit: Callable[..., Run], engine: Podman, home: Path, way: str
) -> None:
    text = f"FROM {BASE}\nRUN date +%s%N > /made\nENV GREETING=again WAY={way.split()[0]}\n"
    first = submit(Environment.from_dockerfile("file", text))
    told = shown(first)
    assert first.get_status() == "Completed", told
    facts = next(each for prefix in (home / "envs").glob("[0-9a-f]*/") if (each := container_facts.read(prefix)))
    if way == "pruned":
        going = prefixes.unused(home, 0)
        until(lambda: prefixes.drop(going) == going)  # the run's agent has it until it has left
        images = prefixes.unused_images(home)
        assert [name for name, _ in images] == [facts.id]
        assert prefixes.drop_images(home, images) == images
    else:
        engine("rmi", "--force", facts.id)
    assert not container_engine.find().has(facts.id)
    for _ in range(2):
        run = submit(Environment.from_dockerfile("file", text))
        told = shown(run)
        assert run.get_status() == "Completed", told
        assert "GIVEN again" in told
        assert f"built again from its Dockerfile: the locked {facts.id[:19]} is gone" in told
        assert run.get_environment().lock == first.get_environment().lock
    found = [each for prefix in (home / "envs").glob("[0-9a-f]*/") if (each := container_facts.read(prefix))]
    assert len(found) == 1 and found[0].id != facts.id
    assert container_facts.unused(container_engine.find(), home) == []


def test_azures_image_is_used_where_it_is_at_hand(submit: Callable[..., Run], engine: Podman) -> None:
    made = Environment("azures")
    made.docker.enabled = True
    made.docker.base_image = AZURES
    made.python.conda_dependencies.set_python_version("3.11")
    made.python.conda_dependencies.set_pip_requirements(["azureml-defaults"])
    run = submit(made)
    told = shown(run)
    assert run.get_status() == "Completed", told
    assert run.get_tags()["inside"] == "False" and f"natively instead of in the image {AZURES}" in told
    run.download_file(LOCK_FILE, "lock.txt")
    assert f"# note Installed natively instead of in the image {AZURES}" in Path("lock.txt").read_text()
    engine("tag", BASE, AZURES)
    made.python.conda_dependencies.add_pip_package("pip")  # another recipe, which nobody has built
    made.python.conda_dependencies.add_pip_package("wheel>0")
    run = submit(made)
    told = shown(run)
    engine("untag", BASE, AZURES)
    assert run.get_status() == "Completed", told
    assert run.get_tags()["inside"] == "True"


def test_python_of_2016_in_an_image(submit: Callable[..., Run], engine: Podman) -> None:
    old = Path(python("3.6")).resolve().parent.parent
    name = "roost-test-old"
    copy = f"mkdir -p {old.parent} && cp -a /old {old}"  # where it was: it finds its libraries by their path
    engine("run", "--name", name, "--volume", f"{old}:/old:ro", BASE, "sh", "-c", copy)
    engine("commit", name, "localhost/roost-test/old:1")
    engine("rm", name)
    environment = Environment.from_docker_image("old", "localhost/roost-test/old:1")
    environment.python.interpreter_path = str(old / "bin" / "python3.6")
    run = submit(environment)
    told = shown(run)
    assert run.get_status() == "Completed", told
    assert run.get_metrics("minor") == {"minor": 6}


def test_an_image_reaches_other_nodes_as_an_archive(
    submit: Callable[..., Run], engine: Podman, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOST_IMAGE_ARCHIVE", "1")
    made = Environment.from_dockerfile("travels", f"FROM {BASE}\nENV GREETING=travelled\n")
    first = submit(made)
    assert "Keeping the image for other nodes." in shown(first)
    facts = [container_facts.read(prefix) for prefix in (home / "envs").glob("[0-9a-f]*")]
    assert facts and facts[0] is not None and facts[0].archive
    engine("rmi", "--force", facts[0].id)
    second = submit(made)
    told = shown(second)
    assert second.get_status() == "Completed", told
    assert "GIVEN travelled" in told


def test_an_image_is_kept_with_what_is_beside_it_and_comes_back_with_no_network(
    submit: Callable[..., Run], engine: Podman, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layer by layer, with a wheel, and a source that is built in the image."""
    shelf = wheels.machine(tmp_path, monkeypatch)
    wheels.wheel(shelf, "lower", "2.0")
    patient(shelf, shelf / "sign")
    (shelf / "sign").touch()
    made = Environment.from_dockerfile("kept", f"FROM {BASE}\nENV GREETING=kept\n")
    for package in ("lower", "patient"):
        made.python.conda_dependencies.add_pip_package(package)
    made.python.conda_dependencies.set_python_version("3.11")
    made.python.user_managed_dependencies = False
    run = submit(made, SCRIPT + "\nimport lower, patient\nrun.log('lower', lower.VERSION)\n")
    told = shown(run)
    assert run.get_status() == "Completed", told
    kept = run.get_environment().archive(Workspace())
    assert kept["complete"] and kept["python"] == "", kept
    (facts,) = (container_facts.read(prefix) for prefix in (home / "envs").glob("[0-9a-f]*"))
    assert facts is not None
    engine("rmi", "--force", facts.id)
    for place in (home / "envs", home / "cache", shelf):
        shutil.rmtree(place)
    again = run.repeat(offline=True)
    told = shown(again)
    assert again.get_status() == "Completed", told
    engine("image", "exists", facts.id)
    assert "GIVEN kept" in told and again.get_metrics("lower") == {"lower": "2.0"}


def test_a_registry_that_wants_a_password(
    submit: Callable[..., Run], engine: Podman, home: Path, tmp_path: Path
) -> None:
    address = engine.registry()
    name = f"{address}/team/base:1"
    access = ["--creds", f"{Podman.USER}:{Podman.PASSWORD}"]
    engine("push", *access, BASE, name)
    registry = ContainerRegistry()
    registry.address, registry.username, registry.password = address, Podman.USER, Podman.PASSWORD
    made = Environment.from_docker_image("private", "team/base:1", container_registry=registry)
    assert Podman.PASSWORD not in repr(made)
    run = submit(made)
    told = shown(run)
    assert run.get_status() == "Completed", told
    assert "Fetching the image" in told
    run.download_files(output_directory="all")
    texts = [path.read_text("utf-8", "replace") for path in Path("all").rglob("*") if path.is_file()]
    answers = json.dumps(run.get_details(), default=str) + repr(run.get_environment())
    assert not any(Podman.PASSWORD in text for text in [told, answers, *texts])
    facts = next(each for prefix in (home / "envs").glob("[0-9a-f]*") if (each := container_facts.read(prefix)))
    assert facts.digest.startswith(f"{address}/team/base@sha256:")
    engine("rmi", "--force", name)
    made.docker.base_image = "team/base:2"
    wrong = submit(made)
    with pytest.raises(ActivityFailedException, match="cannot be fetched"):
        wrong.wait_for_completion()
    loaded = Workspace().environments["private"]
    loaded.docker.base_image = "team/base:3"  # one that nobody has fetched: what the machine has needs no password
    other = Workspace.create("elsewhere")
    config = ScriptRunConfig(str(tmp_path / "source"), script="train.py", environment=loaded)
    lost = Experiment(other, "tests").submit(config)
    with pytest.raises(ActivityFailedException, match=r"password of 'bird' at .* is not in the workspace's key vault"):
        lost.wait_for_completion()


def test_an_image_reaches_other_nodes_through_a_registry(
    submit: Callable[..., Run], engine: Podman, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = engine.registry()
    known = base64.b64encode(f"{Podman.USER}:{Podman.PASSWORD}".encode()).decode()
    tree(tmp_path / "docker", {"config.json": json.dumps({"auths": {address: {"auth": known}}})})
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))  # as docker login leaves it
    monkeypatch.setenv("ROOST_IMAGE_REGISTRY", f"{address}/roost")
    made = Environment.from_dockerfile("pushed", f"FROM {BASE}\nENV GREETING=pushed\n")
    first = submit(made)
    told = shown(first)
    assert first.get_status() == "Completed", told
    assert f"Pushing the image to {address}/roost/roost-env" in told
    facts = next(each for prefix in (home / "envs").glob("[0-9a-f]*") if (each := container_facts.read(prefix)))
    assert facts.digest.startswith(f"{address}/roost/roost-env@sha256:")
    engine("rmi", "--force", facts.id)
    second = submit(made)
    told = shown(second)
    assert second.get_status() == "Completed", told
    assert "GIVEN pushed" in told


@pytest.mark.parametrize("then", ["goes on", "is cancelled"])
def test_a_killed_build_leaves_no_container(
    submit: Callable[..., Run], engine: Podman, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    shelf = wheels.machine(tmp_path, monkeypatch)
    sign = shelf / "sign"
    patient(shelf, sign)
    (tmp_path / "requirements.txt").write_text("patient\n")
    made = Environment.from_docker_image("slow", BASE, pip_requirements=str(tmp_path / "requirements.txt"))
    made.python.conda_dependencies.set_python_version("3.11")
    run = submit(made, "import patient\n")
    folder = Folder(home / "runs" / run.id)

    def waits() -> bool:
        return any(b"patient-backend" in _words(process) for process in psutil.process_iter())

    until(waits)
    os.kill(json.loads(folder.agent.read_bytes())["pid"], signal.SIGKILL)
    until(lambda: not waits())
    if then == "is cancelled":
        run.cancel()
        until(lambda: not folder.root.exists())
        assert engine.containers() == []
        return
    sign.touch()
    run.wait_for_completion()
    assert run.get_status() == "Completed"


def patient(shelf: Path, sign: Path) -> None:
    """A source distribution whose build waits for a file; what it is known by stands in its process's variables."""
    backend = f"""
import os, time
def build_wheel(folder, config_settings=None, metadata_directory=None):
    if not os.path.exists({str(sign)!r}):
        os.execve("/bin/sh", ["sh", "-c", "sleep 600"], dict(os.environ, WHO="patient-backend"))
    import zipfile
    info = "patient-1.0.dist-info"
    with zipfile.ZipFile(os.path.join(folder, "patient-1.0-py3-none-any.whl"), "w") as archive:
        archive.writestr("patient.py", "")
        archive.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: patient\\nVersion: 1.0\\n")
        archive.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "/RECORD", "")
    return "patient-1.0-py3-none-any.whl"
"""
    content = {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": backend,
        "PKG-INFO": "Metadata-Version: 2.1\nName: patient\nVersion: 1.0\n",
    }
    with tarfile.open(shelf / "patient-1.0.tar.gz", "w:gz") as archive:
        for path, text in content.items():
            entry = tarfile.TarInfo(f"patient-1.0/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))


def _words(process: psutil.Process) -> bytes:
    try:
        return Path(f"/proc/{process.pid}/environ").read_bytes()
    except OSError:
        return b""


def test_conda_packages_beside_an_image(
    submit: Callable[..., Run], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conda.CACHE.mkdir(parents=True, exist_ok=True)
    channels.machine(tmp_path, monkeypatch)
    channel = tmp_path / "channel"
    version = conda.pack(channel, "3.10")
    channels.module(channel, "lower", "2.0")
    file = tmp_path / "conda.yml"
    file.write_text(f"channels: [{channel}, nodefaults]\ndependencies: ['python={version}', lower]\n")
    made = Environment.from_docker_image("conda", BASE, conda_specification=str(file))
    run = submit(made, SCRIPT + "\nimport lower\nrun.log('lower', lower.VERSION)\n")
    told = shown(run)
    assert run.get_status() == "Completed", told
    assert run.get_metrics("minor") == {"minor": 10} and run.get_metrics("lower") == {"lower": "2.0"}
    assert run.get_tags()["inside"] == "True" and run.get_tags()["executable"].startswith(str(home / "envs"))
