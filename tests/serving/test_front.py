"""The front as a whole: keys, shares of versions, its control socket, what it tells of itself; and as a process of its own."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.serving.conftest import ECHO, Answered, Host

from roost.domain.endpoints import Auth, EndpointKind
from roost.domain.errors import InvalidInput, Unavailable
from roost.serving import asking, configuration, keys, records
from roost.serving.configuration import FrontConfig, FrontReplica, FrontVersion
from roost.serving.queues import Queue


def test_keys(host: Host) -> None:
    host.start(host.worker(), auth=Auth.KEY, keys=(keys.digest("one"), keys.digest("two")))
    for key in ("one", "two"):
        assert host.score({}, Authorization=f"Bearer {key}").status == 200
    for header in ("Bearer three", "Bearer", "Bearer ", "one", "Basic one", "Bearer one two", "Bearer " + "x" * 9000):
        answer = host.score({}, Authorization=header)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer"), header
    assert host.score({}).status == 401
    for path in ("/swagger.json", "/metrics"):
        assert host.request("GET", path).status == 401
        assert host.request("GET", path, headers={"Authorization": "bearer two"}).status == 200
    for path in ("/", "/healthz/live", "/healthz/ready"):
        assert host.request("GET", path).status == 200


def test_a_body_without_a_key_is_not_taken_in(host: Host) -> None:
    host.start(host.worker(), auth=Auth.KEY, keys=(keys.digest("one"),))
    head = b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 90000000\r\n\r\n"
    assert host.raw(head).startswith(b"HTTP/1.1 401 ")


def test_a_regenerated_key_counts_from_the_reload_on(host: Host) -> None:
    replica = host.worker()
    host.start(replica, auth=Auth.KEY, keys=(keys.digest("old"),))
    host.reload(replica, auth=Auth.KEY, keys=(keys.digest("new"),))
    assert host.score({}, Authorization="Bearer old").status == 401
    assert host.score({}, Authorization="Bearer new").status == 200


def test_tokens(host: Host) -> None:
    secret = keys.new_secret()
    host.start(host.worker(), auth=Auth.TOKEN, secret=secret, keys=(keys.digest("one"),))
    good = keys.mint(secret, "w/birds", time.time() + 60)
    assert host.score({}, Authorization=f"Bearer {good}").status == 200
    for bad in (
        "one",
        keys.mint(secret, "w/birds", time.time() - 1),
        keys.mint(secret, "w/other", time.time() + 60),
        keys.mint(keys.new_secret(), "w/birds", time.time() + 60),
        good[:-2],
        "." + good,
    ):
        assert host.score({}, Authorization=f"Bearer {bad}").status == 401


def test_the_key_does_not_reach_the_script(host: Host) -> None:
    script = "def init(): pass\ndef run(data, request_headers): return request_headers"
    host.start(host.worker(script=script), auth=Auth.KEY, keys=(keys.digest("one"),))
    told = host.score({}, Authorization="Bearer one", Colour="red").json
    assert told["Colour"] == "red" and "Authorization" not in told


def test_without_a_key_pages_of_elsewhere_are_refused(served: Host) -> None:
    for headers in (
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert served.score({}, **headers).status == 403
    assert served.request("GET", "/score?data=1", headers={"Sec-Fetch-Site": "cross-site"}).status == 403
    own = f"127.0.0.1:{served.port}"
    for headers in (
        {"Host": "localhost"},
        {"Host": "[::1]:9"},
        {"Host": own, "Origin": f"http://{own}"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin"},
    ):
        assert served.score({}, **headers).status == 200


def test_traffic_is_shared_by_percent_and_a_header_chooses(host: Host) -> None:
    versions = tuple(
        FrontVersion(name=name, traffic=traffic, models=(f"net:{name}",), replicas=(host.worker(name),))
        for name, traffic in (("one", 80), ("two", 20), ("none", 0))
    )
    host.start(ready=False, versions=versions)
    host.await_ready(3)
    shares = Counter(host.score({}).headers["x-roost-model"] for _ in range(50))
    assert shares == {"net:one": 40, "net:two": 10}
    assert host.score({}, **{"azureml-model-deployment": "none"}).headers["x-roost-model"] == "net:none"
    missed = host.score({}, **{"azureml-model-deployment": "three"})
    assert missed.status == 404
    assert missed.json["message"] == "There is no version 'three' here; there are: one, two, none."
    told = host.ask("status")["by_version"]
    assert [told[name]["requests"] for name in ("one", "two", "none")] == [40, 10, 1]
    assert host.score({}, **{"azureml-model-deployment": ""}).status == 200, "an empty wish is none"


def test_a_new_generation_takes_the_place_of_the_old_with_no_gap(host: Host) -> None:
    old, new = host.worker("a"), host.worker("b")
    beside = FrontVersion(name="default@2", traffic=0, replicas=(new,))
    host.start(ready=False, versions=(FrontVersion(replicas=(old,)), beside))
    host.await_ready(2)
    host.reload(versions=(FrontVersion(replicas=(new,), generation=2),))
    status = host.ask("status")
    assert list(status["ready"]) == [new.socket] and list(status["by_version"]) == ["default"]
    assert host.score({}).headers["x-roost-replica"] == "run_b"
    host.workers["b"].kill()
    host.worker("b")
    assert host.await_ready(1) and host.score({}).status == 200


def test_a_version_that_goes_hands_its_waiting_requests_on(host: Host) -> None:
    one = FrontVersion(name="one", traffic=100, queue_seconds=30)
    host.start(ready=False, versions=(one,))
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(host.score, {"a": 1})
        while not host.ask("status")["waiting"]:
            pass
        host.reload(versions=(FrontVersion(name="two", replicas=(host.worker("b"),), queue_seconds=30),))
        assert asked.result().headers["x-roost-replica"] == "run_b"


def under_way(host: Host, pool: ThreadPoolExecutor, seconds: float, **limits: Any) -> "Future[Answered]":
    """A request that a worker of the version `one` is at, which is then replaced by `two`, with a worker `b`."""
    host.start(ready=False, versions=(FrontVersion(name="one", replicas=(host.worker("a"),), **limits),))
    host.await_ready(1)
    asked = pool.submit(host.score, {"sleep": seconds})
    while not host.ask("status")["in_flight"]:
        pass
    quick = host.worker("b", ECHO.replace('time.sleep(asked["sleep"])', "pass"))
    host.reload(versions=(FrontVersion(name="two", replicas=(quick,)),))
    host.await_ready(1)
    return asked


def test_a_version_that_goes_answers_what_it_has_however_often_the_front_is_told_anew(host: Host) -> None:
    with ThreadPoolExecutor(1) as pool:
        asked = under_way(host, pool, 2)
        for _ in range(2):
            assert host.ask("reload")["ok"]
        assert asked.result().status == 200


def test_a_version_that_goes_keeps_its_time_limit(host: Host) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = under_way(host, pool, 60, timeout_seconds=2.5).result()
    assert answer.status == 504 and "2.5 seconds" in answer.json["message"]
    while host.ask("status")["draining"]:  # its worker is on its way out
        pass


def test_a_request_whose_worker_dies_when_its_version_is_gone_goes_to_another(host: Host) -> None:
    with ThreadPoolExecutor(1) as pool:
        asked = under_way(host, pool, 60)
        host.workers["a"].kill()
        assert asked.result().headers["x-roost-replica"] == "run_b"


def test_one_look_that_fails_is_not_the_last(served: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    front = served._front
    assert front is not None
    failed: list[float] = []

    def fail(_: Queue, now: float) -> None:
        monkeypatch.undo()
        failed.append(now)
        raise KeyError("one")

    monkeypatch.setattr(Queue, "tick", fail)
    while not failed or front._swept <= failed[0]:
        assert served.score({}).status == 200


def test_what_it_tells_of_itself(served: Host) -> None:
    served.score({})
    served.score({"raise": "no"})
    status = served.ask("status")
    assert (status["requests"], status["errors"], status["in_flight"], status["waiting"]) == (2, 1, 0, 0)
    (ready,) = status["ready"].values()
    assert ready["pid"] == served.workers["a"].pid and ready["schema"] is None and not ready["raw"]
    text = served.request("GET", "/metrics").body.decode()
    assert 'roost_endpoint_requests_total{endpoint="birds",version="default",status="502"} 1' in text
    assert 'roost_endpoint_request_seconds_bucket{endpoint="birds",version="default",le="+Inf"} 2' in text
    assert 'roost_endpoint_ready{endpoint="birds",version="default"} 1' in text
    assert served.request("GET", "/").body == b"Healthy"
    head = served.request("HEAD", "/")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", "7")


def test_what_is_turned_away_is_counted_and_what_only_looks_is_not(host: Host) -> None:
    host.start(
        ready=False, versions=(FrontVersion(replicas=(host.worker(),)),), auth=Auth.KEY, keys=(keys.digest("k"),)
    )
    host.await_ready(1)
    known = {"Authorization": "Bearer k"}
    assert host.score({}).status == 401
    assert host.request("PUT", "/score", headers=known).status == 405
    assert host.raw(b"rubbish\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert host.score({}, **known).status == 200
    host.workers["a"].kill()
    while host.request("GET", "/healthz/ready").status != 503:
        pass
    status = host.ask("status")
    assert (status["requests"], status["refused"], status["errors"]) == (4, 3, 0)
    assert status["by_version"]["default"]["requests"] == 1
    text = host.request("GET", "/metrics", headers=known).body.decode()
    assert 'roost_endpoint_requests_total{endpoint="birds",version="",status="401"} 1\n' in text
    assert 'roost_endpoint_worker_restarts_total{endpoint="birds",version="default"} 1\n' in text


def test_options_of_a_script_that_does_not_want_it(served: Host) -> None:
    answer = served.request("OPTIONS", "/score")
    assert (answer.status, answer.body, answer.headers["allow"]) == (200, b"", "POST, GET, OPTIONS")


def test_waiting_for_a_change(host: Host) -> None:
    host.start(host.worker())
    status = host.ask("status")
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(host.ask, "wait", since=status["change"], seconds=30, timeout=40)
        host.workers["a"].kill()
        assert told.result()["ready"] == {} and told.result()["change"] > status["change"]
    assert host.ask("wait", since=10**9, seconds=0.01)["ready"] == {}


@pytest.mark.parametrize(
    "line",
    [b"rubbish", b"[]", b'{"op": "no such"}', b'{"op": "wait", "since": []}', b'{"op": "records", "limit": "x"}'],
)
def test_questions_that_are_none(served: Host, line: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(served.folder / "front.sock"))
        connection.sendall(line + b"\n")
        assert "error" in json.loads(connection.makefile().readline())
    assert served.score({}).status == 200


def test_a_bad_configuration_changes_nothing(served: Host) -> None:
    (served.folder / configuration.FILE).write_text('{"workspace": "w"}')
    assert "front.json" in served.ask("reload")["error"]
    assert served.score({}).status == 200


def test_records_hold_what_was_asked_and_answered(host: Host) -> None:
    host.start(host.worker(), recorded=1.0)
    host.score({"a": "ü"})
    host.score(b"\xff\xfe")
    host.score(json.dumps({"raise": "x" * 100_000}))
    told = host.ask("records")["records"]
    assert [record["status"] for record in told] == [502, 400, 200]
    assert json.loads(told[2]["request"]) == {"a": "ü"} and json.loads(told[2]["answer"])["got"] == {"a": "ü"}
    assert (told[2]["models"], told[2]["replica"], told[2]["version"]) == ("net:3", "run_a", "default")
    assert told[1]["request_base64"] == "//4="
    assert len(told[0]["request"]) == records.LONGEST_BODY and told[0]["request_bytes"] > 100_000
    assert host.ask("records", limit=1, before=told[0]["time"])["records"] == [told[1]]
    assert os.stat(host.folder / "records" / records.FILE).st_mode & 0o777 == 0o600


COLLECTS = """
    import os
    from azureml.monitoring import ModelDataCollector

    def init():
        global inputs
        inputs = ModelDataCollector("net", designation="inputs", feature_names=["a"])
        inputs.collect([["at the start"]])

    def run(data):
        if data == "fork":
            if os.fork() == 0:
                inputs.collect([["of a child"]])
                os._exit(0)
            os.wait()
        inputs.collect([[data]])
        return data
"""


def test_what_a_script_collects_is_kept_with_the_records(host: Host) -> None:
    host.start(host.worker("a", COLLECTS), recorded=0.000001)
    for data in (b"1", b"fork", b"2"):
        assert host.score(data).status == 200
    told = host.ask("records")["records"]
    assert [each["collected"]["rows"] for each in told] == [[["2"]], [["fork"]], [["1"]], [["at the start"]]]
    about = {"model": "net", "designation": "inputs", "columns": ["a"], "row_count": 1}
    assert about.items() <= told[0]["collected"].items()
    assert (told[0]["models"], told[0]["replica"], told[0]["version"]) == ("net:3", "run_a", "default")
    assert "of a child" in host.log()


def test_what_a_worker_says_it_collected_is_not_trusted(tmp_path: Path) -> None:
    recorder = records.Recorder(tmp_path, 1.0)
    for body in (b"[1]", b"{", b'{"a": "%s"}' % (b"x" * records.LONGEST_COLLECTED), b"[" * 100_000, b'{"a": NaN}'):
        recorder.collected(body, "default", "run_a", "net:3")
    recorder.share = 0.0
    recorder.collected(b'{"b": 1}', "default", "run_a", "net:3")
    recorder.lines.flush()
    assert [each["collected"] for each in records.read(tmp_path)] == [{"a": None}]


def test_a_version_that_never_answered_leaves_no_counts(host: Host) -> None:
    old, new = host.worker("a"), host.worker("b")
    versions = FrontVersion(replicas=(old,)), FrontVersion(name="default@2", traffic=0, replicas=(new,))
    host.start(ready=False, versions=versions)
    host.await_ready(2)
    assert b'"default@2"' in host.request("GET", "/metrics").body
    host.reload(versions=versions[:1])  # the change failed
    assert b'"default@2"' not in host.request("GET", "/metrics").body


def test_nothing_is_recorded_unless_it_is_asked_for(served: Host) -> None:
    served.score({"secret": 1})
    assert served.ask("records")["records"] == [] and not (served.folder / "records").exists()


def test_the_access_log(served: Host) -> None:
    served.request("POST", "/score?key=hidden", b"{}")
    served.raw(b"GET /a\x1b[31m HTTP/1.1\r\n\r\n")
    served.stop()
    text = (served.folder / configuration.ACCESS_LOG).read_text()
    assert " POST /score 200 2 " in text and "hidden" not in text and "\x1b" not in text
    assert text.splitlines()[0].endswith(" default run_a")


def test_a_stop_answers_what_is_under_way(served: Host) -> None:
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(served.score, {"sleep": 0.5})
        while not served.ask("status")["in_flight"]:
            pass
        assert served.ask("stop")["ok"]
        assert asked.result().status == 200 and asked.result().headers["connection"] == "close"
    served.stop()
    with pytest.raises(OSError, match="refused"):
        served.connect()


# As a process


@pytest.fixture
def folder(host: Host) -> Iterator[Path]:
    configuration.write(
        host.folder, FrontConfig(workspace="w", name="birds", versions=(FrontVersion(replicas=(host.worker(),)),))
    )
    yield host.folder


def begin(folder: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-m", "roost.serving", str(folder)], stderr=subprocess.DEVNULL)


def awaited(folder: Path, front: "subprocess.Popen[bytes]") -> int:
    """Its port, once a worker is ready."""
    while front.poll() is None:
        try:
            status = asking.ask(folder, "wait", since=0, seconds=1)
        except Unavailable:
            continue
        if status["ready"]:
            return int(status["port"])
    raise AssertionError(front.returncode)


def test_it_lives_once_ends_in_peace_and_comes_back_after_a_kill(host: Host, folder: Path) -> None:
    front = begin(folder)
    try:
        host.port = awaited(folder, front)
        assert host.score({"a": 1}).status == 200
        assert begin(folder).wait(20) == 3
        front.kill()
        front.wait()
        config = configuration.read(folder)
        configuration.write(folder, FrontConfig(workspace="w", name="birds", port=host.port, versions=config.versions))
        front = begin(folder)
        assert awaited(folder, front) == host.port
        assert host.score({"a": 1}).status == 200
        front.send_signal(signal.SIGTERM)
        assert front.wait(20) == 0
        assert not (folder / configuration.SOCKET).exists()
        with open(folder / configuration.LOCK) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        front.kill()
        front.wait()


def test_it_says_why_it_cannot_start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        configuration.write(folder, FrontConfig(workspace="w", name="birds", port=taken.getsockname()[1]))
        assert begin(folder).wait(30) == 4
    (folder / configuration.FILE).write_text("{")
    assert begin(folder).wait(20) == 5


def test_a_configuration_reads_back_as_written(tmp_path: Path) -> None:
    config = FrontConfig(
        workspace="w",
        name="birds",
        kind=EndpointKind.AKS,
        auth=Auth.KEY,
        keys=("aa",),
        versions=(FrontVersion(models=("a:1", "b:2"), replicas=(FrontReplica(socket="/s", run="r"),)),),
    )
    configuration.write(tmp_path, config)
    assert configuration.read(tmp_path) == config
    assert (tmp_path / configuration.FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [configuration.FILE]
    twice = FrontConfig(workspace="w", name="birds", versions=(FrontVersion(), FrontVersion()))
    configuration.write(tmp_path, twice)
    with pytest.raises(InvalidInput, match="one name"):
        configuration.read(tmp_path)
