"""The cluster that the examples here share: made when it is not there, as in the articles."""

from azureml.core import Workspace
from azureml.core.compute import AmlCompute, ComputeTarget
from azureml.core.compute_target import ComputeTargetException


def find_or_create(workspace: Workspace, name: str = "gpucluster") -> ComputeTarget:
    try:
        return ComputeTarget(workspace=workspace, name=name)
    except ComputeTargetException:
        config = AmlCompute.provisioning_configuration(vm_size="STANDARD_NC6", max_nodes=4)
        target = ComputeTarget.create(workspace, name, config)
        target.wait_for_completion(show_output=True, min_node_count=None, timeout_in_minutes=20)
        return target
