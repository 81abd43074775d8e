"""Deleting, sweeping, what takes room, and a back-up, over the wire; all of it is a person's to do."""

import os
import tarfile
import time
from io import BytesIO
from pathlib import Path

import pytest
from tests.shared.api_servers import ApiServer
from tests.shared.contexts import ANN, submit

from roost.domain.files import RunFile
from roost.domain.runs import Reason, RunStatus
from roost.services import files, runs


def ended(api: ApiServer) -> str:
    run = submit(api.context)
    runs.move(api.context, run.id, RunStatus.FAILED, Reason.NONE, "")
    return run.id


def test_a_run_is_deleted_once_it_has_ended(api: ApiServer) -> None:
    run = submit(api.context)
    refused = api.person.call("DELETE", f"/api/runs/{run.id}")
    assert (refused.status, refused.error["code"]) == (409, "conflict")
    assert "roost run cancel" in refused.error["hint"]
    runs.move(api.context, run.id, RunStatus.FAILED, Reason.NONE, "")
    for deleted in ([run.id], []):  # a repeated call finds its work done
        assert api.person.call("DELETE", f"/api/runs/{run.id}").json == {"deleted": deleted}
    assert api.person.get(f"/api/runs/{run.id}").status == 404
    assert api.person.call("DELETE", "/api/runs/..").status in (400, 404)


@pytest.mark.parametrize(
    ("method", "path"),
    [("DELETE", "/api/runs/{run}"), ("GET", "/api/usage"), ("POST", "/api/sweep"), ("GET", "/api/backup")],
)
def test_a_run_may_not(api: ApiServer, method: str, path: str) -> None:
    run_id = ended(api)
    assert api.run_client(run_id).call(method, path.format(run=run_id)).status == 403
    assert api.stranger.call(method, path.format(run=run_id)).status == 401


def test_usage_and_sweep(api: ApiServer) -> None:
    run_id = ended(api)
    blob = api.context.blobs.put(b"z" * 5000)
    files.put(api.context, ANN, run_id, [RunFile(path="outputs/a", blob=blob, size=0, modified_at=1.0)])
    place = Path(api.context.facts.blob_folder) / blob[:2] / blob
    os.utime(place, (time.time() - 90_000_000,) * 2)  # the context's clock stands still, far ahead
    before = api.person.get("/api/usage").json
    assert before["file_bytes"] >= 5000
    assert before["disk_bytes"] > 0
    would = api.person.post("/api/sweep", {"dry_run": True, "without": [run_id]}).json
    assert would["bytes"] >= 5000
    api.person.call("DELETE", f"/api/runs/{run_id}")
    assert place.exists()
    assert api.person.post("/api/sweep").json["bytes"] >= 5000
    assert not place.exists()


def test_a_back_up_is_streamed(api: ApiServer) -> None:
    ended(api)
    answer = api.person.get("/api/backup")
    assert answer.status == 200
    assert int(answer.headers["content-length"]) == len(answer.body)
    with tarfile.open(fileobj=BytesIO(answer.body)) as archive:
        names = archive.getnames()
    assert names[:2] == ["backup.json", "roost.db"]
    assert any(name.startswith("blobs/") for name in names)
    with api.context.upkeep.taken(patience=20):  # given back once the last piece is out
        pass
