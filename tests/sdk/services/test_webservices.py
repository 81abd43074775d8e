"""What a service can be asked to be, and what is refused before anything is deployed. Nothing here starts a control plane."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from azureml.core import Environment
from azureml.core.model import InferenceConfig, Model
from azureml.core.webservice import AciWebservice, AksEndpoint, AksWebservice, LocalWebservice, Webservice
from azureml.exceptions import AzureMLException, UserErrorException, WebserviceException
from roost.domain.endpoints import Auth, Endpoint, EndpointKind, EndpointSpec, Limits, Version
from roost.sdk.calls import scoring
from roost.sdk.services import deploying
from roost.sdk.services.aks_endpoints import balanced
from roost.sdk.services.profiling import results
from roost.sdk.services.webservice_settings import limits_of
from roost.sdk.services.webservices import _wanted


class TestConfigurations:
    def test_aci(self, capsys: pytest.CaptureFixture[str]) -> None:
        config = AciWebservice.deploy_configuration(
            cpu_cores=1,
            memory_gb=2,
            tags={"team": "vision"},
            description="d",
            location="westeurope",
            primary_key="k" * 16,
        )
        spec = config.spec()
        assert (spec.kind, spec.auth, spec.tags) == (EndpointKind.ACI, Auth.NONE, {"team": "vision"})
        assert spec.settings == {"location": "westeurope"}
        limits = config.limits()
        assert (limits.cpu, limits.memory_gb, limits.min_replicas, limits.max_replicas) == (1.0, 2.0, 1, 1)
        assert config.keys() == {"Primary": "k" * 16}
        Model.print_configuration([], deployment_config=config)
        config.print_deploy_configuration()
        shown = capsys.readouterr().out
        assert "westeurope" in shown
        assert "k" * 16 not in repr(config) + shown
        assert "k" * 16 not in repr(spec), "a key is no part of what is asked for, which is shown to everybody"

    def test_a_service_that_is_open_because_nobody_said_otherwise_says_so(self) -> None:
        assert "auth_enabled=True" in AciWebservice.deploy_configuration().openness()
        assert "auth_enabled=True" in LocalWebservice.deploy_configuration().openness()
        for said in (True, False):
            assert AciWebservice.deploy_configuration(auth_enabled=said).openness() == ""
        assert AksWebservice.deploy_configuration().openness() == ""

    def test_aks_grows_by_itself_and_wants_keys(self) -> None:
        config = AksWebservice.deploy_configuration(autoscale_max_replicas=3, autoscale_target_utilization=50)
        limits = config.limits()
        assert (limits.min_replicas, limits.max_replicas, limits.target_utilization) == (1, 3, 0.5)
        assert config.spec().auth is Auth.KEY
        assert AksWebservice.deploy_configuration().limits().max_replicas >= 1

    def test_aks_with_a_fixed_number(self) -> None:
        config = AksWebservice.deploy_configuration(
            num_replicas=2,
            scoring_timeout_ms=1500,
            max_request_wait_time=250,
            replica_max_concurrent_requests=4,
            collect_model_data=True,
            namespace="ns",
        )
        limits = config.limits()
        assert (limits.min_replicas, limits.max_replicas, limits.concurrency) == (2, 2, 4)
        assert (limits.timeout_seconds, limits.queue_seconds) == (1.5, 0.25)
        assert config.spec().recorded == 1.0
        assert config.spec().settings == {"namespace": "ns"}

    def test_tokens(self) -> None:
        config = AksWebservice.deploy_configuration(token_auth_enabled=True, auth_enabled=False)
        assert config.spec().auth is Auth.TOKEN

    def test_a_port(self) -> None:
        assert LocalWebservice.deploy_configuration(port=8890).spec().port == 8890
        assert LocalWebservice.deploy_configuration().spec().port == 0

    def test_the_first_version_of_several(self) -> None:
        config = AksEndpoint.deploy_configuration(version_name="blue", traffic_percentile=20)
        assert config.spec().settings == {"default_version": "blue", "control_version": "blue", "traffic_blue": 20.0}

    @pytest.mark.parametrize(
        ("kind", "given", "words"),
        [
            (AciWebservice, {"cpu_cores": 0}, "cpu_cores must be a number above 0, got 0"),
            (AciWebservice, {"cpu_cores": "1"}, "got '1'"),
            (AciWebservice, {"memory_gb": -1}, "memory_gb"),
            (AciWebservice, {"tags": "a"}, "tags must be a dict"),
            (AciWebservice, {"ssl_enabled": True}, "plain HTTP"),
            (AciWebservice, {"ssl_cert_pem_file": "cert.pem"}, "ssl_cert_pem_file"),
            (AciWebservice, {"auth_enabled": "yes"}, "must be True or False"),
            (AciWebservice, {"auth_enabled": True, "primary_key": "short"}, "A key has 16 to 256"),
            (AciWebservice, {"secondary_key": "a key with spaces in it"}, "without spaces"),
            (AksWebservice, {"num_replicas": 0}, "from 1 to 64, got 0"),
            (AksWebservice, {"num_replicas": 1000}, "got 1000"),
            (AksWebservice, {"num_replicas": 2.5}, "got 2.5"),
            (AksWebservice, {"num_replicas": True}, "got True"),
            (AksWebservice, {"num_replicas": 2, "autoscale_enabled": True}, "together with autoscale_enabled"),
            (AksWebservice, {"num_replicas": 2, "autoscale_max_replicas": 3}, "together with autoscale_max_replicas"),
            (AksWebservice, {"autoscale_enabled": False, "autoscale_max_replicas": 3}, "autoscale_enabled is False"),
            (AksWebservice, {"autoscale_min_replicas": 4, "autoscale_max_replicas": 2}, "is more than"),
            (AksWebservice, {"autoscale_target_utilization": 0}, "from 1 to 100"),
            (AksWebservice, {"scoring_timeout_ms": 0}, "scoring_timeout_ms"),
            (AksWebservice, {"gpu_cores": -1}, "gpu_cores"),
            (AksWebservice, {"replica_max_concurrent_requests": 0}, "replica_max_concurrent_requests"),
            (AksWebservice, {"auth_enabled": True, "token_auth_enabled": True}, "keys or tokens"),
            (AksWebservice, {"namespace": object()}, "namespace must be text"),
            (AksEndpoint, {"traffic_percentile": 101}, "from 0 to 100, got 101"),
            (AksEndpoint, {"traffic_percentile": 12.5}, "whole number"),
            (LocalWebservice, {"port": 70000}, "from 1 to 65535"),
            (LocalWebservice, {"port": "8000"}, "got '8000'"),
        ],
    )
    def test_what_is_wrong_is_refused_at_once(self, kind: Any, given: dict[str, Any], words: str) -> None:
        with pytest.raises(WebserviceException) as caught:
            kind.deploy_configuration(**given)
        assert words in caught.value.message
        assert isinstance(caught.value, UserErrorException)

    def test_a_value_changed_afterwards_is_looked_at_again(self) -> None:
        config = AciWebservice.deploy_configuration(cpu_cores=1)
        config.cpu_cores = -1
        with pytest.raises(WebserviceException, match="cpu_cores"):
            config.validate_configuration()


def test_a_change_keeps_what_it_does_not_name() -> None:
    before = Limits(cpu=2.0, min_replicas=2, max_replicas=5, timeout_seconds=3.0)
    assert limits_of({}, before) == before
    assert limits_of({"num_replicas": 3}, before) == replace(before, min_replicas=3, max_replicas=3)
    assert limits_of({"autoscale_enabled": False}, before) == replace(before, max_replicas=2)
    assert limits_of({"autoscale_max_replicas": 8}, before) == replace(before, max_replicas=8)
    with pytest.raises(WebserviceException, match="autoscale_min_replicas 6 is more than autoscale_max_replicas 5"):
        limits_of({"autoscale_min_replicas": 6}, before)


class TestInferenceConfig:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        (tmp_path / "source").mkdir()
        (tmp_path / "source" / "score.py").write_text("def init(): pass\ndef run(data): return data\n")
        (tmp_path / "source" / "env.yml").write_text("dependencies:\n- python=3.11\n- pip:\n  - numpy\n")
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def test_a_script_in_its_folder(self) -> None:
        config = InferenceConfig(entry_script="score.py", source_directory="source")
        assert (config._folder(), config._script()) == (str(Path("source").resolve()), "score.py")

    def test_a_script_without_a_folder_is_sent_with_its_own(self) -> None:
        config = InferenceConfig("source/score.py")
        assert (config._folder(), config._script()) == (str(Path("source").resolve()), "score.py")

    def test_the_older_arguments_make_an_environment(self) -> None:
        config = InferenceConfig("score.py", runtime="python", conda_file="env.yml", source_directory="source")
        made = config._environment("birds")
        assert made is not None
        assert made.name == "birds-environment"
        assert list(made.python.loaded().pip_packages) == ["numpy"]
        assert InferenceConfig("score.py", source_directory="source")._environment("birds") is None

    def test_images_of_the_older_arguments(self) -> None:
        Path("source/steps").write_text("RUN echo hello\n")
        own = InferenceConfig("score.py", base_image="me/birds:1", source_directory="source")._environment("birds")
        assert own is not None
        assert own.docker.base_image == "me/birds:1"
        assert own.docker.enabled
        assert own.python.user_managed_dependencies
        steps = InferenceConfig(
            "score.py", base_image="me/birds:1", extra_docker_file_steps="steps", source_directory="source"
        )
        made = steps._environment("birds")
        assert made is not None
        assert made.docker.base_dockerfile == "FROM me/birds:1\nRUN echo hello\n"

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"entry_script": ""}, "There is no entry_script"),
            ({"entry_script": "scor.py"}, "There is no entry script 'scor.py'"),
            ({"entry_script": "../score.py"}, "is not in source_directory"),
            ({"entry_script": "env.yml"}, "is no Python file"),
            ({"source_directory": "nowhere"}, "is not a folder"),
            ({"runtime": "julia"}, "runtime 'julia' is not known"),
            ({"runtime": "spark-py"}, "no Spark"),
            ({"conda_file": "nope.yml"}, "conda_file 'nope.yml' is not there"),
            ({"environment": "mine"}, "must be an Environment, got str"),
            ({"environment": Environment("mine"), "conda_file": "env.yml"}, "conda_file is given along with"),
        ],
    )
    def test_what_is_wrong_is_refused_at_once(self, given: dict[str, Any], words: str) -> None:
        with pytest.raises(WebserviceException) as caught:
            InferenceConfig(**{"entry_script": "score.py", "source_directory": "source", **given})
        assert words in caught.value.message

    def test_the_hint_names_scripts_that_are_there(self) -> None:
        with pytest.raises(WebserviceException) as caught:
            InferenceConfig("scores.py", source_directory="source")
        assert caught.value.hint == "Did you mean score.py? There are: score.py."
        with pytest.raises(WebserviceException) as caught:
            InferenceConfig("nope.py", source_directory="source")
        assert caught.value.hint == "There are: score.py."


@pytest.mark.parametrize("kind", [EndpointKind.AKS, EndpointKind.AKS_ENDPOINT])
def test_another_model_with_no_code_brings_its_size_beside_what_is_given(
    kind: EndpointKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = EndpointSpec(kind=kind, versions=(Version(handler="tensorflow", limits=Limits(memory_gb=2)),))
    record, asked = Endpoint(workspace="w", name="birds", spec=spec), list[EndpointSpec]()
    service = object.__new__(AksEndpoint if kind is EndpointKind.AKS_ENDPOINT else AksWebservice)
    service._record, service.name, service.workspace = record, "birds", None  # type: ignore[assignment]
    larger = Limits(cpu=2, memory_gb=4)
    monkeypatch.setattr(deploying, "change_of", lambda *_: lambda now: replace(now, models=("n:2",), limits=larger))
    monkeypatch.setattr(service, "update_deployment_state", lambda: None)
    monkeypatch.setattr(service, "_change", lambda change: asked.append(change(spec)))
    for given in ({"num_replicas": 2}, {"memory_gb": 0.5}):
        if isinstance(service, AksEndpoint):
            service.update_version("default", models=["n:2"], **given)
        else:
            service.update(models=["n:2"], **given)
    sizes = [(each.versions[0].limits.cpu, each.versions[0].limits.memory_gb) for each in asked]
    assert sizes == [(2, 4), (2, 2.0)], "never less than the framework takes by itself"


class TestSharing:
    SPEC = EndpointSpec(versions=(Version(name="a"), Version(name="b"), Version(name="c")))

    def shares(self, **settings: Any) -> dict[str, int]:
        made = balanced(replace(self.SPEC, settings=settings))
        return {version.name: version.traffic for version in made.versions}

    def test_the_default_version_takes_what_the_others_leave(self) -> None:
        assert self.shares() == {"a": 100, "b": 0, "c": 0}
        assert self.shares(traffic_b=10.0, traffic_c=20.0) == {"a": 70, "b": 10, "c": 20}
        assert self.shares(default_version="b", traffic_c=20.0) == {"a": 0, "b": 80, "c": 20}
        assert self.shares(default_version="b", traffic_b=5.0) == {"a": 0, "b": 100, "c": 0}

    def test_more_than_all_is_refused(self) -> None:
        with pytest.raises(WebserviceException, match="ask for 110 percent of the requests: b 60, c 50"):
            self.shares(traffic_b=60.0, traffic_c=50.0)

    def test_the_share_of_one_that_is_gone_is_forgotten(self) -> None:
        made = balanced(replace(self.SPEC, settings={"traffic_gone": 50.0, "traffic_b": 10.0}))
        assert made.settings == {"traffic_b": 10.0, "default_version": "a"}


class TestAnswers:
    @pytest.mark.parametrize(
        ("body", "value"),
        [(b"[1, 2]", [1, 2]), (b'"text"', "text"), (b"plain words", "plain words"), (b"\xff\x00", b"\xff\x00")],
    )
    def test_values(self, body: bytes, value: object) -> None:
        assert scoring.Answer(200, {}, body).value() == value

    @pytest.mark.parametrize(
        ("data", "sent"), [("é", "é".encode()), (b"\x00", b"\x00"), ({"data": [1]}, b'{"data": [1]}'), ([1], b"[1]")]
    )
    def test_what_is_sent(self, data: object, sent: bytes) -> None:
        assert scoring.body_of(data) == sent

    def test_what_cannot_be_sent(self) -> None:
        with pytest.raises(WebserviceException, match="The input is object"):
            scoring.body_of(object())

    def test_who_asks_waits_as_long_as_the_service_may_take(self) -> None:
        slow = Version(limits=Limits(timeout_seconds=1000, queue_seconds=20))
        assert scoring.patience(EndpointSpec(versions=(Version(), slow))) > 2 * 1020
        assert scoring.patience(EndpointSpec()) > 0

    def test_a_refusal_has_status_and_body(self) -> None:
        error = scoring.refused(scoring.Answer(502, {"a": "b"}, b"why"))
        assert error.status_code == 502
        assert "Response Code: 502" in error.message
        assert "b'why'" in error.message


def test_labels_are_looked_for_in_the_sdks_forms() -> None:
    assert _wanted("tags", ["team", ["stage", "test"]]) == {"team": None, "stage": "test"}
    assert _wanted("tags", {"team": "vision"}) == {"team": "vision"}
    assert _wanted("tags", "team") == {"team": None}
    with pytest.raises(WebserviceException, match="a name and a value"):
        _wanted("tags", [["a", "b", "c"]])


def test_a_profile_in_numbers() -> None:
    told = results([0.001 * each for each in range(1, 101)], 2, 4.0, (0.5, 1.0), Limits(cpu=1.0, memory_gb=2.0))
    assert (told["totalQueries"], told["successQueries"], told["successRate"]) == (100, 98, 98.0)
    assert round(told["latencyPercentile50InMs"]) == 51
    assert round(told["latencyPercentile99InMs"]) == 100
    assert (told["measuredQueriesPerSecond"], told["recommendedMemoryInGB"]) == (25.0, 1.5)


@pytest.mark.parametrize(
    "use",
    [
        lambda: Model.package(None, []),
        lambda: Webservice.deploy_from_image(None, "birds", None),
        lambda: Webservice.deploy_from_model(None, "birds", [], image_config=object()),
    ],
)
def test_images_are_left_out(use: Any) -> None:
    with pytest.raises(WebserviceException, match=r"Roost (makes no images|does not have `azureml\.core\.)") as caught:
        use()
    assert "Model.deploy" in caught.value.hint


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"workspace": None}, "workspace must be a Workspace"),
        ({"deployment_config": "aci"}, "deployment_config is str"),
        ({"deployment_config": AciWebservice.deploy_configuration(), "deployment_target": object()}, "has none"),
    ],
)
def test_deploying_with_the_wrong_things(given: dict[str, Any], words: str) -> None:
    with pytest.raises(AzureMLException) as caught:
        Model.deploy(**{"workspace": None, "name": "birds", "models": [], **given})
    assert words in caught.value.message
