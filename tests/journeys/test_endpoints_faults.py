"""Endpoints when something goes wrong: scripts that fail, processes that are killed, a control plane that is away."""

import json
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.journeys.endpoints import (
    SLOW_INIT,
    TWO,
    Service,
    counted,
    echo,
    load,
    processes,
    score,
    service,
)
from tests.journeys.kills import alive, server_pid, until
from typer.testing import CliRunner

from roost.cli.main import app
from roost.domain.endpoints import EndpointKind, EndpointState, Limits
from roost.sdk.connection import embedded
from roost.serving.asking import ask

__all__ = ["service"]
pytestmark = pytest.mark.slow


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
