"""Compute as scripts of the Azure ML SDK v1 use it: finding, making, waiting in its printed form, status in its keys."""

from pathlib import Path

import pytest
from tests.shared.folders import tree

from azureml.core import Experiment, ScriptRunConfig, Workspace
from azureml.core.compute import AksCompute, AmlCompute, ComputeInstance, ComputeTarget
from azureml.core.compute.aks import AksProvisioningConfiguration
from azureml.core.compute_target import ComputeTargetException
from azureml.exceptions import UserErrorException
from roost.sdk.compute import targets as sdk

SIZE = "STANDARD_D2_V2"


class TestConfiguration:
    def test_defaults(self) -> None:
        given = AmlCompute.provisioning_configuration()
        assert (given.vm_size, given.vm_priority) == ("STANDARD_NC6", "dedicated")
        assert given.scale_settings.serialize() == {
            "minNodeCount": 0,
            "maxNodeCount": 4,
            "nodeIdleTimeBeforeScaleDown": "PT1800S",
        }

    def test_what_means_nothing_here_is_accepted(self) -> None:
        made = AmlCompute.provisioning_configuration(
            vm_size=SIZE,
            vm_priority="LowPriority",
            min_nodes=1,
            max_nodes=2,
            idle_seconds_before_scaledown=120,
            admin_username="me",
            admin_user_password="secret",
            admin_user_ssh_key="ssh-rsa",
            vnet_resourcegroup_name="rg",
            vnet_name="net",
            subnet_name="default",
            tags={"a": "b"},
            description="ours",
            remote_login_port_public_access="Enabled",
            identity_type="UserAssigned",
            identity_id=["/subscriptions/x"],
            location="westeurope",
            enable_node_public_ip=False,
        )
        assert (made.vm_size, made.vm_priority) == (SIZE, "LowPriority")
        assert made.scale_settings.serialize() == {
            "minNodeCount": 1,
            "maxNodeCount": 2,
            "nodeIdleTimeBeforeScaleDown": "PT120S",
        }

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            (
                {"min_nodes": 5, "max_nodes": 2},
                "nodes that stay when idle must be 0 to 2, the most there may be; got 5",
            ),
            ({"max_nodes": 0}, "at most 1 to"),
            ({"max_nodes": "4"}, "max_nodes must be a whole number, got '4'"),
            ({"vm_priority": "spot"}, "vm_priority cannot be 'spot'"),
            ({"idle_seconds_before_scaledown": -1}, "Idle nodes go after 0 to"),
            ({"idle_seconds_before_scaledown": "PT1S"}, "must be a number"),
            ({"admin_username": "me"}, "without a password or key"),
            ({"admin_user_password": "x"}, "without `admin_username`"),
            ({"vnet_name": "net"}, "go together"),
            ({"remote_login_port_public_access": "yes"}, "cannot be 'yes'"),
            ({"identity_type": "mine"}, "identity_type cannot be 'mine'"),
            ({"tags": "a"}, "tags must be a dict"),
        ],
    )
    def test_what_is_wrong_is_refused_at_once(self, given: dict[str, object], words: str) -> None:
        with pytest.raises(ComputeTargetException) as caught:
            AmlCompute.provisioning_configuration(vm_size=SIZE, **given)
        assert words in caught.value.message


class TestLeftOut:
    @pytest.mark.parametrize(
        "use",
        [
            lambda: ComputeInstance.provisioning_configuration(vm_size=SIZE),
        ],
    )
    def test_other_kinds_say_so_when_they_are_used(self, use) -> None:  # type: ignore[no-untyped-def]
        with pytest.raises(ComputeTargetException, match="Roost does not have") as caught:
            use()
        assert caught.value.hint

    def test_certificates_of_a_target_of_services(self) -> None:
        with pytest.raises(ComputeTargetException, match="plain HTTP"):
            AksProvisioningConfiguration(agent_count=2).enable_ssl(leaf_domain_label="x")
        with pytest.raises(ComputeTargetException, match="plain HTTP"):
            AksCompute.provisioning_configuration(ssl_cname="x.example")

    def test_their_names_are_there(self) -> None:
        assert issubclass(AksCompute, ComputeTarget)
        assert AksCompute.provisioning_configuration().agent_count == 3
        assert AksCompute.ClusterPurpose.DEV_TEST == "DevTest"


def test_sizes() -> None:
    sizes = {size["name"]: size for size in AmlCompute.supported_vmsizes(workspace=None)}
    assert sizes["Standard_NC6"] == {
        "name": "Standard_NC6",
        "vCPUs": 6,
        "gpus": 1,
        "memoryGB": 56.0,
        "maxResourceVolumeMB": 389120,
    }


def test_a_workspace_must_be_one() -> None:
    with pytest.raises(UserErrorException, match="workspace must be a Workspace"):
        ComputeTarget(workspace="vision", name="gpu")


@pytest.mark.slow
class TestWithAControlPlane:
    def test_found_or_made_as_every_notebook_does_it(
        self, workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sdk, "_explained", set())
        with pytest.raises(ComputeTargetException) as caught:
            ComputeTarget(workspace=workspace, name="gpu-cluster")
        assert str(caught.value).startswith("ComputeTargetNotFound")
        config = AmlCompute.provisioning_configuration(vm_size="STANDARD_NC6", max_nodes=4)
        capsys.readouterr()
        target = ComputeTarget.create(workspace, "gpu-cluster", config)
        assert capsys.readouterr().out.startswith("STANDARD_NC6 (6 cores, 56 GB, 1 GPU) is a wish here: nodes share")
        target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
        assert capsys.readouterr().out == (
            'SucceededProvisioning operation finished, operation "Succeeded"\n'
            "Succeeded\n"
            "AmlCompute wait for completion finished\n"
            "\n"
            "Minimum number of nodes requested have been provisioned\n"
        )
        ComputeTarget.create(workspace, "gpu-cluster", config)
        assert capsys.readouterr().out == "", "a size is explained once"

        found = ComputeTarget(workspace=workspace, name="gpu-cluster")
        assert type(found) is AmlCompute
        assert type(AmlCompute(workspace, "gpu-cluster")) is AmlCompute
        found.wait_for_completion(show_output=True, min_node_count=1, timeout_in_minutes=10)
        assert capsys.readouterr().out == (
            "Succeeded\n"
            "AmlCompute wait for completion finished\n"
            "\n"
            "Further nodes come when runs wait for them\n"
            'Current provisioning state of AmlCompute is "Succeeded" and current node count is "0"\n'
        )
        found.wait_for_completion()
        assert capsys.readouterr().out == ""
        self.reads_like_azure_s(found, workspace)
        self.changes_and_goes(found, workspace, capsys)

    def reads_like_azure_s(self, found: AmlCompute, workspace: Workspace) -> None:
        assert (found.name, found.type, found.vm_size, found.provisioning_state, found.provisioning_errors) == (
            "gpu-cluster",
            "AmlCompute",
            "STANDARD_NC6",
            "Succeeded",
            None,
        )
        status = found.get_status()
        serialized = status.serialize()
        assert serialized["nodeStateCounts"] == {
            f"{state}NodeCount": 0 for state in ("preparing", "running", "idle", "unusable", "leaving", "preempted")
        }
        assert (serialized["allocationState"], serialized["currentNodeCount"], serialized["targetNodeCount"]) == (
            "Steady",
            0,
            0,
        )
        assert (serialized["vmPriority"], serialized["vmSize"]) == ("Dedicated", "STANDARD_NC6")
        assert serialized["scaleSettings"]["maxNodeCount"] == status.scale_settings.maximum_node_count == 4
        assert serialized["provisioningState"] == found.status.provisioning_state == "Succeeded"
        whole = found.serialize()
        assert whole["name"] == "gpu-cluster"
        assert whole["properties"]["computeType"] == "AmlCompute"
        assert whole["properties"]["properties"]["scaleSettings"] == serialized["scaleSettings"]
        assert "gpu-cluster" in repr(found)
        assert list(workspace.compute_targets) == ["gpu-cluster"]
        assert [target.name for target in ComputeTarget.list(workspace)] == ["gpu-cluster"]

    def changes_and_goes(self, found: AmlCompute, workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
        found.update(min_nodes=2, idle_seconds_before_scaledown=60)
        found.wait_for_completion(timeout_in_minutes=1)
        assert found.get_status().current_node_count == 2
        assert found.scale_settings.idle_seconds_before_scaledown == 60
        nodes = found.list_nodes()
        assert [node["nodeId"] for node in nodes] == ["gpu-cluster-1", "gpu-cluster-2"]
        assert set(nodes[0]) == {"nodeId", "privateIpAddress", "publicIpAddress", "port", "nodeState", "runId"}
        with pytest.raises(ComputeTargetException, match="stay when idle must be 0 to 1"):
            found.update(max_nodes=1)
        with pytest.raises(ComputeTargetException, match="exists already"):
            ComputeTarget.create(workspace, "gpu-cluster", AmlCompute.provisioning_configuration(vm_size=SIZE))
        with pytest.raises(ComputeTargetException, match="is not allowed"):
            ComputeTarget.create(workspace, "gpu_cluster", AmlCompute.provisioning_configuration(vm_size=SIZE))
        with pytest.raises(ComputeTargetException, match="cannot be detached"):
            found.detach()
        capsys.readouterr()
        found.delete()
        found.wait_for_completion(show_output=True, is_delete_operation=True)
        assert capsys.readouterr().out == 'SucceededProvisioning operation finished, operation "Succeeded"\n'
        with pytest.raises(ComputeTargetException, match=r"^ComputeTargetNotFound"):
            found.get_status()
        assert workspace.compute_targets == {}

    def test_engines_can_be_attached_and_other_things_not(self, workspace: Workspace) -> None:
        target = ComputeTarget.attach(workspace, "mine", AmlCompute.attach_configuration(engine="local", max_nodes=2))
        assert target.scale_settings.maximum_node_count == 2
        with pytest.raises(ComputeTargetException, match="no engine 'slurm'") as caught:
            ComputeTarget.attach(workspace, "theirs", AmlCompute.attach_configuration(engine="slurm"))
        assert "inline, local" in caught.value.hint
        with pytest.raises(ComputeTargetException, match="cannot attach dict"):
            ComputeTarget.attach(workspace, "theirs", {})
        local = ComputeTarget(workspace, "local")
        assert (type(local), local.type, local.get_status()) == (ComputeTarget, "Local", "Succeeded")
        with pytest.raises(ComputeTargetException):
            local.delete()

    def test_runs_go_where_they_are_sent(self, workspace: Workspace, tmp_path: Path) -> None:
        tree(
            tmp_path / "src",
            {"train.py": "import os; print(os.environ['ROOST_NODE'], os.environ['ROOST_NODE_ADDRESS'])"},
        )
        target = ComputeTarget.create(
            workspace, "gpu", AmlCompute.provisioning_configuration(vm_size=SIZE, max_nodes=1)
        )
        experiment = Experiment(workspace, "compute")
        for given in (target, "gpu"):
            run = experiment.submit(ScriptRunConfig(str(tmp_path / "src"), "train.py", compute_target=given))
            assert run.wait_for_completion()["target"] == "gpu"
            run.download_file("user_logs/std_log.txt", str(tmp_path / "log"))
            assert (tmp_path / "log").read_text() == "gpu-1 127.0.2.1\n"
