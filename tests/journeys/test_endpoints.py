"""Endpoints, whole: deployed, asked, changed under load, deleted."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.journeys.endpoints import (
    SLOW_INIT,
    TWO,
    Answer,
    Service,
    counted,
    echo,
    load,
    processes,
    score,
    service,
)
from tests.journeys.kills import until
from typer.testing import CliRunner

from roost import Experiment, Model, Workspace
from roost.cli.inputs.runs import find_run
from roost.cli.main import app
from roost.domain.endpoints import Auth, EndpointState, Limits
from roost.domain.errors import EndpointConflict, EndpointNotFound, InvalidEndpoint, RoostError, TooLarge

__all__ = ["service"]
pytestmark = pytest.mark.slow


def test_a_prediction_is_traced_to_its_model_and_run(service: Service, workspace: Workspace) -> None:
    Path("net.txt").write_text("7")
    Model.register(workspace, "net.txt", "net")
    script = """
import os

def init():
    global weight
    with open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "net.txt")) as file:
        weight = int(file.read())
    print("loaded", weight)

def run(data):
    return weight
"""
    endpoint = service.deploy(service.version(script, models=("net",)))
    assert (endpoint.state, endpoint.error) == ("Healthy", "")
    answer = score(endpoint.port)
    assert (answer.status, answer.text) == (200, "7")
    (replica,) = service.replicas()
    assert answer.headers["x-roost-model"] == "net:1"
    assert answer.headers["x-roost-replica"] == replica.run_id
    assert answer.headers["x-ms-request-id"]
    run = workspace.get_run(replica.run_id)
    assert run.status == "Running"
    assert "loaded 7" in until(lambda: service.call("GET", "/logs")["text"])
    with pytest.raises(RoostError, match="birds"):
        Model(workspace, "net").delete()
    assert service.delete()
    Model(workspace, "net").delete()
    assert workspace.get_run(replica.run_id).status == "Canceled"


def test_an_update_under_load_fails_no_request(service: Service) -> None:
    endpoint = service.deploy(echo("one "), limits=TWO)
    with load(endpoint.port) as requests:
        requests.more(50)
        after = service.deploy(echo("two "), limits=TWO, update=True)
        assert (after.state, after.error, after.port) == ("Healthy", "", endpoint.port)
        asked = len(requests.answers)
        requests.more(100)
    assert requests.failed == []
    assert requests.answers[0].text == json.dumps('one "x"')
    assert {answer.text for answer in requests.answers[asked + 8 :]} == {json.dumps('two "x"')}
    until(lambda: len([each for each in service.replicas() if each.status == "Running"]) == 2)


def test_what_is_being_worked_on_is_finished_before_its_replica_goes(service: Service, tmp_path: Path) -> None:
    script = counted(tmp_path / "calls", "time.sleep(float(data))", "return 'slept'")
    endpoint = service.deploy(script)
    answers: list[Answer] = []
    slow = threading.Thread(target=lambda: answers.append(score(endpoint.port, "8")))
    slow.start()
    until((tmp_path / "calls").exists)
    old = set(service.ready())
    service.deploy(echo("two "), update=True)
    assert score(endpoint.port).text == json.dumps('two "x"')
    slow.join(60)
    assert [answer.text for answer in answers] == ['"slept"']
    assert (tmp_path / "calls").read_text() == "x"
    until(lambda: not old & set(service.ready()))
    until(lambda: len([each for each in service.replicas() if each.status == "Running"]) == 1)


def test_the_log_has_what_was_printed_by_the_time_of_the_call(service: Service) -> None:
    script = "def init():\n    print('loaded')\n\ndef run(data):\n    print('asked for', data)\n    return data\n"
    endpoint = service.deploy(script)
    assert "loaded\n" in service.call("GET", "/logs")["text"]
    for number in range(10):
        assert score(endpoint.port, str(number)).status == 200
        assert f"asked for {number}\n" in service.call("GET", "/logs")["text"]


def test_the_log_is_of_each_replica_that_serves(service: Service) -> None:
    script = "import os, time\n\ndef init():\n    print('loaded')\n\ndef run(data):\n    print('asked', data)\n"
    endpoint = service.deploy(f"{script}    time.sleep(0.01)\n    return os.getpid()\n", limits=TWO)
    with ThreadPoolExecutor(2) as pool:
        asked = list(pool.map(lambda number: score(endpoint.port, str(number)).text, range(50)))
    assert len(set(asked)) == 2
    said = service.call("GET", "/logs")
    ids = [each.run_id for each in service.replicas()]
    assert all(f"Replica {run_id}:\nloaded\n" in said["text"] for run_id in ids) and said["run_id"] in ids
    assert all(f"asked {number}\n" in said["text"] for number in range(50))
    one = service.call("GET", "/logs", params={"replica": ids[0], "lines": 1})
    assert one["run_id"] == ids[0] and one["text"].startswith("asked ") and one["text"].count("\n") == 1


def test_lists_of_peoples_work_leave_replicas_out_unless_they_are_asked_for(
    service: Service, workspace: Workspace
) -> None:
    mine = Experiment(workspace, "train").start_logging()
    mine.complete()
    service.deploy(echo("one "))
    (replica,) = service.replicas()

    def listed(*words: str) -> list[str]:
        told = CliRunner().invoke(app, ["run", "list", "--json", *words], catch_exceptions=False)
        return [each["id"] for each in json.loads(told.stdout)]

    for _ in ("while it serves", "once it is gone"):
        assert listed() == listed("--kind", "interactive") == [mine.id]
        assert listed("--kind", "Replica") == listed("-e", "endpoint-birds") == [replica.run_id]
        assert find_run(workspace, "@latest").id == mine.id
        assert find_run(workspace, replica.run_id.rpartition("_")[2]).id == replica.run_id
        assert [each.name for each in Experiment.list(workspace)] == list(workspace.experiments) == ["train"]
        assert [each.name for each in Experiment.list(workspace, "endpoint-birds")] == ["endpoint-birds"]
        assert [run.id for run in Experiment(workspace, "endpoint-birds").get_runs()] == [replica.run_id]
        with suppress(EndpointNotFound):
            service.delete()
    words = ["gc", "--older-than", "0s", "--yes", "--json"]
    told = CliRunner().invoke(app, words, catch_exceptions=False)
    assert json.loads(told.stdout)["runs"] == [mine.id, replica.run_id]
    assert list(workspace.experiments) == ["train"]
    Experiment.delete(workspace, "endpoint-birds")
    assert Experiment.list(workspace, "endpoint-birds") == []


@pytest.mark.parametrize(
    ("change", "words"),
    [("import nothing_of_that_name\n", "nothing_of_that_name"), ("def init(:\n", "SyntaxError")],
    ids=["import", "syntax"],
)
def test_an_update_that_fails_leaves_what_was_there(service: Service, change: str, words: str) -> None:
    endpoint = service.deploy(echo("one "))
    with load(endpoint.port, 2) as requests:
        after = service.deploy(change + echo("two "), update=True)
        requests.more(20)
    assert requests.failed == []
    assert (after.state, after.spec) == ("Healthy", endpoint.spec)
    assert "as it was before" in after.error
    assert words in after.error
    assert {answer.text for answer in requests.answers} == {json.dumps('one "x"')}
    assert service.deploy(echo("three "), update=True).error == ""
    assert score(endpoint.port).text == json.dumps('three "x"')


def test_deleting_ends_everything(service: Service) -> None:
    endpoint = service.deploy(echo("one "), limits=TWO)
    assert len(processes(service)) == 7  # the front; keeper, agent and worker of each replica
    assert service.delete()
    assert service.is_gone()
    assert processes(service) == []
    with pytest.raises(OSError, match="refused"):
        score(endpoint.port)
    with pytest.raises(EndpointNotFound):
        service.call("DELETE", "")


def test_deleting_in_the_middle_of_a_deployment_ends_everything(service: Service) -> None:
    service.put(SLOW_INIT)
    until(lambda: any(each.status == "Running" for each in service.replicas()))
    assert service.delete()
    assert service.is_gone()
    assert processes(service) == []
    assert service.deploy(echo("again ")).state is EndpointState.HEALTHY


def test_two_who_deploy_one_name_at_once(service: Service) -> None:
    outcomes: list[object] = []

    def deploy(text: str) -> None:
        try:
            outcomes.append(service.put(echo(text)))
        except EndpointConflict as error:
            outcomes.append(error)

    threads = [threading.Thread(target=deploy, args=(text,)) for text in ("one ", "two ")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(each, EndpointConflict) for each in outcomes) == 1
    assert service.stands().state is EndpointState.HEALTHY
    threads = [
        threading.Thread(target=service.put, args=(echo(text),), kwargs={"overwrite": True}) for text in ("a ", "b ")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    endpoint = service.stands()
    assert (endpoint.state, endpoint.error) == ("Healthy", "")
    until(lambda: len([each for each in service.replicas() if each.status == "Running"]) == 1)
    assert score(endpoint.port).text in (json.dumps('a "x"'), json.dumps('b "x"'))


def test_names_and_specs_that_are_tricks_change_nothing(workspace: Workspace, home: Path) -> None:
    for name in ("..%2f..%2fetc", "%2e%2e", "a%2fb", "a%00b", "UPPER", "x" * 33, "-ab"):
        with pytest.raises(RoostError):
            Service(workspace, name).put(echo("one "))
    service = Service(workspace)
    with pytest.raises(TooLarge):
        service.put(echo("one "), description="x" * 9_000_000)
    with pytest.raises(InvalidEndpoint):
        service.put(echo("one "), description="x" * 30_000)
    assert not (home / "endpoints").exists()


def test_only_who_has_a_key_is_answered(service: Service) -> None:
    endpoint = service.deploy(echo("one "), auth=Auth.KEY)
    keys = service.call("GET", "/keys")
    assert score(endpoint.port).status == 401
    assert score(endpoint.port, key="0" * 32).status == 401
    assert [score(endpoint.port, key=key).status for key in keys.values()] == [200, 200]
    assert not any(key in (service.folder / "front.json").read_text() for key in keys.values())
    fresh = service.call("POST", "/keys", json={"which": "Primary"})
    until(lambda: score(endpoint.port, key=fresh["primary"]).status == 200)
    assert score(endpoint.port, key=keys["primary"]).status == 401
    assert score(endpoint.port, key=keys["secondary"]).status == 200
    after = service.deploy(echo("one "), auth=Auth.TOKEN, update=True)
    assert score(after.port).status == 401
    assert score(after.port, key=service.call("POST", "/token")["token"]).status == 200


def test_versions_share_the_requests_and_are_changed_one_by_one(service: Service) -> None:
    one = service.version(echo("one "), name="one", traffic=50)
    two = service.version(echo("two "), name="two", traffic=50)
    endpoint = service.deploy(one, versions=(one, two))
    workers = service.ready()
    texts = [score(endpoint.port).text for _ in range(20)]
    assert {texts.count(each) for each in set(texts)} == {10}
    service.deploy(one, versions=(replace(one, traffic=100), replace(two, traffic=0)), update=True)
    assert {score(endpoint.port).text for _ in range(10)} == {json.dumps('one "x"')}
    assert service.ready() == workers
    service.deploy(one, versions=(replace(one, traffic=100),), update=True)
    until(lambda: len(service.ready()) == 1)
    assert service.ready().items() <= workers.items()


def test_replicas_come_with_load(service: Service) -> None:
    script = "import time\n\ndef init():\n    pass\n\ndef run(data):\n    time.sleep(0.2)\n    return data\n"
    endpoint = service.deploy(script, limits=Limits(min_replicas=1, max_replicas=3, queue_seconds=30))
    with load(endpoint.port, 8) as requests:
        until(lambda: len(service.ready()) == 3)
        requests.more(10)
    assert requests.failed == []
    assert len(service.ready()) == 3


def test_what_is_recorded_can_be_looked_at(service: Service) -> None:
    endpoint = service.deploy(echo("one "), recorded=1.0)
    for number in range(3):
        score(endpoint.port, f'"{number}"')
    found = until(lambda: len(found := service.call("GET", "/records")["records"]) == 3 and found)
    assert "2" in json.dumps(found[0])
    assert len(service.call("GET", "/records", params={"limit": 1})["records"]) == 1
    assert service.call("GET", "/records", params={"before": found[0]["time"]})["records"] == found[1:]
