"""Threads for what requests do: agents, reads and changes of people do not wait for each other, and a full queue refuses."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from tests.shared.api_servers import ApiServer
from tests.shared.clients import Answer
from tests.shared.contexts import submit

from roost.domain.errors import Busy, raise_for
from roost.domain.runs import Reason, RunStatus
from roost.services import metrics, runs, workspaces


@contextmanager
def stuck(monkeypatch: pytest.MonkeyPatch, module: object, name: str) -> Iterator[threading.Semaphore]:
    """A deed that does not end before the block does; the semaphore counts those who are in it."""
    go_on, inside = threading.Event(), threading.Semaphore(0)

    def wait(*_: object) -> None:
        inside.release()
        go_on.wait(60)
        raise Busy("It was stuck.")

    monkeypatch.setattr(module, name, wait)
    try:
        yield inside
    finally:
        go_on.set()


def test_agents_that_send_do_not_keep_people_waiting(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    run = submit(api.context)
    agent = api.run_client(run.id)
    with ThreadPoolExecutor(60) as pool, stuck(monkeypatch, metrics, "take_in") as inside:
        for _ in range(60):
            pool.submit(agent.post, f"/api/runs/{run.id}/spools/0-1-aa?offset=0", b"x")
        for _ in range(16):
            assert inside.acquire(timeout=20)
        assert api.person.get(f"/api/workspaces/{run.workspace}/runs?limit=50", timeout=20).status == 200
        assert api.person.get(f"/api/runs/{run.id}", timeout=20).status == 200
        assert api.person.post(f"/api/runs/{run.id}/cancel", timeout=20).status == 200


def test_reads_over_the_queue_are_refused_at_once(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(100) as pool, stuck(monkeypatch, workspaces, "listing") as inside:
        asked: list[Future[Answer]] = [pool.submit(api.person.get, "/api/workspaces") for _ in range(100)]
        for _ in range(8):
            assert inside.acquire(timeout=20)
        done = next(each.result() for each in as_completed(asked, timeout=30) if each.result().status == 503)
        assert api.stranger.get("/api/health", timeout=20).status == 200
        assert api.person.put("/api/workspaces/team-a", timeout=20).status == 200, "changes have a queue of their own"
    assert done.headers["retry-after"] == "1"
    assert (done.error["code"], "64 reads wait already" in done.error["message"]) == ("busy", True)
    with pytest.raises(Busy):
        raise_for(done.status, done.json)


def test_an_agent_is_present_while_its_heartbeat_waits_and_no_longer(api: ApiServer) -> None:
    run = submit(api.context)
    for status in (RunStatus.QUEUED, RunStatus.PROVISIONING):
        runs.move(api.context, run.id, status, Reason.NONE, "")
    agent = api.run_client(run.id)
    revision = agent.post(f"/api/runs/{run.id}/heartbeat").json["revision"]
    place = urlsplit(api.url)
    with socket.create_connection((str(place.hostname), place.port or 0)) as connection:
        connection.sendall(
            f"POST /api/runs/{run.id}/heartbeat?after={revision}&wait=30 HTTP/1.1\r\nHost: {place.netloc}\r\n"
            f"Authorization: Bearer {agent.token}\r\nContent-Length: 0\r\n\r\n".encode()
        )
        _await(lambda: api.context.present.has(run.id))
    _await(lambda: not api.context.present.has(run.id))


def _await(ready: Callable[[], bool]) -> None:
    over = threading.Event()
    for _ in range(400):
        if ready():
            return
        over.wait(0.05)
    raise AssertionError("It did not come to be.")
