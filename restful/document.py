"""The OpenAPI document of the service: what FastAPI makes of the routes, and what holds for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi.openapi.utils import get_openapi

from restful.errors import PROBLEMS
from restful.routes import answers

if TYPE_CHECKING:
    from fastapi import FastAPI

    from restful.routes.answers import Responses

EVERYWHERE = ("malformed", "head-too-large")
"""What any request may be refused with, such as for its `Host`."""
WITH_TOKEN = ("unauthenticated", "forbidden", "too-many-requests", "database-away")
"""What a request with a token may be refused with besides."""
OF_STATUS = {
    "400": "malformed", "401": "unauthenticated", "403": "forbidden", "404": "not-found", "409": "conflict",
    "422": "invalid", "429": "too-many-requests", "503": "busy",
}  # fmt: skip
"""The problem that a route means which states a status alone."""


def document(app: FastAPI) -> dict[str, Any]:
    """Return the document, which is made once."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, routes=app.routes)
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        schemas.update({name: each for name, each in answers.components().items() if name not in schemas})
        for path, operations in made["paths"].items():
            for operation in operations.values():
                _complete(path, operation)
        schemas.pop("HTTPValidationError", None)
        schemas.pop("ValidationError", None)
        app.openapi_schema = made
    return app.openapi_schema


def _complete(path: str, operation: dict[str, Any]) -> None:
    """Add to a route what it has in common with all others, unless it has said so itself."""
    responses = operation.setdefault("responses", {})
    if _is_automatic(responses.get("422", {})):
        responses["422"] = _of("invalid")
    for status, kind in OF_STATUS.items():
        if status in responses and not responses[status].get("content"):
            responses[status] = {**_of(kind), "description": responses[status]["description"]}
    if "default" in responses:  # /v1 has the same answer for everything
        return
    for kind in _kinds(path, operation):
        responses.setdefault(str(PROBLEMS[kind][0]), _of(kind))


def _kinds(path: str, operation: dict[str, Any]) -> tuple[str, ...]:
    """Return the problems that a route may answer with for what it is like."""
    secured = WITH_TOKEN if "security" in operation else ()
    sent = answers.WITH_BODY if "requestBody" in operation else ()
    objects = ("not-found",) if "{" in path else ()
    return (*EVERYWHERE, *secured, *sent, *objects)


def _is_automatic(response: dict[str, Any]) -> bool:
    """Whether a response is FastAPI's own for parameters that are not right."""
    automatic = response.get("content", {}).get("application/json", {})
    return "HTTPValidationError" in automatic.get("schema", {}).get("$ref", "")


def _of(kind: str) -> dict[str, Any]:
    found: Responses = answers.problems(kind)
    return found[PROBLEMS[kind][0]]
