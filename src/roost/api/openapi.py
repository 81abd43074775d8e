"""The API's description, made when it is first asked for: paths from the routes, schemas from the domain's records."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter

from roost.api.doors import Access, Sign, served
from roost.version import VERSION

_REFERENCE = "#/components/schemas/{model}"


def describe(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(title="Roost", version=VERSION, routes=app.routes)
    parts = document.setdefault("components", {})
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for method, path, sign in served(app):
        _sign(document["paths"][path.replace(":path}", "}")][method.lower()], sign, parts.setdefault("schemas", {}))
    return document


def _sign(operation: dict[str, Any], sign: Sign, schemas: dict[str, Any]) -> None:
    operation["x-access"] = sign.access.value
    if sign.access is not Access.OPEN:
        operation["security"] = [{"token": []}]
    if sign.body is not None:
        operation["requestBody"] = {"required": True, "content": _content(sign.body, schemas)}
    if sign.answer is not None:
        operation["responses"]["200"] = {"description": "Done", "content": _content(sign.answer, schemas)}


def _content(kind: type, schemas: dict[str, Any]) -> dict[str, Any]:
    if kind is bytes:
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    schema = TypeAdapter(kind).json_schema(ref_template=_REFERENCE)
    schemas.update(schema.pop("$defs", {}))
    schemas[kind.__name__] = schema
    return {"application/json": {"schema": {"$ref": _REFERENCE.format(model=kind.__name__)}}}
