"""Files, streams and blobs over HTTP: ranges, waiting for bytes, names that try to lead outside."""

import socket
import struct
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.shared.api_servers import ApiServer
from tests.shared.contexts import submit

from roost.blobs.hashing import hash_bytes
from roost.domain.runs import Reason, RunStatus
from roost.services import runs
from roost.services.signals import run_topic

LOG = "user_logs/std_log.txt"


def _put(api: ApiServer, data: bytes) -> str:
    name = hash_bytes(data)
    assert api.person.put(f"/api/blobs/{name}", data).json == {"size": len(data)}
    return name


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)


def _wait_for_listener(api: ApiServer, run_id: str) -> None:
    _until(lambda: api.context.signals.waiting(run_topic(run_id)) > 0)


def test_blobs_there_and_back(api: ApiServer) -> None:
    data = bytes(range(256)) * 20_000  # five megabytes: several pieces on both ways
    name = hash_bytes(data)
    assert api.person.post("/api/blobs/missing", {"names": [name]}).json == {"missing": [name]}
    _put(api, data)
    assert api.person.post("/api/blobs/missing", {"names": [name]}).json == {"missing": []}
    assert api.person.get(f"/api/blobs/{name}").body == data
    _put(api, b"")


def test_a_blob_with_another_content_is_refused(api: ApiServer, tmp_path: Path) -> None:
    name = hash_bytes(b"what was meant")
    answer = api.person.put(f"/api/blobs/{name}", b"what came")
    assert (answer.status, answer.error["code"]) == (400, "invalid_input")
    assert api.person.get(f"/api/blobs/{name}").status == 404
    assert api.person.put("/api/blobs/nothing", b"x").status == 400


def test_an_upload_that_breaks_off_leaves_nothing(api: ApiServer) -> None:
    data = b"x" * 3_000_000
    name, place = hash_bytes(data), urlsplit(api.url)
    head = (
        f"PUT /api/blobs/{name} HTTP/1.1\r\nHost: {place.netloc}\r\n"
        f"Authorization: Bearer {api.person.token}\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    folder = Path(api.context.facts.blob_folder)
    with socket.create_connection((place.hostname or "", place.port or 0), 10) as raw:
        raw.sendall(head.encode() + data[:2_000_000])
        _until(lambda: any((folder / "tmp").iterdir()))
    _until(lambda: not any((folder / "tmp").iterdir()))
    assert api.person.get(f"/api/blobs/{name}").status == 404


def test_batches(api: ApiServer) -> None:
    contents = [b"a", b"", b"c" * 5000]
    body = b"".join(bytes.fromhex(hash_bytes(c)) + struct.pack("<I", len(c)) + c for c in contents)
    assert api.person.post("/api/blobs/batch", body).json == {"count": 3}
    names = [hash_bytes(content) for content in contents]
    assert api.person.post("/api/blobs/fetch", {"names": names}).body == body
    assert api.person.post("/api/blobs/fetch", {"names": ["ab" * 32]}).error["code"] == "not_found"
    assert api.person.post("/api/blobs/batch", body[:-1]).error["code"] == "invalid_input"


@pytest.mark.parametrize(
    ("asked", "status", "body", "content_range"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=0-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=5-2", 200, b"0123456789", None),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
        ("bytes=10-", 416, None, "bytes */10"),
    ],
)
def test_ranges(api: ApiServer, asked: str, status: int, body: bytes | None, content_range: str | None) -> None:
    name = _put(api, b"0123456789")
    answer = api.person.get(f"/api/blobs/{name}", headers={"Range": asked})
    assert (answer.status, answer.headers.get("content-range")) == (status, content_range)
    if body is None:
        assert answer.error["code"]
    else:
        assert answer.body == body


def test_a_run_and_its_files(api: ApiServer) -> None:
    run = submit(api.context)
    own = api.run_client(run.id)
    name = _put(api, b"a model")
    odd = "outputs/50% #1 ünïcode & more?.txt"
    files = [{"path": path, "blob": name, "size": 7, "modified_at": 1.5} for path in ("outputs/model.pt", odd)]
    assert own.put(f"/api/runs/{run.id}/files", {"files": files}).json == {"count": 2}
    listed = own.get(f"/api/runs/{run.id}/files?prefix=outputs").json["files"]
    assert {file["path"] for file in listed} == {"outputs/model.pt", odd}
    assert own.get(f"/api/runs/{run.id}/files/outputs/model.pt").body == b"a model"
    escaped = "outputs/50%25%20%231%20%C3%BCn%C3%AFcode%20%26%20more%3F.txt"
    answer = own.get(f"/api/runs/{run.id}/files/{escaped}", headers={"Range": "bytes=2-"})
    assert (answer.status, answer.body) == (206, b"model")
    lost = [{"path": "outputs/x", "blob": "ab" * 32, "size": 7, "modified_at": 1.5}]
    assert own.put(f"/api/runs/{run.id}/files", {"files": lost}).error["code"] == "invalid_input"


@pytest.mark.parametrize(
    "path",
    [
        "../token",
        "..%2f..%2ftoken",
        "%2e%2e/token",
        "%2e%2e%2ftoken",
        "%252e%252e%252ftoken",
        "outputs/..%5c..%5ctoken",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "outputs/%00",
        "outputs/../../../token",
        "outputs/.%2e/.%2e/token",
        "..;/token",
        "#/../token",
        "%23/..%2f..%2ftoken",
        "C:%5cwindows",
    ],
)
def test_no_name_leads_outside(api: ApiServer, path: str) -> None:
    run = submit(api.context)
    secret = Path(api.context.facts.home) / "token"
    secret.write_text("the secret token")
    for method, address, body in (
        ("GET", f"/api/runs/{run.id}/files/{path}", None),
        ("GET", f"/api/runs/{run.id}/streams/{path}", None),
        ("POST", f"/api/runs/{run.id}/streams/{path}?offset=0", b"x"),
        ("GET", f"/api/runs/{run.id}/files?prefix={path}", None),
    ):
        answer = api.person.call(method, address, body)
        assert answer.status < 500
        assert b"the secret" not in answer.body
    assert secret.read_text() == "the secret token"


def test_streams_grow_and_are_waited_for(api: ApiServer) -> None:
    run = submit(api.context)
    path = f"/api/runs/{run.id}/streams/{LOG}"
    with ThreadPoolExecutor(2) as pool:
        reading = pool.submit(api.person.get, f"{path}?offset=0&wait=30")
        _wait_for_listener(api, run.id)
        assert api.person.post(f"{path}?offset=0", b"epoch 1\n").json["offset"] == 8
        answer = reading.result()
        assert (answer.status, answer.body) == (200, b"epoch 1\n")
        assert [answer.headers[f"roost-{key}"] for key in ("offset", "status", "sealed")] == ["8", "NotStarted", "0"]
        reading = pool.submit(api.person.get, f"{path}?offset=8&wait=30")
        _wait_for_listener(api, run.id)
        runs.move(api.context, run.id, RunStatus.CANCELED, Reason.CANCELED_BY_USER, "")
        answer = reading.result()
        assert (answer.body, answer.headers["roost-status"]) == (b"", "Canceled")


def test_a_stream_is_sealed_by_its_file(api: ApiServer) -> None:
    run = submit(api.context)
    api.person.post(f"/api/runs/{run.id}/streams/{LOG}?offset=0", b"epoch 1\n")
    assert api.person.get(f"/api/runs/{run.id}/files/{LOG}").body == b"epoch 1\n"
    (live,) = api.person.get(f"/api/runs/{run.id}/files").json["files"]
    assert (live["path"], live["blob"], live["size"]) == (LOG, "", 8)
    file = {"path": LOG, "blob": _put(api, b"epoch 1\n"), "size": 8, "modified_at": 1.0}
    api.person.put(f"/api/runs/{run.id}/files", {"files": [file]})
    answer = api.person.get(f"/api/runs/{run.id}/streams/azureml-logs/70_driver_log.txt?offset=6")
    assert (answer.body, answer.headers["roost-sealed"]) == (b"1\n", "1")
    (sealed,) = api.person.get(f"/api/runs/{run.id}/files").json["files"]
    assert sealed["blob"] == file["blob"]


def test_a_piece_is_no_longer_than_asked(api: ApiServer) -> None:
    run = submit(api.context)
    path = f"/api/runs/{run.id}/streams/{LOG}"
    api.person.post(f"{path}?offset=0", b"0123456789")
    answer = api.person.get(f"{path}?offset=2&limit=3")
    assert (answer.body, answer.headers["roost-offset"]) == (b"234", "5")
    assert api.person.post(f"{path}?offset=0&reset=1", b"anew").json["offset"] == 4
