"""Endpoints, whole: deployed, asked, changed under load, deleted; and what becomes of them when something goes wrong."""

import json
import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.journeys.endpoints import ECHO, Answer, Service, load, score
from tests.journeys.kills import alive, server_pid, until
from typer.testing import CliRunner

from roost import Experiment, Model, Workspace
from roost.agent.folder import Folder
from roost.cli.inputs.runs import find_run
from roost.cli.main import app
from roost.domain.endpoints import Auth, EndpointKind, EndpointState, Limits
from roost.domain.errors import EndpointConflict, EndpointNotFound, InvalidEndpoint, RoostError, TooLarge
from roost.sdk.connection import embedded
from roost.serving.asking import ask

pytestmark = pytest.mark.slow

TWO = Limits(min_replicas=2, max_replicas=2)
SLOW_INIT = "import time\n\ndef init():\n    time.sleep(600)\n\ndef run(data):\n    return data\n"


@pytest.fixture
def service(workspace: Workspace) -> Service:
    return Service(workspace)


def echo(text: str) -> str:
    return ECHO.format(text=text)


def counted(calls: Path, *lines: str) -> str:
    """A script that writes a letter to a file for each request that it begins with."""
    begin = [f"with open({str(calls)!r}, 'a') as calls:", "    calls.write('x')"]
    return "import time\n\ndef init():\n    pass\n\ndef run(data):\n    " + "\n    ".join([*begin, *lines])


def processes(service: Service) -> list[int]:
    """All that an endpoint has on this machine: its front, what carries the mark of a replica, and those who look after it."""
    runs = list((service.folder.parent.parent / "runs").glob("endpoint-*"))
    marks = {Folder(run).mark for run in runs}
    found: set[int] = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            front = "roost.serving" in process.cmdline() and str(service.folder) in process.cmdline()
            if front or process.environ().get("ROOST_MARK") in marks:
                found.add(process.pid)
    for run in runs:
        with suppress(psutil.Error, OSError, ValueError):
            agent = psutil.Process(json.loads((run / "agent.json").read_bytes())["pid"])
            found.update((agent.pid, agent.ppid()))
    return [pid for pid in found if alive(pid) and pid > 1]


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


@pytest.mark.parametrize("change", ["import nothing_of_that_name\n", "def init(:\n"], ids=["import", "syntax"])
def test_an_update_that_fails_leaves_what_was_there(service: Service, change: str) -> None:
    endpoint = service.deploy(echo("one "))
    with load(endpoint.port, 2) as requests:
        after = service.deploy(change + echo("two "), update=True)
        requests.more(20)
    assert requests.failed == []
    assert (after.state, after.spec) == ("Healthy", endpoint.spec)
    assert "as it was before" in after.error
    assert "nothing_of_that_name" in after.error or "SyntaxError" in after.error
    assert {answer.text for answer in requests.answers} == {json.dumps('one "x"')}
    assert service.deploy(echo("three "), update=True).error == ""
    assert score(endpoint.port).text == json.dumps('three "x"')


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("raise ValueError('no weights')", "init() raised ValueError: no weights"),
        ("import sys; sys.exit(3)", "init() called sys.exit(3)."),
        ("import os; print('going', flush=True); os._exit(0)", "going"),
        ("import nothing_at_all", f"It ran in {sys.executable}, as there was no environment."),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
    ],
)
def test_an_init_that_fails_fails_the_deployment_and_tells_why(service: Service, line: str, words: str) -> None:
    endpoint = service.deploy(f"def init():\n    {line}\n\ndef run(data):\n    return data\n")
    assert endpoint.state is EndpointState.FAILED
    assert words in endpoint.error
    until(lambda: processes(service) == [])
    with pytest.raises(OSError, match="refused"):
        score(endpoint.port)
    assert service.call("GET", "/logs")["text"]
    again = service.deploy(echo("now "), overwrite=True)
    assert (again.state, again.port) == ("Healthy", endpoint.port)
    assert score(endpoint.port).status == 200


def test_an_init_that_never_returns_fails_the_deployment(service: Service) -> None:
    endpoint = service.deploy(SLOW_INIT, limits=Limits(start_seconds=1.5))
    assert endpoint.state is EndpointState.FAILED
    assert "init() has not returned" in endpoint.error
    until(lambda: processes(service) == [])


def test_a_script_that_raises_answers_502_and_goes_on(service: Service) -> None:
    endpoint = service.deploy("def init():\n    pass\n\ndef run(data):\n    return 1 / int(data)\n")
    answer = score(endpoint.port, "0")
    assert answer.status == 502
    assert "division by zero" in answer.text
    assert score(endpoint.port, "2").text == "0.5"
    assert "ZeroDivisionError" in until(lambda: service.call("GET", "/logs")["text"])
    assert service.get().state is EndpointState.HEALTHY


def test_a_script_that_hangs_is_begun_anew(service: Service) -> None:
    script = "import time\n\ndef init():\n    pass\n\ndef run(data):\n    time.sleep(float(data))\n    return data\n"
    endpoint = service.deploy(script, limits=Limits(timeout_seconds=0.5, queue_seconds=20))
    before = service.ready()
    assert score(endpoint.port, "600").status == 504
    assert score(endpoint.port, "0").status == 200
    assert service.ready().keys() == before.keys()
    assert service.ready() != before
    assert "longer than its time limit" in until(
        lambda: (text := service.call("GET", "/logs")["text"]) and ("begun anew" in text and text)
    )


def test_a_request_that_takes_too_much_memory_is_told_so(service: Service, tmp_path: Path) -> None:
    much = ("kept = b'x' * 500_000_000", "time.sleep(2)", "return len(kept)")  # only asked to end, it would answer
    script = counted(tmp_path / "calls", *much)
    endpoint = service.deploy(script, limits=Limits(memory_gb=0.2, queue_seconds=30))
    answer = score(endpoint.port)
    assert answer.status == 502
    assert "more than its limit of 0.2 GB" in json.loads(answer.text)["message"]
    assert (tmp_path / "calls").read_text() == "xx"
    shown = CliRunner().invoke(app, ["endpoint", "show", "birds"], catch_exceptions=False).stdout
    assert "begun anew 2 times; the last time: The replica had " in shown


def test_a_script_that_leaks_memory_is_begun_anew(service: Service) -> None:
    script = """
kept = []

def init():
    pass

def run(data):
    kept.append(bytearray(int(data) * 2**20))
    return len(kept)
"""
    endpoint = service.deploy(script, limits=Limits(memory_gb=0.2, queue_seconds=20))
    before = service.ready()
    for _ in range(30):
        score(endpoint.port, "16")
    until(lambda: (now := service.ready()) and now != before)
    assert service.ready().keys() == before.keys()
    assert "more than its limit of 0.2 GB" in until(lambda: service.call("GET", "/logs")["text"])
    assert score(endpoint.port, "1").status == 200


def test_a_replica_killed_under_load_fails_no_request(service: Service) -> None:
    endpoint = service.deploy(echo("one "), limits=replace(TWO, queue_seconds=30))
    with load(endpoint.port) as requests:
        for _ in range(3):
            requests.more(30)
            before = service.ready()
            victim = min(before.values())
            os.kill(victim, signal.SIGKILL)
            until(lambda: len(now := service.ready()) == 2 and victim not in now.values())  # noqa: B023
        requests.more(30)
    assert requests.failed == []


def test_an_agent_that_is_killed_is_replaced(service: Service) -> None:
    endpoint = service.deploy(echo("one "), limits=replace(TWO, queue_seconds=30))
    before = set(service.ready())
    with load(endpoint.port, 2) as requests:
        worker = min(service.ready().values())
        agent = psutil.Process(worker).ppid()
        os.kill(agent, signal.SIGKILL)
        until(lambda: len(now := service.ready()) == 2 and set(now) != before)
        requests.more(20)
    assert requests.failed == []
    assert not alive(worker)


def test_a_front_that_is_killed_comes_back_at_its_port(service: Service) -> None:
    endpoint = service.deploy(echo("one "))
    workers, front = service.ready(), service.front_pid()
    os.kill(front, signal.SIGKILL)
    until(lambda: _answers(endpoint.port))
    assert service.front_pid() != front
    assert until(service.ready) == workers


def _answers(port: int) -> bool:
    try:
        return score(port).status == 200
    except OSError:
        return False


def test_services_go_on_while_the_control_plane_is_away_and_are_taken_up(service: Service, home: Path) -> None:
    endpoint = service.deploy(echo("one "), limits=TWO)
    workers, front = service.ready(), service.front_pid()
    with load(endpoint.port, 2) as requests:
        requests.more(20)
        os.kill(server_pid(home), signal.SIGKILL)
        requests.more(50)
        os.kill(min(workers.values()), signal.SIGKILL)  # its agent begins it anew, with nobody to ask
        requests.more(50)
        until(lambda: len(_ready_of(service)) == 2)
        assert service.get().state is EndpointState.HEALTHY  # asking brings the control plane back
        requests.more(50)
    assert requests.failed == []
    assert service.front_pid() == front
    assert until(service.ready).keys() == workers.keys()
    assert service.deploy(echo("two "), limits=TWO, update=True).error == ""
    assert score(endpoint.port).text == json.dumps('two "x"')


def _ready_of(service: Service) -> dict[str, Any]:
    """Asked of the front itself."""
    return dict(ask(service.folder, "status")["ready"])


def test_roost_down_ends_the_control_plane_and_no_endpoint(service: Service) -> None:
    endpoint = service.deploy(echo("one "), kind=EndpointKind.AKS)
    shown = CliRunner().invoke(app, ["down"])
    address = f"http://127.0.0.1:{endpoint.port}/api/v1/service/birds/score"
    assert f"Endpoint birds goes on serving at {address};" in shown.output
    assert "roost endpoint delete birds" in shown.output
    assert score(endpoint.port).status == 200
    assert service.get().state is EndpointState.HEALTHY


def test_after_a_restart_of_the_machine_the_endpoint_serves_again_at_its_port(service: Service, home: Path) -> None:
    endpoint = service.deploy(echo("one "), limits=TWO)
    before = set(service.ready())
    victims = [server_pid(home), *(child.pid for child in psutil.Process(server_pid(home)).children(recursive=True))]
    for pid in {*victims, *processes(service)}:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    until(lambda: processes(service) == [])
    assert not _answers(endpoint.port)
    embedded.ensure(home)
    until(lambda: _answers(endpoint.port))
    until(lambda: len(service.ready()) == 2)
    assert not before & set(service.ready())
    assert service.stands(state=EndpointState.HEALTHY).port == endpoint.port


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
