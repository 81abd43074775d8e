"""The API's OpenAPI description, made at the first request: paths from the routes, schemas from the domain's records.

Each operation lists every status that it answers with: its own, and those of errors, which are the same for all.
"""

from http import HTTPStatus
from typing import Any, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from roost.api.doors import RouteFacts, served
from roost.api.errors import ROOST, ErrorShape
from roost.version import VERSION

_REFERENCE = "#/components/schemas/{model}"
_ERROR = {"$ref": _REFERENCE.format(model="Error")}
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_ERRORS = (400, 403, 404, 408, 409, 413, 503, 507)
"""Error statuses of every operation; those that need a token have 401 too."""
_LOGGED = {"MetricSummary"}
"""Records with numbers that people logged, which may not be finite."""
_ODD_NUMBER: dict[str, Any] = {
    "type": "object",
    "required": ["float"],
    "properties": {"float": {"enum": ["NaN", "Infinity", "-Infinity"]}},
}


def describe(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title="Roost", version=VERSION, routes=app.routes)
    doors = served(app)
    contents, schemas = _contents([facts for _, _, facts in doors])
    document["components"] = {
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        "schemas": {"Error": dict(ROOST.schema), "OddNumber": _ODD_NUMBER, **schemas},
        "responses": {f"Error{status}": _failure(status, _ERROR) for status in (401, 412, 416, *_ERRORS)},
    }
    for method, path, facts in doors:
        _describe(document["paths"][path.replace(":path}", "}")][method.lower()], facts, contents)
    return document


def _describe(operation: dict[str, Any], facts: RouteFacts, contents: dict[type, Any]) -> None:
    operation["x-action"] = facts.action.value
    operation["x-scope"] = facts.scope.value
    errors: tuple[int, ...] = _ERRORS
    if not facts.is_open:
        operation["security"] = [{"token": []}]
        errors = (401, *errors)
    if 206 in facts.statuses:
        errors = (*errors, 412, 416)
    if facts.body is not None:
        operation["requestBody"] = {"required": True, "content": contents[facts.body]}
    operation["responses"] = {
        **{str(status): _done(status, facts, contents) for status in facts.statuses},
        **{str(status): _refused(status, facts.errors) for status in sorted(errors)},
    }


def _done(status: int, facts: RouteFacts, contents: dict[type, Any]) -> dict[str, Any]:
    response: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if facts.answer is bytes and status != 304:
        response["content"] = {facts.media: _BINARY}
    elif facts.answer is not None and status != 304:
        response["content"] = contents[facts.answer]
    return response


def _refused(status: int, shape: ErrorShape) -> dict[str, Any]:
    if shape is ROOST:
        return {"$ref": f"#/components/responses/Error{status}"}
    return _failure(status, dict(shape.schema))


def _failure(status: int, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": HTTPStatus(status).phrase, "content": {"application/json": {"schema": schema}}}


def _contents(signs: list[RouteFacts]) -> tuple[dict[type, Any], dict[str, Any]]:
    """The content of each body and answer, and the schemas that they refer to. Records with the same name in different modules
    get separate schemas."""
    kinds = {kind for facts in signs for kind in (facts.body, facts.answer) if kind is not None}
    made: dict[type, Any] = {bytes: {"application/octet-stream": _BINARY}}
    inputs: list[tuple[type, Literal["validation"], TypeAdapter[Any]]] = [
        (kind, "validation", TypeAdapter(kind)) for kind in sorted(kinds - {bytes}, key=str)
    ]
    found, definitions = TypeAdapter.json_schemas(inputs, ref_template=_REFERENCE)
    for kind, mode, _ in inputs:
        made[kind] = {"application/json": {"schema": found[kind, mode]}}
    schemas: dict[str, Any] = definitions.get("$defs", {})
    for name in _LOGGED & schemas.keys():
        schemas[name] = _with_odd_numbers(schemas[name])
    return made, schemas


def _with_odd_numbers(schema: Any) -> Any:
    """The schema with the numbers that JSON cannot express (`answers.spell`)."""
    if isinstance(schema, dict) and schema.get("type") == "number":
        return {"anyOf": [schema, {"$ref": _REFERENCE.format(model="OddNumber")}]}
    if isinstance(schema, dict):
        return {key: _with_odd_numbers(value) for key, value in schema.items()}
    return [_with_odd_numbers(value) for value in schema] if isinstance(schema, list) else schema
