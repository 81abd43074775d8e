"""The front's parts that need no network: shares, rotation, records, OpenAPI, Prometheus' text."""

import itertools
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.serving import openapi, records
from roost.serving.exchanges import Answer, Exchange
from roost.serving.logs import RotatingLines
from roost.serving.metrics import Counts, Gauges, prometheus
from roost.serving.splitting import Split
from roost.serving.workers import answer_of, why_ended
from roost_job.scoring import frames
from roost_job.scoring.messages import Request


@given(st.lists(st.integers(0, 100), min_size=1, max_size=6).filter(any))
def test_shares_are_exact_over_a_round_and_smooth_within_it(shares: list[int]) -> None:
    names = {f"v{number}": share for number, share in enumerate(shares)}
    split, total = Split(names), sum(shares)
    turns = [split.next() for _ in range(total)]
    assert Counter(turns) == {name: share for name, share in names.items() if share}
    for name, share in names.items():
        for count, turn in enumerate(itertools.accumulate(turn == name for turn in turns), 1):
            assert abs(turn - share * count / total) <= len(shares)


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_the_method_of_most_requests_is_known_without_reading_their_head(method: str) -> None:
    exchange = Exchange(method.encode(), b"/score", b"", {b"a": b"b"}, b"{}", 0.0, b"1", lambda *_: None)
    request = Request(exchange.head(with_key=False), b"{}")
    assert request.method == method
    assert (request._fields is None) == (method == "POST")
    assert (request.path, request.headers) == ("/score", {"a": "b"})


def test_what_is_no_file_beside_a_socket_is_no_reason_and_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / f"s{frames.ENDED}").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    assert [why_ended(str(tmp_path / "s")) for _ in range(3)] == [""] * 3
    assert len(os.listdir("/proc/self/fd")) == before


def test_nobody_has_a_share() -> None:
    assert Split({}).next() is None and Split({"a": 0}).next() is None


def test_files_rotate_and_stay_bounded(tmp_path: Path) -> None:
    lines = RotatingLines(tmp_path / "x" / "log", largest=100, kept=2)
    for number in range(100):
        lines.add(b"%09d\n" % number)
        lines.flush()
    lines.close()
    found = sorted((tmp_path / "x").iterdir())
    assert [path.name for path in found] == ["log", "log.1", "log.2"]
    assert all(path.stat().st_size <= 100 for path in found)
    assert found[0].read_bytes().endswith(b"%09d\n" % 99)
    again = RotatingLines(tmp_path / "x" / "log", largest=100, kept=2)
    again.add(b"more\n")
    again.close()
    assert found[0].read_bytes().endswith(b"more\n")


def test_a_disk_that_takes_nothing_loses_lines_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    lines = RotatingLines(tmp_path / "log", largest=100, kept=1)
    lines.add(b"a\n")
    lines.flush()
    assert lines.lost == 1


def test_records_are_read_over_all_files_the_youngest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LARGEST", 1000)
    recorder = records.Recorder(tmp_path, 1.0)
    for number in range(20):
        exchange = Exchange(b"POST", b"/score", b"", {}, b"%d" % number, 0.0, b"id", lambda *_: None)
        recorder.consider(exchange, Answer(200, b"{}"), 0.1, "r", "m")
        recorder.lines.flush()
    with open(tmp_path / "records" / records.FILE, "ab") as file:
        file.write(b'{"time": 1e99, "cut')
    asked = [record["request"] for record in records.read(tmp_path, limit=10)]
    assert asked == [str(number) for number in range(19, 9, -1)]
    assert records.read(tmp_path / "nowhere") == []


def test_a_body_cut_within_a_character_is_still_text(tmp_path: Path) -> None:
    body = b"x" + "ü".encode() * records.LONGEST_BODY
    kept = records._kept("request", body)["request"]
    assert kept == "x" + "ü" * (records.LONGEST_BODY // 2 - 1)


@pytest.mark.parametrize(("asked", "key"), [("2", "swagger"), ("2.0", "swagger"), ("3", "openapi"), ("3.1", "openapi")])
def test_openapi_holds_the_models_schema(asked: str, key: str) -> None:
    schema = {"input": {"type": "object", "properties": {"data": {}}}, "output": {"type": "array"}}
    made = openapi.document("birds", "1", schema, asked)
    assert made is not None and made[key].startswith(asked)
    held = made["definitions"] if key == "swagger" else made["components"]["schemas"]
    assert (held["ServiceInput"], held["ServiceOutput"]) == (schema["input"], schema["output"])
    assert openapi.document("birds", "1", None, "4") is None


def test_prometheus_text() -> None:
    counts = Counts()
    counts.add(200, 0.003, 10, 20)
    counts.add(503, 100.0, 1, 2)
    turned_away = Counts()
    turned_away.add(401, 0.001, 0, 5)
    gauges = Gauges(version='a"b', in_flight=1, waiting=2, ready=3, utilization=0.5, restarts=6)
    text = prometheus("birds", {'a"b': counts}, [gauges], turned_away, 4).decode()
    assert 'requests_total{endpoint="birds",version="",status="401"} 1\n' in text
    assert 'worker_restarts_total{endpoint="birds",version="a\\"b"} 6\n' in text
    assert text.count("request_seconds_count") == 1
    assert 'request_seconds_bucket{endpoint="birds",version="a\\"b",le="0.005"} 1\n' in text
    assert 'request_seconds_count{endpoint="birds",version="a\\"b"} 2\n' in text
    assert 'bytes_in_total{endpoint="birds",version="a\\"b"} 11\n' in text
    assert 'utilization{endpoint="birds",version="a\\"b"} 0.5\n' in text


@pytest.mark.parametrize(
    "head", [b"", b"[]", b"{}", b'{"status": "x"}', b'{"status": 99}', b'{"status": 200, "headers": 3}', b"\xff"]
)
def test_a_head_that_makes_no_answer(head: bytes) -> None:
    assert answer_of(head, b"body").status == 502


@given(
    st.lists(st.tuples(st.integers(1, 7), st.integers(0, 2**64 - 1), st.binary(max_size=20), st.binary(max_size=200))),
    st.data(),
)
def test_frames_come_out_as_they_went_in_however_they_are_cut(sent: list[frames.Frame], data: st.DataObject) -> None:
    stream = b"".join(frames.pack_raw(*frame) for frame in sent)
    unpacker, got, start = frames.Unpacker(), [], 0
    while start < len(stream):
        size = data.draw(st.integers(1, 60))
        got += list(unpacker.feed(stream[start : start + size]))
        start += size
    assert got == sent


@given(st.binary(min_size=17, max_size=100))
def test_rubbish_is_no_frame_or_waits_for_more(rubbish: bytes) -> None:
    unpacker = frames.Unpacker(max_length=1000)
    try:
        for _, _, head, body in unpacker.feed(rubbish):
            assert len(head) + len(body) < 100
    except frames.BadFrame:
        pass
