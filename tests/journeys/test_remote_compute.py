"""A machine attached as scripts of the Azure ML SDK v1 do it: a host of the control plane's file of hosts. This machine stands
for two of them, each with a folder of its own."""

import json
import socket
import sys
from pathlib import Path

import pytest
from tests.shared.folders import tree

from azureml.core import Experiment, RunConfiguration, ScriptRunConfig, Workspace
from azureml.core.compute import ComputeTarget, RemoteCompute
from azureml.core.compute_target import ComputeTargetException

pytestmark = pytest.mark.slow


@pytest.fixture
def hosts(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Folders of the hosts, by address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("ROOST_PORT", str(port))
    places = {address: tmp_path / f"host{address[-1]}" for address in ("127.0.0.2", "127.0.0.3")}
    text = "".join(
        f'[[host]]\naddress = "{address}"\ncommand = ["env"]\npython = "{sys.executable}"\nhome = "{place}"\n'
        for address, place in places.items()
    )
    home.mkdir()
    (home / "hosts.toml").write_text(f'url = "http://127.0.0.1:{port}"\n{text}')
    return places


def test_runs_are_on_the_host_that_was_attached(hosts: dict[str, Path], tmp_path: Path) -> None:
    workspace = Workspace()
    with pytest.raises(ComputeTargetException):
        RemoteCompute(workspace=workspace, name="vm")
    asked = RemoteCompute.attach_configuration(
        address="127.0.0.3", ssh_port=22, username="me", password=None, private_key_file="./id_rsa"
    )
    target = ComputeTarget.attach(workspace, "vm", asked)
    target.wait_for_completion(show_output=True)
    found = ComputeTarget(workspace, "vm")
    assert isinstance(found, RemoteCompute) and (found.type, found.address) == ("VirtualMachine", "127.0.0.3")
    assert found.provisioning_state == "Succeeded" and found.tags == {}
    source = tree(tmp_path / "s", {"train.py": "import os; print('here:', os.getcwd())"})
    config = RunConfiguration()
    config.target = found.name
    run = Experiment(workspace, "there").submit(ScriptRunConfig(str(source), script="train.py", run_config=config))
    run.wait_for_completion()
    text = "".join(Path(log).read_text() for log in run.get_all_logs(str(tmp_path / "logs")))
    assert f"here: {hosts['127.0.0.3']}" in text
    found.detach()
    assert "vm" not in workspace.compute_targets


def test_a_machine_that_nobody_listed_says_which_lines_to_add(workspace: Workspace) -> None:
    asked = RemoteCompute.attach_configuration(address="10.9.8.7", ssh_port=2222, username="me", private_key_file="k")
    with pytest.raises(ComputeTargetException, match=r"file of hosts does not have '10\.9\.8\.7'") as caught:
        ComputeTarget.attach(workspace, "vm", asked)
    command = json.dumps(["ssh", "-o", "BatchMode=yes", "-p", "2222", "-i", "k", "me@10.9.8.7"])
    assert f'[[host]]\naddress = "10.9.8.7"\ncommand = {command}\n' in caught.value.hint
    with pytest.raises(ComputeTargetException, match="attached by its address, got resource_id '/sub"):
        RemoteCompute.attach_configuration(resource_id="/subscriptions/1/vm", username="me")
    with pytest.raises(ComputeTargetException, match="attached, not made"):
        RemoteCompute.provisioning_configuration()
