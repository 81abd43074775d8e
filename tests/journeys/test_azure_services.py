"""An Azure user's models, from training to a service and away again, with the code they have."""

import json
import threading
from pathlib import Path
from typing import Any

import pandas
import pytest
from tests.journeys.endpoints import load, score
from tests.shared.folders import tree
from typer.testing import CliRunner

from azureml.core import Environment, Experiment, ScriptRunConfig, Webservice, Workspace
from azureml.core.compute import AksCompute, ComputeTarget
from azureml.core.model import InferenceConfig, Model
from azureml.core.profile import ModelProfile
from azureml.core.webservice import AciWebservice, AksEndpoint, AksWebservice, LocalWebservice
from azureml.exceptions import WebserviceException
from roost import Dataset
from roost.cli.main import app
from roost.sdk.calls import endpoints

pytestmark = pytest.mark.slow

TRAIN = """
import argparse, json, os
from azureml.core import Run

parser = argparse.ArgumentParser()
parser.add_argument("--slope", type=float)
slope = parser.parse_args().slope
os.makedirs("outputs", exist_ok=True)
with open("outputs/line.json", "w") as file:
    json.dump({"slope": slope}, file)
Run.get_context().log("slope", slope)
"""

SCORE = """
import json, os

def init():
    global slope
    with open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "line.json")) as file:
        slope = json.load(file)["slope"]
    print("the slope is", slope)

def run(raw_data):
    data = json.loads(raw_data)
    rows = data["data"] if isinstance(data, dict) else [1.0]
    if rows == "bad":
        raise ValueError("there is no line through that")
    return [slope * x for x in rows]
"""

BROKEN = "def init():\n    raise RuntimeError('the weights are gone')\n\ndef run(data):\n    return data\n"


@pytest.fixture
def ws(workspace: Workspace, tmp_path: Path) -> Workspace:
    tree(tmp_path, {"train/train.py": TRAIN, "serve/score.py": SCORE, "serve/broken.py": BROKEN})
    return workspace


def trained(ws: Workspace, slope: float) -> Model:
    """A model that a run made and registered."""
    src = ScriptRunConfig(source_directory="train", script="train.py", arguments=["--slope", slope])
    run = Experiment(ws, "lines").submit(src)
    run.wait_for_completion()
    return run.register_model(model_name="line", model_path="outputs/line.json", tags={"slope": str(slope)})


def brought(ws: Workspace, slope: float) -> Model:
    """A model that a person brought."""
    Path("line.json").write_text(json.dumps({"slope": slope}))
    return Model.register(ws, model_path="line.json", model_name="line")


def test_a_script_finds_what_is_beside_it_as_it_did_in_azure(ws: Workspace, tmp_path: Path) -> None:
    """The working folder is the app's root, and the source folder is found in it by its name."""
    script = """
import json, os

def init():
    global said
    paths = ["./source_directory/extra.json", "extra.json", os.path.join(os.environ["AZUREML_APP_ROOT"], "extra.json"),
             os.path.join(os.environ["AML_APP_ROOT"], os.environ["AZUREML_SOURCE_DIRECTORY"], "extra.json"),
             os.path.join(os.path.dirname(__file__), "..", "extra.json")]
    said = [json.load(open(path))["name"] for path in paths] + [os.getcwd() == os.environ["AML_APP_ROOT"]]

def run(data):
    return said
"""
    tree(tmp_path, {"source_directory/x/score.py": script, "source_directory/extra.json": '{"name": "ann"}'})
    config = InferenceConfig(entry_script="x/score.py", source_directory="source_directory")
    service = Model.deploy(ws, "extra-svc", [], config, LocalWebservice.deploy_configuration())
    service.wait_for_deployment()
    assert service.run("{}") == ["ann"] * 5 + [True]
    service.delete()


def test_train_register_deploy_score_update_under_load_delete(
    ws: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    model = trained(ws, 2.0)
    environment = Environment("line-environment")
    environment.python.user_managed_dependencies = True
    inference_config = InferenceConfig(entry_script="score.py", source_directory="serve", environment=environment)
    aciconfig = AciWebservice.deploy_configuration(
        cpu_cores=1, memory_gb=1, tags={"data": "lines"}, description="Predict with a line"
    )
    service = Model.deploy(
        workspace=ws,
        name="line-svc",
        models=[model],
        inference_config=inference_config,
        deployment_config=aciconfig,
        show_output=True,
    )
    assert service.state == "Transitioning"
    service.wait_for_deployment(show_output=True)
    said, told = capsys.readouterr()
    assert "asks for no key: whoever reaches its address can use it. Give auth_enabled=True to AciWeb" in told
    assert "Request submitted, please run wait_for_deployment(show_output=True)" in said
    assert "Running" in said
    assert said.endswith('\nSucceeded\nACI service creation operation finished, operation "Succeeded"\n')
    assert (service.state, service.compute_type, service.error) == ("Healthy", "ACI", None)
    assert service.scoring_uri.endswith("/score")
    assert service.run(input_data=json.dumps({"data": [1, 2.5]})) == [2.0, 5.0]
    assert service.run(bytes(json.dumps({"data": [3]}), encoding="utf8")) == [6.0]
    assert "the slope is 2.0" in service.get_logs()
    with pytest.raises(WebserviceException, match="there is no line through that") as caught:
        service.run(json.dumps({"data": "bad"}))
    assert caught.value.status_code == 502
    with pytest.raises(WebserviceException, match="already a service with name line-svc"):
        Model.deploy(ws, "line-svc", [model], inference_config, aciconfig)

    second = trained(ws, 3.0)
    with load(service._record.port) as asked:
        asked.more(20)
        service.update(models=[second], inference_config=inference_config, tags={"data": "more lines"})
        service.wait_for_deployment()
        asked.more(20)
    assert asked.failed == []
    assert {answer.text for answer in asked.answers} == {"[2.0]", "[3.0]"}
    assert service.run(json.dumps({"data": [1]})) == [3.0]

    found = Webservice(ws, "line-svc")
    assert isinstance(found, AciWebservice)
    assert [each.id for each in found.models] == [second.id]
    assert found.models[0].run_id == second.run_id
    assert (found.tags, found.description) == ({"data": "more lines"}, "Predict with a line")
    assert found.environment is not None
    assert found.environment.name == "line-environment"
    assert found.serialize()["modelDetails"] == [{"id": second.id}]
    with pytest.raises(WebserviceException):
        second.delete()
    found.delete()
    with pytest.raises(WebserviceException, match="WebserviceNotFound"):
        Webservice(ws, "line-svc")
    assert ws.webservices == {}
    capsys.readouterr()
    found.delete()
    assert capsys.readouterr().out == "No service with name line-svc found to delete.\n"
    with pytest.raises(WebserviceException, match="WebserviceNotFound"):
        found.get_logs()
    with pytest.raises(WebserviceException, match="WebserviceNotFound"):
        found.wait_for_deployment()
    second.delete()


def test_keys_tags_and_finding(ws: Workspace) -> None:
    model = brought(ws, 2.0)
    config = InferenceConfig(entry_script="serve/score.py")
    key = "a-key-of-ones-own-choice"
    service = Model.deploy(
        ws, "keyed", [model], config, AciWebservice.deploy_configuration(auth_enabled=True, primary_key=key)
    )
    service.wait_for_deployment()
    assert service.get_keys()[0] == key
    assert service.run({"data": [1]}) == [2.0]
    service.regen_key("Primary")
    assert service.get_keys()[0] != key
    port = service._record.port
    assert [score(port, key=each).status for each in (service.get_keys()[0], key, "")] == [200, 401, 401]
    assert service.run({"data": [1]}) == [2.0], "the new key is asked for"
    with pytest.raises(WebserviceException, match="There is no key 'third'"):
        service.regen_key("third")
    service.add_tags({"team": "vision", "stage": "test"})
    service.remove_tags(["stage"])
    service.add_properties({"owner": "ada"})
    with pytest.raises(WebserviceException, match="cannot become 'bob'"):
        service.add_properties({"owner": "bob"})
    assert (service.tags, service.properties) == ({"team": "vision"}, {"owner": "ada"})
    assert list(ws.webservices) == ["keyed"]
    for filters, count in (
        ({"tags": ["team"]}, 1),
        ({"tags": [["team", "audio"]]}, 0),
        ({"properties": {"owner": "ada"}}, 1),
        ({"model_name": "line"}, 1),
        ({"model_id": model.id}, 1),
        ({"model_id": "line:9"}, 0),
        ({"compute_type": "ACI"}, 1),
        ({"compute_type": "AKS"}, 0),
    ):
        assert len(Webservice.list(ws, **filters)) == count, filters  # type: ignore[arg-type]
    service.update(auth_enabled=False)
    service.wait_for_deployment()
    with pytest.raises(WebserviceException, match="has no keys"):
        service.get_keys()
    assert service.run({"data": [1]}) == [2.0]
    service.delete()


def test_what_cannot_be_deployed_changes_nothing(ws: Workspace) -> None:
    model = brought(ws, 2.0)
    config = InferenceConfig(entry_script="serve/score.py")
    for given, words in (
        ({"name": "../../etc"}, "Service name '../../etc' is not allowed"),
        ({"name": "Upper"}, "Service name 'Upper' is not allowed"),
        ({"models": ["line:9"]}, "ModelNotFound: Model 'line' of version 9"),
        ({"models": model}, "models must be a list"),
        ({"models": [3]}, "models has int"),
        ({"inference_config": None}, "cannot be deployed without code"),
        ({"inference_config": None, "models": []}, "exactly one model"),
        ({"inference_config": "score.py"}, "inference_config is str"),
        ({"deployment_target": "aks"}, "deployment_target is str"),
    ):
        with pytest.raises(WebserviceException) as caught:
            Model.deploy(
                **{"workspace": ws, "name": "line-svc", "models": [model], "inference_config": config, **given}
            )
        assert words in caught.value.message, given
    Path("serve/score.py").rename("serve/other.py")
    with pytest.raises(WebserviceException, match="There is no entry script"):
        Model.deploy(ws, "line-svc", [model], config)
    assert Webservice.list(ws) == []


def test_a_model_that_was_looked_at_here_does_not_keep_the_folder_from_being_deployed(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = brought(ws, 2.0)
    monkeypatch.chdir("serve")
    assert Model.get_model_path("line", _workspace=ws) == "azureml-models/line/1/line.json"
    service = Model.deploy(ws, "line-svc", [model], InferenceConfig("score.py"))
    service.wait_for_deployment()
    assert service.run({"data": [2]}) == [4.0]
    Path("azureml-models/mine.py").write_text("")
    with pytest.raises(WebserviceException, match="has a 'azureml-models' of its own"):
        Model.deploy(ws, "line-svc", [model], InferenceConfig("score.py"), overwrite=True)
    Path(".amlignore").write_text("azureml-models\n")
    Model.deploy(ws, "line-svc", [model], InferenceConfig("score.py"), overwrite=True)


def test_an_update_that_fails_leaves_what_was_there(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    model = brought(ws, 2.0)
    broken, good = InferenceConfig("serve/broken.py"), InferenceConfig("serve/score.py")
    service = Model.deploy(ws, "line-svc", [model], broken)
    with pytest.raises(WebserviceException, match="the weights are gone") as caught:
        service.wait_for_deployment(show_output=True)
    assert "current service state: Failed" in caught.value.message
    assert "\nFailed\n" in capsys.readouterr().out
    assert (service.state, "the weights are gone" in str(service.error)) == ("Failed", True)
    assert "the weights are gone" in service.get_logs()
    huge = AciWebservice.deploy_configuration(cpu_cores=4000)
    service = Model.deploy(ws, "line-svc", [model], good, huge, overwrite=True)
    assert "4000 cores is a wish here: replicas share this machine (" in capsys.readouterr().err
    service.wait_for_deployment()
    assert "the slope is 2.0" in service.get_logs()
    serves = [each.run_id for each in endpoints.replicas(ws, "line-svc") if each.ready]
    service.update(inference_config=broken)
    capsys.readouterr()
    with pytest.raises(WebserviceException, match="what was deployed before still serves") as caught:
        service.wait_for_deployment(show_output=True)
    assert service.run({"data": [2]}) == [4.0]
    failed = service._record.failed_replica
    assert failed and failed not in serves and failed in caught.value.message
    said = capsys.readouterr().out
    assert f"Replica {failed}: Failed" in said and not any(each in said for each in serves)
    first, _, rest = service.get_logs().partition("\n")
    assert failed in first and "the last change failed" in first and f"--replica {serves[0]}" in first
    assert "the weights are gone" in rest and "the slope is" not in rest
    assert "the slope is 2.0" in endpoints.logs(ws, "line-svc", 100, serves[0])["text"]
    shown = CliRunner().invoke(app, ["endpoint", "show", "line-svc"], catch_exceptions=False).stdout
    assert f"{failed}, its log: roost endpoint logs line-svc" in shown
    with pytest.raises(WebserviceException, match="No parameters provided"):
        service.update()
    service.delete()
    assert service.error is None
    with pytest.raises(WebserviceException, match="WebserviceNotFound") as caught:
        service.run({"data": [2]})
    assert "weights" not in str(caught.value)


def test_a_service_on_aks_with_tokens(ws: Workspace) -> None:
    target = ComputeTarget.create(ws, "aks", AksCompute.provisioning_configuration(agent_count=2))
    target.wait_for_completion(show_output=True)
    assert isinstance(ComputeTarget(ws, "aks"), AksCompute)
    config = AksWebservice.deploy_configuration(
        num_replicas=1, token_auth_enabled=True, auth_enabled=False, collect_model_data=True, period_seconds=20
    )
    service = Model.deploy(ws, "line-svc", [brought(ws, 2.0)], InferenceConfig("serve/score.py"), config, target)
    service.wait_for_deployment()
    assert isinstance(service, AksWebservice)
    assert (service.compute_name, service.num_replicas) == ("aks", 1)
    probe = service.liveness_probe_requirements
    assert (probe.period_seconds, probe.failure_threshold) == (20, 3)
    assert service.scoring_uri.endswith("/api/v1/service/line-svc/score")
    token, refresh = service.get_token()
    assert token
    assert refresh > service.created_time
    assert service.get_access_token().expiry_on > refresh
    assert service.run({"data": [1]}) == [2.0]
    service.update(autoscale_enabled=True, autoscale_max_replicas=2, scoring_timeout_ms=5000, models=[brought(ws, 4.0)])
    service.wait_for_deployment()
    assert (service.autoscaler.max_replicas, service.scoring_timeout_ms) == (2, 5000)
    assert service.run({"data": [1]}) == [4.0], "the script stays when only models are given"
    service.delete()


def test_versions_share_the_requests(ws: Workspace) -> None:
    config = InferenceConfig("serve/score.py")
    first = AksEndpoint.deploy_configuration(num_replicas=1, auth_enabled=False, version_name="blue")
    endpoint: Any = Model.deploy(ws, "lines", [brought(ws, 2.0)], config, first)
    endpoint.wait_for_deployment()
    endpoint.create_version(
        "green", models=[brought(ws, 3.0)], inference_config=config, traffic_percentile=25, num_replicas=1
    )
    endpoint.wait_for_deployment()
    assert {name: each.traffic_percentile for name, each in endpoint.versions.items()} == {"blue": 75, "green": 25}
    answers = [endpoint.run({"data": [1]})[0] for _ in range(200)]
    assert (answers.count(2.0) > 100, answers.count(3.0) > 20) == (True, True)
    with pytest.raises(WebserviceException, match="has a version 'green' already"):
        endpoint.create_version("green", models=[], inference_config=config)
    with pytest.raises(WebserviceException, match="is the default version"):
        endpoint.delete_version("blue")
    with pytest.raises(WebserviceException, match="There is no version 'red'"):
        endpoint.update_version("red", traffic_percentile=3)
    endpoint.update_version("green", is_default=True, is_control_version_type=True)
    endpoint.wait_for_deployment()
    assert endpoint.versions["green"].version_type == AksEndpoint.VersionType.control.value
    assert {endpoint.run({"data": [1]})[0] for _ in range(20)} == {3.0}
    endpoint.delete_version("blue")
    endpoint.wait_for_deployment()
    found = Webservice(ws, "lines")
    assert isinstance(found, AksEndpoint)
    assert list(found.versions) == ["green"]
    endpoint.delete()


def test_trying_out_on_this_machine(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    model = brought(ws, 2.0)
    config = InferenceConfig("score.py", source_directory="serve")
    service: Any = Model.deploy(ws, "line-svc", [model], config, LocalWebservice.deploy_configuration())
    assert service.run({"data": [1]}) == [2.0], "it is waited for"
    assert (service.state, service.serialize()["port"]) == ("running", service.port)
    Path("serve/score.py").write_text(SCORE.replace("slope * x", "-slope * x"))
    service.reload(wait=True)
    assert service.run({"data": [1]}) == [-2.0]
    said = capsys.readouterr()
    assert said.out.endswith(f"Local webservice is running at http://localhost:{service.port}\n")
    assert "Service 'line-svc' asks for no key: whoever reaches its address can use it. Local services have" in said.err
    port = service.port
    again: Any = Model.deploy(ws, "line-svc", [brought(ws, 5.0)], config, LocalWebservice.deploy_configuration())
    again.wait_for_deployment()
    assert (again.port, again.run({"data": [1]})) == (port, [-5.0])
    with pytest.raises(NotImplementedError):
        again.get_keys()
    assert [each.name for each in LocalWebservice.list(ws)] == ["line-svc"]
    found = Webservice.deserialize(ws, again.serialize())
    assert (type(found), found.name) == (LocalWebservice, "line-svc")
    older: Any = Webservice.deploy_local_from_model(ws, "older", [model], config, wait=True)
    assert older.run({"data": [1]}) == [-2.0]
    older.delete()
    other = again.deploy_to_cloud("line-aci", AciWebservice.deploy_configuration())
    other.wait_for_deployment()
    assert (type(other), other.run({"data": [1]})) == (AciWebservice, [-5.0])
    other.delete()
    again.delete()
    assert again.state == "deleted"


def test_a_profile(ws: Workspace) -> None:
    rows = pandas.DataFrame({"request": [json.dumps({"data": [each]}) for each in range(20)]})
    dataset = Dataset.Tabular.register_pandas_dataframe(
        rows, ws.get_default_datastore(), "requests", show_progress=False
    )
    before = threading.active_count()
    profile = Model.profile(
        ws,
        "lines",
        [brought(ws, 2.0)],
        InferenceConfig("serve/score.py"),
        input_dataset=dataset,
        cpu=1.0,
        memory_in_gb=1.0,
    )
    profile.wait_for_completion(show_output=True)
    details = profile.get_details()
    assert (details["state"], details["totalQueries"], details["successRate"]) == ("Succeeded", 20, 100.0)
    assert details["latencyPercentile99InMs"] >= details["latencyPercentile50InMs"] > 0
    assert ModelProfile(ws, "lines").id == profile.id
    assert ws.webservices == {}
    assert threading.active_count() <= before + 1
    with pytest.raises(WebserviceException, match="ModelProfileNotFound"):
        ModelProfile(ws, "circles")
    with pytest.raises(WebserviceException, match="input_dataset is list"):
        Model.profile(ws, "lines", [], InferenceConfig("serve/score.py"), input_dataset=[1])
