"""Numbers at every route: bounded by their type, so that none reaches the database or a file that it does not fit into."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from tests.shared.api_servers import ApiServer
from tests.shared.contexts import submission, submit

from roost.blobs.hashing import hash_bytes
from roost.domain.codec import encode

HUGE = (2**63, -(2**63) - 1, 10**400, 10**5000 + 7)
_WORDS = {"workspace": "vision", "name": "birds", "path": "a", "version": "1", "node_rank": "0", "number": "1"}


def _digits(number: int) -> str:
    return ("-" if number < 0 else "") + "1" + "0" * (5000 if number > 10**4000 else len(str(abs(number))))


def _numbers(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """(method, path, parameter, schema) of every parameter that is a number."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                for schema in (parameter["schema"], *parameter["schema"].get("anyOf", ())):
                    if schema.get("type") in ("integer", "number"):
                        yield method.upper(), path, parameter, schema


def test_every_whole_number_of_a_route_has_bounds(api: ApiServer) -> None:
    found = list(_numbers(api.person.get("/api/openapi.json").json))
    assert len(found) > 25
    for method, path, parameter, schema in found:
        if schema["type"] == "integer":
            assert {"minimum", "maximum"} <= set(schema), (method, path, parameter["name"])


def test_no_number_of_a_route_makes_the_server_fail(api: ApiServer) -> None:
    run = submit(api.context)
    for method, path, parameter, schema in _numbers(api.person.get("/api/openapi.json").json):
        words = [_digits(number) for number in HUGE] if schema["type"] == "integer" else ["nan", "inf", "1e999"]
        for word in words:
            words_of_path = {**_WORDS, "run_id": run.id}
            if parameter["in"] == "path":
                words_of_path[parameter["name"]] = word
            where = path
            for key, value in words_of_path.items():
                where = where.replace(f"{{{key}}}", quote(value))
            query = f"?{parameter['name']}={word}" if parameter["in"] == "query" else ""
            headers = {parameter["name"]: word} if parameter["in"] == "header" else {}
            answer = api.person.call(method, where + query, {} if method != "GET" else None, headers=headers)
            assert (answer.status, answer.error["code"]) == (400, "invalid_input"), (method, where[:200], answer)


@pytest.mark.parametrize("number", ["9223372036854775808", "-9223372036854775809", "1" + "0" * 400, "1" + "0" * 5000])
@pytest.mark.parametrize("field", ["node_count", "priority", "timeout_seconds"])
def test_no_number_of_a_body_makes_the_server_fail(api: ApiServer, number: str, field: str) -> None:
    wanted = encode(submission(api.context))
    wanted["spec"][field] = 7_777_777
    text = json.dumps(wanted).replace("7777777", number)
    answer = api.person.post("/api/workspaces/vision/runs", text.encode())
    assert (answer.status, answer.error["code"]) == (400, "invalid_input")


def test_a_number_that_is_no_number_any_more_is_refused(api: ApiServer) -> None:
    answer = api.person.put("/api/workspaces/vision/environments/odd", b'{"definition": {"a": 1e999}}')
    assert (answer.status, answer.error["code"]) == (400, "invalid_input")
    assert "1e999" in answer.error["message"]


def test_ranges_of_thousands_of_digits(api: ApiServer) -> None:
    data = b"0123456789"
    path = f"/api/blobs/{hash_bytes(data)}"
    assert api.person.put(path, data).status == 200
    many = "9" * 5000
    for asked, status, body in (
        (f"bytes={many}-", 416, None),
        (f"bytes={many}-{many}", 416, None),
        (f"bytes=2-{many}", 206, data[2:]),
        (f"bytes=-{many}", 206, data),
        (f"bytes={'0' * 5000}4-5", 206, data[4:6]),
    ):
        answer = api.person.get(path, headers={"Range": asked})
        assert answer.status == status
        assert body is None or answer.body == body
