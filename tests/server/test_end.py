"""How a server ends: asked politely with polls open, by request, by kill -9 in the middle; and what the next one finds."""

import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import pytest
from tests.shared.processes import ServerProcess, start

from roost_job.tracking import records

RUN = "train_1_00000001"
SUBMISSION = {"id": RUN, "experiment": "train", "spec": {"kind": "interactive"}}


def _with_run(home: Path) -> ServerProcess:
    server = start(home)
    assert server.person.post("/api/workspaces/default/runs", SUBMISSION).status == 201
    return server


def test_sigterm_answers_open_polls_and_ends(tmp_path: Path) -> None:
    server = _with_run(tmp_path / "home")
    person = server.person
    began = threading.Semaphore(0)

    def poll() -> int:
        began.release()
        return person.get(f"/api/runs/{RUN}?after=1&wait=30").status

    with ThreadPoolExecutor(20) as pool:
        polls = [pool.submit(poll) for _ in range(20)]
        for _ in polls:
            began.acquire()
        person.get("/api/workspaces")  # the polls were sent before this one is answered, or are about to be
        server.process.terminate()
        assert server.process.wait(10) == 0
        for each in polls:
            try:
                assert each.result() == 200
            except OSError:
                continue  # it came too late to be let in


def test_the_next_one_takes_the_port_and_the_token_and_all_that_was_kept(tmp_path: Path) -> None:
    first = _with_run(tmp_path / "home")
    token, instance = first.person.token, first.facts["instance"]
    assert first.end() == 0
    second = start(tmp_path / "home")
    try:
        assert (second.url, second.person.token) == (first.url, token)
        assert second.facts["instance"] != instance
        assert [path.name for path in (second.home / "blobs").glob(".roost-*")] == [
            f".roost-{second.facts['instance']}"
        ]
        assert second.person.get(f"/api/runs/{RUN}").json["id"] == RUN
    finally:
        assert second.end() == 0


def test_a_person_ends_it_by_request(tmp_path: Path) -> None:
    server = start(tmp_path / "home")
    assert server.person.post("/api/server/shutdown").status == 202
    assert server.process.wait(10) == 0


@pytest.mark.slow
def test_killed_while_metrics_arrive_every_point_is_there_once(tmp_path: Path) -> None:
    points = 20_000
    spool = records.header(space="user") + records.name(1, "loss")
    spool += b"".join(records.frame(records.INT_BODY.pack(records.INT, 1, n, float(n), n)) for n in range(points))
    server = _with_run(tmp_path / "home")
    mark, kills = 0, 0
    while mark < len(spool):
        if kills < 3 and mark > len(spool) * (kills + 1) // 5:
            kills += 1
            threading.Timer(0.02, server.process.kill).start()
        try:
            path = f"/api/runs/{RUN}/spools/s?offset={mark}"
            answer = server.person.post(path, spool[mark : mark + 9_999])
            assert answer.status == 200, answer
            mark = answer.json["offset"]
        except (OSError, HTTPException):
            server.kill()
            server = start(tmp_path / "home")
            mark = 0  # forgotten on purpose: the server knows
    assert server.person.get(f"/api/runs/{RUN}/metrics").json["metrics"]["loss"] == list(range(points))
    server.kill()
    assert kills == 3


@pytest.mark.slow
def test_a_queue_survives_a_kill(tmp_path: Path) -> None:
    """Runs that waited are taken up in their order by the next server; a run that went on meanwhile ends as it should."""
    server = start(tmp_path / "home")
    try:
        ids = [f"train_2_{number:08x}" for number in range(4)]
        for run_id in ids:
            spec = {"command": ["/bin/sh", "-c", "sleep 0.5; echo done"]}
            body = {"id": run_id, "experiment": "train", "spec": spec}
            assert server.person.post("/api/workspaces/default/runs", body).status == 201
        _until(server, ids[0], "Running")
        server.kill()
        server = start(tmp_path / "home")
        for run_id in ids:
            assert _until(server, run_id, "Completed")["exit_code"] == 0
    finally:
        server.end()


def _until(server: ServerProcess, run_id: str, status: str) -> dict[str, object]:
    run = server.person.get(f"/api/runs/{run_id}").json
    while run["status"] not in (status, "Completed", "Failed", "Canceled"):
        run = server.person.get(f"/api/runs/{run_id}?after={run['revision']}&wait=30").json
    assert run["status"] in (status, "Completed"), (run["status"], run["reason"], run["message"])
    found: dict[str, object] = run
    return found
