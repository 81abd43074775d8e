"""swagger.json of a service: its routes, with the input and output that the model's handler describes. Pure."""

from collections.abc import Mapping
from typing import Any

_UNKNOWN: Mapping[str, Any] = {"type": "object", "example": {}}
_ERROR = {"type": "object", "properties": {"message": {"type": "string"}}}
_KEY = {"type": "apiKey", "name": "Authorization", "in": "header", "description": "For example: Bearer abc123"}


def document(name: str, version: str, schema: Mapping[str, Any] | None, asked: str = "2") -> dict[str, Any] | None:
    """The document in OpenAPI 2 (Swagger), 3.0 or 3.1, as requested; None for any other version."""
    given = (schema or {}).get("input") or dict(_UNKNOWN)
    answer = (schema or {}).get("output") or dict(_UNKNOWN)
    info = {"title": name, "description": f"API specification for the service {name}", "version": version}
    if asked in ("2", "2.0"):
        return _two(info, given, answer)
    if asked in ("3", "3.0", "3.1"):
        return _three(info, given, answer, "3.1.0" if asked == "3.1" else "3.0.3")
    return None


def _two(info: dict[str, str], given: Any, answer: Any) -> dict[str, Any]:
    def ref(what: str) -> dict[str, Any]:
        return {"schema": {"$ref": f"#/definitions/{what}"}}

    payload = {
        "name": "serviceInputPayload",
        "in": "body",
        "description": "The input of the model.",
        **ref("ServiceInput"),
    }
    return {
        "swagger": "2.0",
        "info": info,
        "schemes": ["http"],
        "consumes": ["application/json"],
        "produces": ["application/json"],
        "securityDefinitions": {"Bearer": _KEY},
        "paths": _paths(
            {"parameters": [payload]},
            {"description": "What the model made of it.", **ref("ServiceOutput")},
            {"description": "The service is up.", "schema": {"type": "string"}, "examples": {"text/plain": "Healthy"}},
            {"description": "It failed.", **ref("ErrorResponse")},
        ),
        "definitions": {"ServiceInput": given, "ServiceOutput": answer, "ErrorResponse": _ERROR},
    }


def _three(info: dict[str, str], given: Any, answer: Any, version: str) -> dict[str, Any]:
    def ref(what: str) -> dict[str, Any]:
        return {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{what}"}}}}

    text = {"text/plain": {"schema": {"type": "string", "example": "Healthy"}}}
    return {
        "openapi": version,
        "info": info,
        "security": [{"Bearer": []}],
        "paths": _paths(
            {"requestBody": {"description": "The input of the model.", **ref("ServiceInput")}},
            {"description": "What the model made of it.", **ref("ServiceOutput")},
            {"description": "The service is up.", "content": text},
            {"description": "It failed.", **ref("ErrorResponse")},
        ),
        "components": {
            "schemas": {"ServiceInput": given, "ServiceOutput": answer, "ErrorResponse": _ERROR},
            "securitySchemes": {"Bearer": _KEY},
        },
    }


def _paths(takes: dict[str, Any], gives: Any, healthy: Any, failed: Any) -> dict[str, Any]:
    health = {"operationId": "ServiceHealthCheck", "responses": {"200": healthy, "default": failed}}
    score = {
        "operationId": "RunMLService",
        "description": "Runs the model and answers with its prediction.",
        "security": [{"Bearer": []}],
        **takes,
        "responses": {"200": gives, "default": failed},
    }
    return {"/": {"get": health}, "/score": {"post": score}}
