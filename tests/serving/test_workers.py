"""Workers that die, hang, hold the interpreter's lock, come and go, while requests are under way."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.serving.conftest import ECHO, Host

from roost.serving.configuration import FrontReplica, FrontVersion
from roost.serving.exchanges import Exchange
from roost.serving.queues import Queue
from roost.serving.workers import WorkerLink
from roost_job.scoring import frames

SLOW_ONE = """
    import json, os, time

    def init(): pass

    def run(data):
        asked = json.loads(data)
        time.sleep(asked.get("sleep", 0.002))
        return os.getpid()
"""


def test_killed_under_load_with_two_workers_no_request_fails(host: Host) -> None:
    host.start(host.worker("a", SLOW_ONE), host.worker("b", SLOW_ONE))
    begun = threading.Semaphore(0)

    def ask(_: int) -> int:
        status = host.score({}).status
        begun.release()
        return status

    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(ask, number) for number in range(600)]
        for _ in range(150):
            begun.acquire()
        host.workers["a"].kill()
        for _ in range(100):
            begun.acquire()
        host.worker("a", SLOW_ONE)
        assert Counter(future.result() for future in asked) == {200: 600}
    assert host.await_ready(2)["errors"] == 0


def test_a_request_that_kills_its_worker_is_tried_twice_and_no_more(host: Host) -> None:
    host.start(host.worker("a"), host.worker("b"), host.worker("c"))
    answer = host.score({"exit": 9})
    assert answer.status == 502 and "2 workers" in answer.json["message"]
    assert host.score({"a": 1}).status == 200
    assert sorted(worker.poll() is None for worker in host.workers.values()) == [False, False, True]


def test_why_its_workers_were_ended_is_told(host: Host) -> None:
    paths = [host.worker(name) for name in "abc"]
    host.start(*paths)
    for path in paths:
        Path(f"{path.socket}.ended").write_text(
            "It had 0.4 GB of memory, more than its limit of 0.3 GB, and was ended."
        )
    answer = host.score({"exit": 9})
    assert answer.status == 502
    assert "2 workers" in answer.json["message"] and "more than its limit of 0.3 GB" in answer.json["message"]
    restarts = host.ask("status")["restarts"]
    assert [(each["count"], "limit of 0.3 GB" in each["why"]) for each in restarts.values()] == [(1, True)] * 2


def test_a_request_whose_worker_died_is_answered_by_the_next_one(host: Host) -> None:
    host.start(host.worker("a"))
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(host.score, {"sleep": 60})
        while not host.ask("status")["in_flight"]:
            pass
        host.workers["a"].kill()
        host.workers["a"].wait()
        host.worker("a", ECHO.replace('time.sleep(asked["sleep"])', "pass"))
        assert asked.result().status == 200


def test_a_request_that_is_tried_once_more_may_wait_as_long_as_at_first() -> None:
    queue = Queue(FrontVersion(queue_seconds=5), False, lambda: None)
    answers: list[int] = []

    def request(age: float) -> Exchange:
        arrived = time.monotonic() - age
        return Exchange(
            b"POST",
            b"/score",
            b"",
            {},
            b"",
            arrived,
            b"id",
            lambda _, answer: answers.append(answer.status),
            queued=arrived,
        )

    old, waits = request(30), request(1)
    old.started = old.arrived
    queue.waiting.append(waits)
    link = WorkerLink("a.sock", "run_a", queue)
    link.sent[1] = old
    link.connection_lost(None)
    assert list(queue.waiting) == [old, waits]
    queue.tick(time.monotonic())
    assert answers == []
    queue.tick(waits.queued + 5.1)
    assert answers == [503] and list(queue.waiting) == [old]
    queue.tick(time.monotonic() + 5.1)
    assert answers == [503, 503]


def test_a_request_that_takes_too_long(host: Host) -> None:
    host.start(host.worker("a"), timeout_seconds=0.3, queue_seconds=10)
    answer = host.score({"sleep": 60})
    assert answer.status == 504 and "0.3 seconds" in answer.json["message"]
    assert host.workers["a"].wait(20) == 70
    assert "Gave up on a request" in host.log() and "score.py" in host.log()
    host.worker("a")
    assert host.score({"a": 1}).status == 200


def test_a_worker_that_hears_nothing_is_killed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.serving.workers.KILL_SECONDS", 0.2)
    holds_the_lock = """
        import ctypes

        def init(): pass

        def run(data):
            ctypes.PyDLL(None).sleep(60)
    """
    host.start(host.worker("a", holds_the_lock), timeout_seconds=0.2)
    assert host.score({}).status == 504
    assert host.workers["a"].wait(20) == -signal.SIGKILL


def test_without_the_systems_word_no_process_is_killed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.serving.workers.KILL_SECONDS", 0.0)
    path = str(host.folder / "x.sock")
    with socket.socket(socket.AF_UNIX) as listener, subprocess.Popen(["sleep", "60"]) as other:
        listener.bind(path)
        listener.listen()
        host.start(FrontReplica(socket=path), ready=False, timeout_seconds=0.1)
        connection, _ = listener.accept()
        with connection, ThreadPoolExecutor(1) as pool:
            connection.sendall(frames.pack(frames.HELLO, 0, {"pid": other.pid, "concurrency": 1}))
            host.await_ready(1)
            assert host._front is not None
            (link,) = host._front.queues["default"].links.values()
            link.pid = 0
            assert pool.submit(host.score, {}).result().status == 504
            while connection.recv(1000):
                pass
        assert other.poll() is None
        other.kill()


def test_requests_sent_ahead_are_taken_back_from_a_stuck_worker(host: Host) -> None:
    host.start(host.worker("a", SLOW_ONE), timeout_seconds=60, queue_seconds=30)
    for _ in range(60):  # so that the front knows it as quick, and sends ahead
        assert host.score({"sleep": 0}).status == 200
    with ThreadPoolExecutor(9) as pool:
        stuck = pool.submit(host.score, {"sleep": 3})
        while not host.ask("status")["in_flight"]:
            pass
        behind = [pool.submit(host.score, {"sleep": 0}) for _ in range(4)]
        while (status := host.ask("status"))["in_flight"] + status["waiting"] < 5:
            pass
        assert status["in_flight"] > 1
        other = host.worker("b", SLOW_ONE)
        host.reload(_replica(host, "a"), other, timeout_seconds=60, queue_seconds=30)
        answered = [future.result() for future in behind]
        assert {answer.headers["x-roost-replica"] for answer in answered} == {"run_b"}
        assert not stuck.done() and stuck.result().status == 200


def test_waiting_too_long_and_too_many(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.serving.queues.MOST_WAITING", 2)
    host.start(host.worker("a"), queue_seconds=0.3)
    with ThreadPoolExecutor(5) as pool:
        first = pool.submit(host.score, {"sleep": 1.5})
        while not host.ask("status")["in_flight"]:
            pass
        late = [pool.submit(host.score, {}) for _ in range(2)]
        while host.ask("status")["waiting"] < 2:
            pass
        full = host.score({})
        assert (full.status, full.headers["retry-after"]) == (503, "1") and "waiting" in full.json["message"]
        for future in late:
            assert future.result().status == 503 and "0.3 seconds" in future.result().json["message"]
        assert first.result().status == 200


def test_no_worker_at_all(host: Host) -> None:
    host.start(queue_seconds=0.2)
    answer = host.score({})
    assert answer.status == 503 and "No replica" in answer.json["message"]
    assert host.request("GET", "/healthz/ready").status == 503
    assert host.request("GET", "/healthz/live").status == 200


def test_several_requests_at_once_in_one_worker(host: Host) -> None:
    meets = """
        import threading

        def init():
            global meeting
            meeting = threading.Barrier(3, timeout=20)

        def run(data):
            meeting.wait()
            return threading.current_thread().name
    """
    host.start(host.worker("a", meets, variables={"ROOST_SERVING_CONCURRENCY": "3"}), concurrency=3)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(host.score, [{}] * 6))
    assert [answer.status for answer in answers] == [200] * 6
    assert len({answer.json for answer in answers}) == 3


def test_a_reload_under_load_loses_nothing(host: Host) -> None:
    old, new = host.worker("a", SLOW_ONE), host.worker("b", SLOW_ONE)
    host.start(old)
    answered = threading.Semaphore(0)

    def ask(_: int) -> tuple[int, str]:
        answer = host.score({})
        answered.release()
        return answer.status, answer.headers["x-roost-replica"]

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask, number) for number in range(400)]
        for _ in range(100):
            answered.acquire()
        host.reload(new, generation=2)
        results = [future.result() for future in asked]
    assert Counter(status for status, _ in results) == {200: 400}
    assert {replica for _, replica in results} == {"run_a", "run_b"}
    assert list(host.ask("status")["ready"]) == [new.socket]
    assert host.workers["a"].poll() is None  # whose worker it is, ends it


def test_a_worker_that_is_told_to_end_answers_what_it_has(host: Host) -> None:
    host.start(host.worker("a"), host.worker("b"))
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(host.score, {"sleep": 0.2}) for _ in range(8)]
        while host.ask("status")["in_flight"] < 2:
            pass
        host.workers["a"].terminate()
        assert [future.result().status for future in asked] == [200] * 8
    assert host.workers["a"].wait(20) == 0
    assert not os.path.exists(host.folder / "a.sock")
    assert host.await_ready(1)["errors"] == 0


def test_a_worker_of_another_kind_is_no_worker(host: Host) -> None:
    path = str(host.folder / "x.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        host.start(FrontReplica(socket=path), ready=False)
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while path not in host.ask("status")["failed"]:
                pass
    assert "no frame" in host.ask("status")["failed"][path]


def test_large_bodies_go_through_whole(host: Host) -> None:
    length = """
        import json
        def init(): pass
        def run(data): return data
    """
    host.start(host.worker("a", length))
    body = json.dumps({"a": "ü" * 10_000_000}, ensure_ascii=False)
    answer = host.score(body.encode())
    assert answer.status == 200 and answer.json == body


def _replica(host: Host, name: str) -> FrontReplica:
    return FrontReplica(socket=str(host.folder / f"{name}.sock"), run=f"run_{name}")
