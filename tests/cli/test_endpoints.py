"""`roost endpoint` from outside: what it prints, its JSON, its errors."""

import io
import json
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from tests.cli import commands
from tests.cli.commands import ROOST
from tests.cli.terminals import on_terminal
from tests.cli.test_cli import roost
from tests.shared.folders import tree

from roost.cli.commands.endpoints import load_test
from roost.cli.commands.endpoints.settings import Change, kind_of, limits, payload
from roost.domain.endpoints import Endpoint, EndpointSpec, EndpointState, Limits, Replica, Version
from roost.domain.errors import InvalidEndpoint
from roost.sdk.core.workspaces import Workspace
from roost.sdk.services import webservice_waiting

SCORE = """
import json, os

def init():
    global words
    with open(os.path.join(os.environ["AZUREML_MODEL_DIR"], "words.txt")) as file:
        words = file.read()
    print("loaded", words)

def run(data):
    asked = json.loads(data)
    if asked == "raise":
        raise ValueError("asked to")
    return words + asked
"""
BROKEN = "def init():\n    raise OSError('no')\n\ndef run(data):\n    return data\n"
COMMANDS = {"deploy", "list", "show", "logs", "test", "update", "delete", "bench", "keys", "records"}


def test_help(home: Path) -> None:
    assert set(roost("endpoint", "--help").split()) >= COMMANDS
    roost("endpoint", "deploy", code=2)
    roost("endpoint", "test", "birds", code=2)
    assert not home.exists()


def test_what_is_wrong_starts_nothing(home: Path) -> None:
    for words, arguments in (
        ("--replicas is 1 to 64, got 0", ("deploy", "birds", "-m", "net", "--replicas", "0")),
        ("--replicas is given together with --min", ("deploy", "birds", "--replicas", "2", "--min", "1")),
        ("--min 3 is more than --max 2", ("deploy", "birds", "--min", "3", "--max", "2")),
        ("--memory is above 0, got -1", ("deploy", "birds", "--memory", "-1")),
        ("--auth cannot be 'password'", ("deploy", "birds", "--auth", "password")),
        ("No models are given and no --script", ("deploy", "birds")),
        ("2 models are given and no --script", ("deploy", "birds", "-m", "net", "-m", "words")),
        ("--record is 0 to 1, got 5", ("deploy", "birds", "-m", "net", "--record", "5")),
        ("--record is 0 to 1, got -1", ("update", "birds", "--record", "-1")),
        ("There is nothing to change", ("update", "birds")),
        ("--environment and --source go with a script", ("update", "birds", "--environment", "sk.yml")),
        ("nowhere.json cannot be read", ("test", "birds", "--data", "@nowhere.json")),
        ("--connections is 1 to 1000, got 0", ("bench", "birds", "--data", "1", "--connections", "0")),
        ("--seconds is above 0", ("bench", "birds", "--data", "1", "--seconds", "0")),
    ):
        assert f"error: {words}" in roost("endpoint", *arguments, code=1)
    assert not home.exists()


def test_options_in_the_words_of_the_sdk(tmp_path: Path) -> None:
    assert limits(2, None, None, 0.5, None, 1.5, 4) == {
        "num_replicas": 2,
        "cpu_cores": 0.5,
        "scoring_timeout_ms": 1500,
        "replica_max_concurrent_requests": 4,
    }
    assert kind_of("TOKEN") == {"auth_enabled": False, "token_auth_enabled": True}
    (tmp_path / "data").write_bytes(b"\x00\xff")
    assert payload(f"@{tmp_path / 'data'}") == b"\x00\xff"
    assert payload("[1]") == b"[1]"
    with pytest.raises(InvalidEndpoint):
        payload(f"@{tmp_path}")


def test_a_change_of_limits_keeps_the_size_of_a_new_model() -> None:
    spec = EndpointSpec(versions=(Version(handler="onnx", limits=Limits(memory_gb=1)),))
    made = Change(limits={"num_replicas": 2})._changed(spec, lambda now: replace(now, limits=Limits(memory_gb=4)))
    assert (made.versions[0].limits.memory_gb, made.versions[0].limits.min_replicas) == (4, 2)


def test_a_bench_needs_somebody_who_answers() -> None:
    with pytest.raises(InvalidEndpoint, match="Nobody answers at 127"):
        load_test.run("http://127.0.0.1:9/score", None, b"1", "application/json", 2, 0.1)


def test_what_waits_in_a_pipe_has_a_line_for_each_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = EndpointSpec(versions=(Version(name="default", generation=1),))
    endpoint = Endpoint(workspace="w", name="birds", spec=spec, user="ann", created_at=0, updated_at=0, port=1)
    one = Replica(run_id="r", version="default", generation=1, socket="s", created_at=0)
    building = replace(one, status="Preparing", message="Building environment 'sk-env'.")
    out = io.StringIO()
    told = webservice_waiting.ToldInLines(cast(Workspace, None), "birds", out)
    for found in ([], [one, building], [building], [replace(one, status="Running")], [replace(one, ready=True)]):
        monkeypatch.setattr(webservice_waiting.endpoints, "replicas", lambda *_, found=found: found)
        told.step(endpoint)
    told.step(replace(endpoint, state=EndpointState.HEALTHY))
    assert out.getvalue().splitlines() == ["Preparing: building environment 'sk-env'", "Starting", "Healthy"]


def test_while_an_environment_is_built_a_notebook_sees_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(["Resolved 12 packages\nDownloading torch (216.0 MB)\n", "", "Installed 12 packages\n"])

    class Log:
        def read(self, wait: float) -> str:
            return next(lines)

    monkeypatch.setattr(webservice_waiting.waiting, "Tail", lambda *_: Log())
    out = io.StringIO()
    told = webservice_waiting.Told(
        cast(Workspace, SimpleNamespace(_connection=SimpleNamespace(watcher=None))), "b", out
    )
    version = Version(name="v1", generation=1)
    record = Endpoint(name="b", workspace="w", spec=EndpointSpec(versions=(version,)), user="u", created_at=0.0)
    replica = Replica(run_id="r1", version="v1", generation=1)
    told.expect(record)
    for status, message in (
        ("Preparing", "Its environment is being built."),
        ("Preparing", "Its environment is being built."),
        ("Preparing", "Its environment is being built."),
        ("Running", ""),
    ):
        found = [replace(replica, status=status, message=message)]
        monkeypatch.setattr(webservice_waiting.endpoints, "replicas", lambda *_, found=found: found)
        told.step(record)
    said = [line.rpartition("Replica ")[2] for line in out.getvalue().splitlines()]
    assert said == [
        ".",
        "r1: Preparing: its environment is being built",
        "    Downloading torch (216.0 MB)..",
        "    Installed 12 packages.",
        "r1: Running: its worker starts and calls init()",
    ]


@pytest.mark.slow
def test_who_stops_waiting_is_told_that_it_goes_on(home: Path, tmp_path: Path) -> None:
    slow = "import time\ndef init():\n    time.sleep(60)\ndef run(data):\n    return data\n"
    tree(tmp_path, {"score.py": slow, "words.txt": "hello "})
    roost("model", "register", "words", "words.txt")
    argv = [ROOST, "endpoint", "deploy", "slow", "-m", "words", "-s", "score.py"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "Starting\n"
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert "Endpoint slow goes on coming up." in said
    assert "roost endpoint show slow" in said and "roost endpoint delete slow" in said
    roost("endpoint", "delete", "slow", "--yes")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_endpoint_from_the_shell(home: Path, tmp_path: Path) -> None:
    tree(
        tmp_path,
        {"serve/score.py": SCORE, "words.txt": "hello ", "broken.py": BROKEN, "words/trap.txt": "no model"},
    )
    assert roost("endpoint", "list") == ""
    roost("model", "register", "words", "words.txt")
    made = roost("endpoint", "deploy", "birds", "-m", "words", "-s", "serve/score.py", "--record", "1", "-t", "team=x")
    assert "Endpoint birds serves at http://127.0.0.1:" in made
    assert "Try it: roost endpoint test birds" in made
    none = commands.run(["endpoint", "records", "birds"])
    assert none.stderr == "Nothing is recorded yet: 100 % of the requests to come will be.\n"
    assert roost("endpoint", "records", "birdz", code=1).startswith("error: WebserviceNotFound")
    row = roost("endpoint", "list").splitlines()[1].split()
    assert row[:3] == ["birds", "Healthy", "words:1"]
    assert roost("endpoint", "test", "birds", "--data", '"you"').splitlines()[0] == '"hello you"'
    answer = json.loads(roost("endpoint", "test", "birds", "--data", '"you"', "--json"))
    assert (answer["status"], answer["answer"], answer["headers"]["x-roost-model"]) == (200, "hello you", "words:1")
    assert roost("endpoint", "test", "birds", "--data", '"raise"', code=1).startswith("502 in ")

    shown = roost("endpoint", "show", "birds")
    for line in ("callers show key", "tag          team = x", "script       score.py", "model        words:1"):
        assert line in shown
    assert "100 % of the requests" in shown
    assert "3, of them 0 refused (4xx), 1 failed (5xx)" in shown
    assert "none: somebody brought it" in shown
    told = json.loads(roost("endpoint", "show", "birds", "--json"))
    assert told["endpoint"]["spec"]["versions"][0]["models"] == ["words:1"]
    assert [each["ready"] for each in told["replicas"]] == [True]
    assert "loaded hello" in roost("endpoint", "logs", "birds")
    with subprocess.Popen([ROOST, "endpoint", "logs", "birds", "-f"], stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert "loaded hello" in following.stdout.readline()
        following.send_signal(signal.SIGINT)
    unknown = roost("endpoint", "logs", "birds", "--replica", "zzz", code=1)
    assert "List them: roost endpoint show birds" in unknown
    assert roost("endpoint", "logs", "nope", code=1).startswith("error: WebserviceNotFound")
    assert "--script score.py" in roost("model", "show", "words")

    keys = json.loads(roost("endpoint", "keys", "birds", "--json"))
    renewed = json.loads(roost("endpoint", "keys", "birds", "--renew", "primary", "--json"))
    assert keys["primary"] != renewed["primary"]
    assert keys["secondary"] == renewed["secondary"]
    recorded = json.loads(roost("endpoint", "records", "birds", "--json"))
    assert {each["request"] for each in recorded} == {'"you"', '"raise"'}
    assert "502" in roost("endpoint", "records", "birds")
    measured = json.loads(
        roost("endpoint", "bench", "birds", "--data", '"x"', "--connections", "4", "--seconds", "0.5", "--json")
    )
    assert (measured["failed"], measured["connections"]) == (0, 4)
    assert measured["answered"] > 4
    assert measured["p99_ms"] >= measured["p50_ms"] > 0

    (tmp_path / "words.txt").write_text("bye ")
    roost("model", "register", "words", "words.txt")
    assert "error: Model words:1 is deployed: birds." in roost("model", "delete", "words", "--all", "--yes", code=1)
    assert "words:2" in roost("model", "show", "words:2"), "all of them go, or none"
    assert "was changed and serves" in roost("endpoint", "update", "birds", "-m", "words", "--auth", "none")
    assert roost("endpoint", "test", "birds", "--data", '"you"').splitlines()[0] == '"bye you"'
    assert "callers show nothing" in roost("endpoint", "show", "birds")
    assert "asks for no key" in roost("endpoint", "keys", "birds", code=1)
    screen = on_terminal(["endpoint", "update", "birds", "--auth", "token"])
    assert screen.lines[0].rstrip(".") == "Endpoint birds is on its way"
    assert "no key to renew" in roost("endpoint", "keys", "birds", "--renew", "primary", code=1)
    assert "token" in roost("endpoint", "keys", "birds")
    failed = commands.run(["endpoint", "update", "birds", "-s", "broken.py"])
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "the endpoint is as it was before" in failed.stderr
    assert "OSError: no" in failed.stderr, "with the script's own stack trace"
    taken = roost("endpoint", "deploy", "birds", "-m", "words", "-s", "serve/score.py", code=1)
    assert "there is already a service with name birds" in taken
    assert "hint: Give --overwrite" in taken
    assert "hint: There are: birds." in roost("endpoint", "show", "birdz", code=1)
    assert roost("endpoint", "delete", "birds", "--yes") == "Endpoint birds was deleted; its models stay.\n"
    assert "WebserviceNotFound" in roost("endpoint", "delete", "birds", "--yes", code=1)
