"""Every operation of the API against its own description, on real objects: requests that fit it and requests that do not, with
the owner's token and with a run's. No answer is a server error, and none is outside the description.
"""

import contextlib
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.conftest import end_all
from tests.real.schema_objects import Things, make

pytestmark = [pytest.mark.real, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore")]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
SECONDS = float(os.environ.get("ROOST_TEST_SCHEMA_SECONDS", "240"))
"""For all operations and both tokens; each operation has its share of it."""
LAST = ("POST /api/sweep", "GET /api/backup", "POST /api/server/shutdown")
ODD = ["a\0b", "é" * 300, "x" * 9000, "\U0001f600\u202e", "a/../b", "%ff\n\x7f"]


class _Enough(BaseException):
    """The time of an operation is over. No Exception: that would be a finding."""


@dataclass
class Report:
    operations: int = 0
    requests: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    bodies: dict[str, object] = field(default_factory=dict)
    """By operation, the largest that fits its description."""

    @property
    def server_errors(self) -> list[str]:
        return [problem for problem in self.problems if "Server error" in problem]

    def __str__(self) -> str:
        outside = len(self.problems) - len(self.server_errors)
        by_status = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        return (
            f"{self.operations} operations, {self.requests} requests ({by_status}), {len(self.server_errors)} server errors, "
            f"{outside} answers outside the schema"
        )


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Things]:
    folder = tmp_path_factory.mktemp("schema")
    home = folder / "h"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("ROOST_URL", "ROOST_TOKEN"):
            patch.delenv(name, raising=False)
        patch.setenv("ROOST_HOME", str(home))
        patch.chdir(folder)
        try:
            yield make(home, folder)
        finally:
            end_all(home)


@pytest.mark.parametrize("who", ["run", "person"])
def test_every_answer_is_in_the_description(things: Things, who: str) -> None:
    token = getattr(things, who)
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {token}"
    document = session.get(f"{things.url}/api/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    operations = sorted((each.ok() for each in schema.get_all_operations()), key=_turn)
    report = Report()
    for operation in operations:
        report.operations += 1
        if operation.label == LAST[-1]:
            continue  # it is asked for once, in another test
        share = SECONDS / 2 / 3 / len(operations)
        real = things.path_parameters(operation.path, [each.name for each in operation.path_parameters])
        for ask in (
            {"generation_mode": GenerationMode.POSITIVE, "path_parameters": real},
            {"generation_mode": GenerationMode.NEGATIVE, "path_parameters": real},
            {"generation_mode": GenerationMode.POSITIVE},
        ):
            _explore(session, things.url, operation, ask, report, time.monotonic() + share)
        _odd_words(session, things.url, operation, real, report)
    print(f"\n{who}: {report}")
    for problem, count in report.problems.items():
        print(f"  {count} times {problem}")
    assert not report.problems


def _turn(operation: Any) -> tuple[int, int]:
    """What deletes comes after what needs the thing; deeper things go first."""
    late = LAST.index(operation.label) + 1 if operation.label in LAST else 0
    return (10 + late if late else int(operation.method.upper() == "DELETE"), -operation.path.count("/"))


def _explore(session: requests.Session, url: str, operation: Any, ask: Any, report: Report, end: float) -> None:
    @settings(
        max_examples=12,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(case=operation.as_strategy(**ask))
    def explore(case: Case) -> None:
        _send(session, url, case, report)
        if time.monotonic() > end:
            raise _Enough

    with contextlib.suppress(Unsatisfiable, _Enough):  # nothing of this operation can be wrong; its time is over
        explore()


def _send(session: requests.Session, url: str, case: Case, report: Report) -> None:
    if any(each.name == "wait" for each in case.operation.query):
        case.query = {**(case.query or {}), "wait": "0"}
    try:
        response = case.call(base_url=url, session=session, timeout=60)
    except (requests.exceptions.InvalidHeader, requests.exceptions.InvalidURL, UnicodeError):
        return  # no client could send that
    report.requests += 1
    report.statuses[response.status_code] += 1
    known = report.bodies.get(case.operation.label)
    if response.status_code < 300 or len(str(case.body)) > len(str(known or "")):
        report.bodies[case.operation.label] = case.body
    try:
        case.validate_response(response, checks=CHECKS)
    except (FailureGroup, Failure) as problem:
        for each in problem.exceptions if isinstance(problem, FailureGroup) else [problem]:
            about = f"{each.title}: {each.message}" if isinstance(each, Failure) else repr(each)
            report.problems[f"{case.operation.label} → {response.status_code} {about[:600]}"] += 1


def _odd_words(session: requests.Session, url: str, operation: Any, real: dict[str, str], report: Report) -> None:
    """Strings that trip programs, at each place of the address where one can stand, and everywhere in a body."""
    for word in ODD:
        if isinstance(body := report.bodies.get(operation.label), dict):
            path = operation.path.format(**{name: quote(value, safe="") for name, value in real.items()})
            _ask(session, operation, url + path, {}, json.dumps(_with(body, word)), f"body {word[:20]!r}", report)
        places = [("path", name) for name in real]
        places += [("query", each.name) for each in operation.query if each.name != "wait"]
        for place, name in places:
            path = operation.path
            for each, value in real.items():
                path = path.replace(f"{{{each}}}", quote(word if (place, name) == ("path", each) else value, safe=""))
            query = {name: word} if place == "query" else {}
            _ask(session, operation, url + path, query, "{}", f"{name} {word[:20]!r}", report)


def _with(value: Any, word: str) -> Any:
    """The same with that word for every string."""
    if isinstance(value, dict):
        return {key: _with(each, word) for key, each in value.items()}
    if isinstance(value, list):
        return [_with(each, word) for each in value]
    return word if isinstance(value, str) else value


def _ask(
    session: requests.Session, operation: Any, url: str, query: dict[str, str], body: str, what: str, report: Report
) -> None:
    if any(each.name == "wait" for each in operation.query):
        query = {"wait": "0", **query}
    data = body.encode() if operation.body else None
    response = session.request(operation.method, url, params=query, data=data, timeout=60)
    report.requests += 1
    report.statuses[response.status_code] += 1
    if response.status_code >= 500:
        report.problems[f"{operation.label} → {response.status_code} Server error: {what}"] += 1
    elif response.status_code >= 400:
        assert set(json.loads(response.content)) == {"error"}


def test_the_server_ends_when_it_is_asked(things: Things, tmp_path: Path) -> None:
    headers = {"Authorization": f"Bearer {things.person}"}
    answer = requests.post(f"{things.url}/api/server/shutdown", headers=headers, timeout=60)
    assert (answer.status_code, answer.json()) == (202, {"stopping": True})
