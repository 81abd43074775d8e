"""Workspaces as the Azure ML SDK v1 has them: made, found, listed, written down; and authentication that is not needed."""

import json
from pathlib import Path

import pytest

import azureml.core
from azureml.core import Workspace as AzureWorkspace
from azureml.core.authentication import (
    AbstractAuthentication,
    Audience,
    AzureCliAuthentication,
    InteractiveLoginAuthentication,
    MsiAuthentication,
    ServicePrincipalAuthentication,
    TokenAuthentication,
)
from azureml.exceptions import ProjectSystemException, UserErrorException, WorkspaceException
from azureml.telemetry import set_diagnostics_collection
from roost import Experiment, Workspace
from roost.transport.client import Client, Endpoint

SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"


def test_created_once_and_found_again(home: Path) -> None:
    made = Workspace.create(
        "vision",
        auth=InteractiveLoginAuthentication(),
        subscription_id=SUBSCRIPTION,
        resource_group="lab",
        location="westeurope",
        create_resource_group=True,
        sku="enterprise",
        tags={"team": "birds"},
    )
    assert (made.name, made.location, made.resource_group, made.subscription_id, made.sku, made.tags) == (
        "vision",
        "westeurope",
        "lab",
        SUBSCRIPTION,
        "Enterprise",
        {"team": "birds"},
    )
    assert repr(made) == f"Workspace.create(name='vision', subscription_id='{SUBSCRIPTION}', resource_group='lab')"
    with pytest.raises(WorkspaceException, match="already exists under resource group with name 'lab'") as caught:
        Workspace.create("vision")
    assert "exist_ok=True" in caught.value.hint
    assert Workspace.create("vision", exist_ok=True).location == "westeurope"
    for found in (
        Workspace.get("vision"),
        Workspace.get("vision", subscription_id=SUBSCRIPTION, resource_group="LAB"),
        Workspace(SUBSCRIPTION, "lab", "vision", auth=AzureCliAuthentication()),
        Workspace(subscription_id=SUBSCRIPTION, resource_group="lab", workspace_name="vision"),
    ):
        assert found.tags == {"team": "birds"}
    assert {name: [each.name for each in several] for name, several in Workspace.list(SUBSCRIPTION).items()} == {
        "default": ["default"],
        "vision": ["vision"],
    }
    assert list(Workspace.list(SUBSCRIPTION, resource_group="other")) == ["default"]
    details = made.get_details()
    assert details["id"].endswith("/resourceGroups/lab/providers/Microsoft.MachineLearningServices/workspaces/vision")
    assert (details["name"], details["location"], details["tags"]) == ("vision", "westeurope", {"team": "birds"})
    _missing()
    _written(made)


def _missing() -> None:
    for deed in (
        lambda: Workspace.get("visoin"),
        lambda: Workspace(SUBSCRIPTION, "lab", "visoin"),
        lambda: Workspace.get("vision", resource_group="another"),
        lambda: Workspace.create("vision", subscription_id="another", exist_ok=True),
    ):
        with pytest.raises(ProjectSystemException, match="No workspaces found with name=vis"):
            deed()
    with pytest.raises(WorkspaceException) as caught:
        Workspace.get("visoin")
    assert "There are: default, vision." in caught.value.hint
    with pytest.raises(UserErrorException, match="is not allowed"):
        Workspace.create("a b")
    with pytest.raises(UserErrorException, match="tags must be a dict"):
        Workspace.create("sound", tags=["team"])  # type: ignore[arg-type]
    assert "sound" not in Workspace.list()


def _written(made: Workspace) -> None:
    made.write_config()
    assert json.loads(Path(".azureml/config.json").read_text()) == {
        "subscription_id": SUBSCRIPTION,
        "resource_group": "lab",
        "workspace_name": "vision",
    }
    below = Path("a/b")
    below.mkdir(parents=True)
    assert Workspace.from_config(path=below).name == "vision"
    Workspace().write_config(path="a", file_name="other.json")
    assert Workspace.from_config(path="a", _file_name="other.json").name == "default"
    with pytest.raises(UserErrorException, match="cannot be written"):
        Path("a/file").write_text("")
        made.write_config(path="a/file")


def test_a_configuration_makes_its_workspace_on_first_use(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {"subscription_id": SUBSCRIPTION, "resource_group": "lab", "workspace_name": "sound"}
    Path("config.json").write_text(json.dumps(config))
    for _ in range(2):
        assert Workspace.from_config(auth=MsiAuthentication()).resource_group == "lab"
    said = capsys.readouterr()
    assert (said.out, said.err.count("Workspace 'sound' made.\n")) == ("", 1)
    Path("config.json").write_text(json.dumps({**config, "resource_group": "other"}))
    with pytest.raises(WorkspaceException, match="the one here is of subscription") as caught:
        Workspace.from_config()
    assert "another name" in caught.value.hint


def test_what_is_in_it_and_what_it_does_not_have(workspace: Workspace) -> None:
    Experiment(workspace, "birds")
    assert {name: type(each) for name, each in workspace.experiments.items()} == {"birds": Experiment}
    assert isinstance(workspace, AzureWorkspace)
    assert not hasattr(workspace, "discovery_url")
    with pytest.raises(AttributeError, match=r"^Workspace has no `discovery_url`\."):
        _ = workspace.discovery_url  # type: ignore[attr-defined]
    with pytest.raises(
        AttributeError, match=r"^Workspace has no `get_default_datastor`\. Did you mean `get_default_datastore`"
    ):
        _ = workspace.get_default_datastor  # type: ignore[attr-defined]
    assert repr(workspace.get_default_keyvault()) == "Keyvault(workspace='default')"


def test_notebooks_show_a_table_that_is_only_text(home: Path) -> None:
    made = Workspace.create("odd", resource_group="<script>alert(1)</script>")
    shown = made._repr_html_()
    assert "<td>odd</td>" in shown
    assert "<script" not in shown


def test_authentication_objects_hand_out_roosts_own_token(workspace: Workspace, home: Path) -> None:
    every: list[AbstractAuthentication] = [
        InteractiveLoginAuthentication(force=True, tenant_id="t"),
        ServicePrincipalAuthentication(tenant_id="t", service_principal_id="i", service_principal_password="p4ssw0rd"),
        MsiAuthentication(),
        AzureCliAuthentication(),
        TokenAuthentication(get_token_for_audience=lambda audience: f"mine for {audience.name}"),
    ]
    token = (home / "token").read_text().strip()
    for each in every:
        assert isinstance(each, AbstractAuthentication)
        assert each.get_authentication_header() == {"Authorization": f"Bearer {token}"}
        assert "p4ssw0rd" not in repr(vars(each))
        assert Workspace.get("default", auth=each).name == "default"
    assert every[0].get_token("scope").token == token
    assert TokenAuthentication(lambda audience: audience.value).get_token(Audience.aml) == "AML"
    assert Audience.arm is Audience.ARM
    with pytest.raises(UserErrorException, match="must be a function"):
        TokenAuthentication("token")  # type: ignore[arg-type]
    header = every[0].get_authentication_header()["Authorization"].removeprefix("Bearer ")
    client = Client(lambda: Endpoint(workspace._connection.url, header))
    assert client.call("GET", "/api/workspaces")["workspaces"]
    client.close()


def test_nothing_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    set_diagnostics_collection(send_diagnostics=True)
    assert capsys.readouterr().out == "Roost sends no diagnostics, whatever is set here.\n"
    assert azureml.core.VERSION


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        (lambda vault: vault.set_secret("a_b", "value"), "Secret name 'a_b' is not allowed"),
        (lambda vault: vault.set_secret("name", 7), "must be text, got int"),
        (lambda vault: vault.set_secret("name", None), "must be text, got NoneType"),
        (lambda vault: vault.set_secrets(["name"]), "must be a dict"),
        (lambda vault: vault.get_secrets("name"), "must be a list of names"),
        (lambda vault: vault.delete_secrets("name"), "must be a list of names"),
        (lambda vault: vault.delete_secret("../x"), "is not allowed"),
        (lambda vault: vault.set_secret("name", "\ud800"), "half of a character"),
    ],
)
def test_wrong_secrets_are_refused(deed, words: str) -> None:  # type: ignore[no-untyped-def]
    from roost.sdk.core.secrets import Keyvault

    with pytest.raises(UserErrorException, match=words):
        deed(Keyvault(None))  # type: ignore[arg-type]
