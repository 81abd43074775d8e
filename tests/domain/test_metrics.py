"""Metrics: a spool, cut or damaged anywhere, gives a prefix of what was logged; and it reads back as people know it."""

import json
import math
import struct
from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.domain.metrics import (
    Encoding,
    Point,
    Series,
    Space,
    add,
    chart,
    in_order,
    join,
    points,
    read_back,
    summarize,
    thin,
)
from roost.domain.spools import MAX_NAME, Batch, decode
from roost_job.tracking import records

NAMES = {1: "loss", 2: "acc", 3: "rows"}
HEAD = records.header(space="user", rank=0) + b"".join(records.name(number, name) for number, name in NAMES.items())

numbers = st.one_of(
    st.floats(allow_nan=False),
    st.just(math.nan),
    st.integers(-(2**63), 2**63 - 1),
)
steps = st.one_of(st.just(records.NO_STEP), st.integers(0, 2**62))
objects = st.dictionaries(st.text(max_size=3), st.integers())
record = st.tuples(st.sampled_from([1, 2, 3]), steps, st.floats(0, 2e9), numbers | objects)
Log = list[tuple[int, int, float, Any]]
# Long stretches of numbers take another path than short ones: both, and their borders, must be met.
spools = st.lists(st.tuples(record, st.sampled_from([1, 2, 7, 8, 9, 40])), max_size=12).map(
    lambda found: [one for one, times in found for _ in range(times)]
)


def written(number: int, step: int, time: float, value: Any) -> bytes:
    if isinstance(value, float):
        return records.frame(records.FLOAT_BODY.pack(records.FLOAT, number, step, time, value))
    if isinstance(value, int):
        return records.frame(records.INT_BODY.pack(records.INT, number, step, time, value))
    return records.obj(number, step, time, "row", value)


def by_name(log: Log) -> dict[str, list[str]]:
    """What was logged, as texts: NaN is not equal to itself, and 1 must not pass for 1.0."""
    found: dict[str, list[str]] = {}
    for number, step, time, value in log:
        plain = None if step == records.NO_STEP else step
        kind = "row" if isinstance(value, dict) else "scalar"
        found.setdefault(NAMES[number], []).append(repr((time, plain, value, kind)))
    return found


def told(batch: Batch) -> dict[str, list[str]]:
    return {series.name: [repr(tuple(point)) for point in points(series)] for series in batch.series}


@given(spools)
def test_what_is_written_is_read(log: Log) -> None:
    data = HEAD + b"".join(written(*one) for one in log)
    batch = decode(data, {})
    assert (batch.consumed, batch.damaged, batch.space, batch.names) == (len(data), False, Space.USER, NAMES)
    assert told(batch) == by_name(log)
    assert len({series.name for series in batch.series}) == len(batch.series)


@given(spools, st.data())
def test_a_cut_anywhere_gives_whole_frames_and_goes_on_from_there(log: Log, data: st.DataObject) -> None:
    frames = [HEAD, *(written(*one) for one in log)]
    whole = b"".join(frames)
    cut = data.draw(st.integers(0, len(whole)))
    first = decode(whole[:cut], {})
    assert not first.damaged
    assert first.consumed <= cut
    count, at = 0, len(HEAD)
    while at <= cut and count < len(log) and at + len(frames[count + 1]) <= cut:
        at += len(frames[count + 1])
        count += 1
    assert told(first) == by_name(log[:count])
    second = decode(whole[first.consumed :], first.names)
    assert first.consumed + second.consumed == len(whole)
    together = {name: told(first).get(name, []) + told(second).get(name, []) for name in {*told(first), *told(second)}}
    assert together == by_name(log)


@given(spools, st.data())
def test_damage_anywhere_gives_a_prefix(log: Log, data: st.DataObject) -> None:
    frames = [HEAD, *(written(*one) for one in log)]
    whole = bytearray(b"".join(frames))
    place = data.draw(st.integers(len(HEAD), len(whole) - 1)) if log else None
    if place is None:
        return
    whole[place] ^= data.draw(st.integers(1, 255))
    batch = decode(bytes(whole), {})
    assert batch.consumed <= place
    ends = [len(HEAD)]
    for one in frames[1:]:
        ends.append(ends[-1] + len(one))
    assert batch.consumed in ends
    count = ends.index(batch.consumed)
    assert ends[min(count + 1, len(log))] > place or count == len(log)
    assert told(batch) == by_name(log[:count])


@given(st.binary(max_size=400))
def test_any_bytes_do_no_harm(data: bytes) -> None:
    batch = decode(data, NAMES)
    assert 0 <= batch.consumed <= len(data)


def number_frames(count: int) -> list[bytes]:
    return [written(1, i, float(i), float(i)) for i in range(count)]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 64, 65, 1000])
@pytest.mark.parametrize("bad", [0, 0.5, 1])
def test_a_wrong_checksum_within_a_stretch(count: int, bad: float) -> None:
    frames = number_frames(count)
    at = min(int(count * bad), count - 1)
    frames[at] = frames[at][:-1] + bytes([frames[at][-1] ^ 1])
    batch = decode(b"".join(frames), NAMES)
    assert batch.damaged
    assert batch.consumed == at * 37
    assert sum(series.count for series in batch.series) == at


@pytest.mark.parametrize("length", [0, records.MAX_BODY + 1, 2**32 - 1])
def test_an_impossible_length_is_damage(length: int) -> None:
    batch = decode(b"".join(number_frames(9)) + struct.pack("<II", length, 0) + bytes(40), NAMES)
    assert (batch.damaged, batch.consumed) == (True, 9 * 37)


def test_unknown_names_and_kinds_are_passed_over() -> None:
    data = records.frame(bytes([99]) + b"from the future") + b"".join(written(77, 1, 1.0, 1.0) for _ in range(20))
    data += (
        written(77, 1, 1.0, {"x": 1})
        + written(77, 1, 1.0, 5)
        + written(1, 1, 1.0, 2.0)
        + records.frame(bytes([records.FLOAT]))
    )
    batch = decode(data, NAMES)
    assert (batch.consumed, batch.damaged) == (len(data), False)
    assert told(batch) == {"loss": ["(1.0, 1, 2.0, 'scalar')"]}


def test_a_name_holds_from_where_it_was_written() -> None:
    data = (
        written(5, 0, 0.0, 1.0)
        + records.name(5, "a")
        + written(5, 0, 1.0, 2.0)
        + records.name(5, "b")
        + written(5, 0, 2.0, 3.0)
    )
    data += records.name(6, "a") + written(6, 0, 3.0, 4.0)
    batch = decode(data, {})
    assert {s.name: [p.value for p in points(s)] for s in batch.series} == {"a": [2.0, 4.0], "b": [3.0]}
    assert batch.names == {5: "b", 6: "a"}


@pytest.mark.parametrize(
    ("head", "space"),
    [
        (records.header(space="system"), Space.SYSTEM),
        (records.header(space="elsewhere"), Space.USER),
        (records.header(rank=1), Space.USER),
        (records.frame(b"\0not json"), Space.USER),
        (records.frame(b"\0[1]"), Space.USER),
        (b"", None),
    ],
)
def test_the_space_of_a_header(head: bytes, space: Space | None) -> None:
    assert decode(head + records.name(1, "x"), {}).space is space


def test_names_are_cut_and_never_fail() -> None:
    data = records.frame(records.NAME_HEAD.pack(records.NAME, 1) + b"\xff\xfe") + records.name(2, "x" * 5000)
    names = decode(data, {}).names
    assert names[1] == "\ufffd\ufffd"
    assert names[2] == "x" * MAX_NAME


def test_whole_and_broken_numbers_in_turn_are_one_series() -> None:
    log = [(1, i, float(i), i if i % 2 else i / 2) for i in range(100)]
    (series,) = decode(b"".join(written(*one) for one in log), NAMES).series
    assert series.encoding is Encoding.OBJECT
    assert [repr(point.value) for point in points(series)] == [repr(one[3]) for one in log]
    assert chart([[series]], 1000).values == [float(one[3]) for one in log]


# Series by themselves.


def series_of(*values: Any, name: str = "x", first: int = 0) -> Series:
    log = [written(1, first + i, float(first + i), value) for i, value in enumerate(values)]
    (series,) = decode(b"".join(log), {1: name}).series
    return series


def test_joined_series_are_one() -> None:
    parts = [series_of(1.0, 2.0), series_of(3.0, first=2), series_of(4, first=3), series_of({"a": 1}, first=4)]
    assert join(parts[:1]) is parts[0]
    assert join(parts[:2]).encoding is Encoding.FLOAT
    whole = join(parts)
    assert (whole.encoding, whole.count) == (Encoding.OBJECT, 5)
    assert points(whole) == [point for part in parts for point in points(part)]
    assert [repr(point.value) for point in points(whole)] == ["1.0", "2.0", "3.0", "4", "{'a': 1}"]


values = st.lists(st.floats() | st.integers(-(2**53), 2**53), min_size=1, max_size=30)


@given(values, values)
def test_summaries_add_up(one: list[float], two: list[float]) -> None:
    both = summarize(series_of(*one, *two))
    added = add(summarize(series_of(*one)), summarize(series_of(*two, first=len(one))))
    assert repr(added) == repr(both)
    finite = [float(value) for value in [*one, *two] if math.isfinite(value)]
    assert (both.least, both.most) == ((min(finite), max(finite)) if finite else (None, None))
    assert repr(both.last) == repr(float(two[-1]))
    assert (both.count, both.kind, both.last_step) == (len(one) + len(two), "scalar", len(one) + len(two) - 1)


def test_the_summary_of_what_is_no_number() -> None:
    rows = summarize(series_of({"a": 1}, {"a": 2}))
    assert (rows.kind, rows.count, rows.numeric, rows.last, rows.least) == ("row", 2, False, None, None)
    assert add(summarize(series_of(1.0)), rows).last == 1.0
    assert add(summarize(series_of(1.0)), rows).kind == "row"
    (huge,) = decode(records.obj(1, 0, 1.0, "scalar", 10**400), NAMES).series
    assert (summarize(huge).kind, summarize(huge).numeric) == ("scalar", False)


# What a person sees.


def scalar(value: Any, time: float = 0.0) -> Point:
    return Point(time, None, value)


def test_points_are_read_back_as_the_sdk_did() -> None:
    def shown(*found: tuple[str, Any]) -> Any:
        return read_back([Point(float(i), None, value, kind) for i, (kind, value) in enumerate(found)])

    assert shown() == []
    assert shown(("scalar", 0.5)) == 0.5
    assert shown(("scalar", 0.5), ("scalar", 1)) == [0.5, 1]
    assert shown(("text", "a")) == "a"
    assert shown(("flag", True), ("flag", False)) == [True, False]
    assert shown(("list", [7])) == 7
    assert shown(("list", None)) is None
    assert shown(("list", [1, 2])) == [1, 2]
    assert shown(("list", [1, 2]), ("list", [3])) == [1, 2, 3]
    assert shown(("scalar", 1), ("list", [2, 3])) == [1, 2, 3]
    assert shown(("row", {"x": 1})) == {"x": 1}
    assert shown(("row", {"x": 1, "y": "a"}), ("row", {"x": 2, "y": "b"})) == {"x": [1, 2], "y": ["a", "b"]}
    assert shown(("table", {"x": [1, 2], "y": [3, 4]})) == {"x": [1, 2], "y": [3, 4]}
    assert shown(("table", {"x": [1], "y": 2})) == {"x": 1, "y": 2}
    assert shown(("image", "aml://artifactId/x")) == "aml://artifactId/x"
    assert shown(("confusion_matrix", {"data": [1]})) == {"data": [1]}


def test_between_spools_time_decides() -> None:
    a = [scalar("a1", 1.0), scalar("a2", 5.0), scalar("a3", 5.0)]
    b = [scalar("b1", 2.0), scalar("b2", 5.0)]
    assert [point.value for point in in_order([a, b])] == ["a1", "b1", "a2", "a3", "b2"]
    assert in_order([a]) == a
    assert in_order([]) == []


def test_an_object_that_is_none_is_shown_as_it_stands() -> None:
    for text in (b"not json", b"[1]", b'{"kind": "row"}', b"\xff"):
        frame = records.frame(records.OBJECT_HEAD.pack(records.OBJECT, 1, 0, 1.0) + text)
        (series,) = decode(frame, NAMES).series
        (point,) = points(series)
        assert (point.kind, point.value) == ("text", text.decode("utf-8", "replace"))


def test_line_breaks_in_an_object_do_not_split_it() -> None:
    body = (
        records.OBJECT_HEAD.pack(records.OBJECT, 1, 0, 1.0)
        + json.dumps({"kind": "row", "value": {"a": 1}}, indent=1).encode()
    )
    (series,) = decode(records.frame(body) * 3, NAMES).series
    assert [point.value for point in points(series)] == [{"a": 1}] * 3


# Charts.


@settings(max_examples=200)
@given(st.lists(st.floats() | st.sampled_from([math.nan, math.inf, -math.inf, 0.0]), max_size=200), st.integers(1, 20))
def test_thinning_keeps_ends_and_peaks(found: list[float], buckets: int) -> None:
    indexes = thin(array("d", found), buckets)
    assert indexes == sorted(set(indexes))
    assert len(indexes) <= 2 * buckets + 2
    if len(found) <= 2 * buckets + 2:
        assert indexes == list(range(len(found)))
        return
    assert {0, len(found) - 1} <= set(indexes)
    finite = [value for value in found if math.isfinite(value)]
    if finite:
        drawn = [found[i] for i in indexes]
        assert min(finite) in drawn
        assert max(finite) in drawn


@given(st.lists(st.floats(-1e9, 1e9), max_size=300), st.integers(1, 30), st.integers(1, 9))
def test_a_chart_shows_the_thinned_points(found: list[float], buckets: int, parts: int) -> None:
    size = len(found) // parts + 1
    spool = [series_of(*found[at : at + size], first=at) for at in range(0, len(found), size)]
    drawn = chart([spool], buckets)
    assert drawn.count == len(found)
    assert list(drawn.indexes) == thin(found, buckets)
    assert drawn.values == [found[i] for i in drawn.indexes]
    assert drawn.steps == list(drawn.indexes)
    assert drawn.times == [float(i) for i in drawn.indexes]


def test_a_chart_of_several_spools_follows_time() -> None:
    one = [series_of(1.0, 2.0), series_of(3, first=20)]
    two = [series_of(10.0, 11.0, first=1)]
    drawn = chart([one, two], 100)
    assert drawn.values == [1.0, 2.0, 10.0, 11.0, 3.0]
    assert drawn.times == [0.0, 1.0, 1.0, 2.0, 20.0]
    assert chart([], 100).count == 0


def test_a_chart_of_whole_numbers_without_steps() -> None:
    log = b"".join(written(1, records.NO_STEP, float(i), i) for i in range(20))
    drawn = chart([decode(log, NAMES).series], 100)
    assert drawn.values == list(range(20))
    assert set(drawn.steps) == {None}


def test_a_chart_draws_the_numbers_of_lists_and_leaves_the_rest() -> None:
    frames = [
        records.obj(1, 4, 1.0, "list", [1, 2.5, "no", 10**400]),
        records.obj(1, 5, 2.0, "text", "no"),
        records.obj(1, 6, 3.0, "flag", True),
        records.obj(1, 7, 4.0, "list", None),
        written(1, 8, 5.0, 7.5),
    ]
    drawn = chart([decode(b"".join(frames), NAMES).series], 100)
    assert (drawn.count, drawn.values, drawn.steps) == (4, [1.0, 2.5, 1.0, 7.5], [4, 4, 6, 8])


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("text", "two\nlines", "two lines"),
        ("text", "x" * 300, "x" * 199 + "…"),
        ("flag", True, "True"),
        ("none", None, "None"),
        ("list", [1, "b"], "b"),
        ("list", [1, float("nan")], "NaN"),
        ("row", {"x": float("-inf")}, "x=-Infinity"),
        ("row", {"x": 1, "y": "z"}, "x=1, y=z"),
        ("table", {"x": [1]}, None),
        ("image", "aml://artifact/x", None),
        ("scalar", 2, None),
    ],
)
def test_the_last_point_in_words(kind: str, value: object, text: str | None) -> None:
    line = json.dumps({"kind": kind, "value": value}).encode() + b"\n"
    numbers = series_of(1.0)
    said = summarize(Series("m", Encoding.OBJECT, 1, numbers.steps, numbers.times, line))
    assert (said.kind, said.text) == (kind, text)
    assert add(summarize(numbers), said).text == text
    assert add(said, summarize(numbers)).text is None
