"""What the spec of an endpoint must keep to, when a change begins replicas anew, and how many there should be by load."""

from dataclasses import replace

import pytest

from roost.domain.endpoints import (
    MAX_REQUEST_BYTES,
    EndpointSpec,
    Limits,
    Version,
    checked,
    checked_name,
    numbered,
    scaled,
)
from roost.domain.errors import InvalidEndpoint
from roost_job.scoring import frames

SCRIPT = Version(entry_script="score.py", snapshot="a" * 64)


def spec(*versions: Version, **changes: object) -> EndpointSpec:
    return EndpointSpec(versions=versions or (SCRIPT,), **changes)  # type: ignore[arg-type]


def test_the_largest_request_fits_into_a_frame_with_its_head() -> None:
    assert MAX_REQUEST_BYTES + (1 << 20) <= frames.MAX_LENGTH
    with pytest.raises(InvalidEndpoint, match="max_request_bytes"):
        checked(spec(replace(SCRIPT, limits=Limits(max_request_bytes=frames.MAX_LENGTH))))


@pytest.mark.parametrize(
    "name", ["", "ab", "Ab1", "a_b", "../abc", "a/b", "abc-", "1abc", "a" * 33, "abc\n", "ab.cd", None, 3]
)
def test_names_that_are_refused(name: object) -> None:
    with pytest.raises(InvalidEndpoint):
        checked_name(name)


@pytest.mark.parametrize("name", ["abc", "a1-b", "a" * 32])
def test_names_that_are_not(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "broken",
    [
        EndpointSpec(),
        spec(SCRIPT, SCRIPT),
        spec(replace(SCRIPT, traffic=50)),
        spec(replace(SCRIPT, name="a/b")),
        spec(replace(SCRIPT, handler="pickle")),
        spec(replace(SCRIPT, handler="onnx")),
        spec(replace(SCRIPT, entry_script="")),
        spec(replace(SCRIPT, models=("m:1",) * 65)),
        spec(replace(SCRIPT, limits=Limits(min_replicas=0))),
        spec(replace(SCRIPT, limits=Limits(min_replicas=3, max_replicas=2))),
        spec(replace(SCRIPT, limits=Limits(max_replicas=65))),
        spec(replace(SCRIPT, limits=Limits(timeout_seconds=float("nan")))),
        spec(replace(SCRIPT, limits=Limits(timeout_seconds=0))),
        spec(replace(SCRIPT, limits=Limits(memory_gb=-1))),
        spec(replace(SCRIPT, limits=Limits(concurrency=0))),
        spec(port=80),
        spec(recorded=1.5),
        spec(description="x" * 20_001),
    ],
)
def test_specs_that_are_refused(broken: EndpointSpec) -> None:
    with pytest.raises(InvalidEndpoint):
        checked(broken)


def test_a_version_keeps_its_generation_unless_its_replicas_have_to_be_begun_anew() -> None:
    first, last = numbered(spec(), (), 0)
    assert (first.versions[0].generation, last) == (1, 1)
    more = replace(SCRIPT, limits=Limits(max_replicas=3, timeout_seconds=5), description="the same")
    again, last = numbered(spec(more), (first,), last)
    assert (again.versions[0].generation, last) == (1, 1)
    other, last = numbered(spec(replace(SCRIPT, models=("m:2",))), (again,), last)
    assert (other.versions[0].generation, last) == (2, 2)
    back, last = numbered(spec(), (other, first), last)
    assert (back.versions[0].generation, last) == (1, 2)
    split, last = numbered(spec(replace(SCRIPT, traffic=90), replace(SCRIPT, name="b", traffic=10)), (back,), last)
    assert ([each.generation for each in split.versions], last) == ([1, 3], 3)


@pytest.mark.parametrize(
    ("there", "busy", "wanted"), [(1, 0, 1), (1, 0.7, 1), (1, 0.8, 2), (1, 50, 2), (2, 50, 4), (4, 50, 6), (6, 0, 1)]
)
def test_replicas_follow_load_within_their_limits(there: int, busy: float, wanted: int) -> None:
    assert scaled(Limits(min_replicas=1, max_replicas=6), there, busy) == wanted
