"""Compute that Roost does not have, and machines that are attached: what their objects say."""

import pytest

from azureml.core import compute
from azureml.core.compute_target import ComputeTargetException


@pytest.mark.parametrize("name", ["DatabricksCompute", "DsvmCompute", "HDInsightCompute", "KubernetesCompute"])
@pytest.mark.parametrize("given", [(), ("workspace", "name")])
def test_every_use_says_what_to_do_instead(name: str, given: tuple[str, ...]) -> None:
    kind = getattr(compute, name)
    for use in (kind, kind.attach_configuration):
        with pytest.raises(ComputeTargetException, match=f"does not have `azureml.core.compute.{name}"):
            use(*given)


def test_a_machine_to_attach_prints_as_what_it_is() -> None:
    asked = compute.RemoteCompute.attach_configuration(address="10.9.8.7", ssh_port=2222, username="me", password="pw")
    assert repr(asked) == "RemoteComputeAttachConfiguration(address='10.9.8.7', username='me', ssh_port=2222)"
