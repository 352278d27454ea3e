"""Answers of the routes, and what the OpenAPI document says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError
from pydantic_core import to_json
from starlette.responses import Response

from restful.errors import MEDIA_TYPE, PROBLEMS, FieldError, HttpProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from starlette.requests import Request

Model = TypeVar("Model", bound=BaseModel)
Responses = dict[int | str, dict[str, Any]]

ALWAYS = ("unauthenticated", "forbidden", "not-found", "too-many-requests", "head-too-large", "database-away")
"""What every route with a user answers besides."""
WITH_BODY = ("malformed", "invalid", "too-large", "too-slow")
"""What every route with a body answers besides."""


class FieldErrorView(BaseModel):
    """What is wrong with one field."""

    path: str = Field(description="A JSON pointer into the body (RFC 6901), or the parameter's name.")
    message: str


class ProblemView(BaseModel):
    """Why a request got no other answer (RFC 9457)."""

    type: str = Field(description="What went wrong, as a relative reference.", examples=["/problems/quota"])
    title: str
    status: int
    detail: str
    instance: str = Field(description="The path of the request.")
    errors: list[FieldErrorView] = []


def json_answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer of JSON; numbers that JSON has not are null."""
    body = to_json(value, inf_nan_mode="null")
    return Response(body, status, headers, media_type="application/json")


def problems(*types: str) -> Responses:
    """Return the description of the problems that a route answers with, by their statuses."""
    found: dict[int, list[str]] = {}
    for each in types:
        found.setdefault(PROBLEMS[each][0], []).append(each)
    return {
        status: {
            "description": "; ".join(f"`{each}`: {PROBLEMS[each][1]}" for each in group),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemView"}}},
        }
        for status, group in sorted(found.items())
    }


def answers(model: type[BaseModel] | None, *types: str, status: int = 200, words: str = "") -> Responses:
    """Return the description of a route for users: its answer, and its problems besides ALWAYS."""
    good: dict[str, Any] = {"description": words or "As asked."}
    if model is not None:
        good["model"] = model
    return {status: good, **problems(*ALWAYS, *types)}


def body_schema(model: type[BaseModel], *, optional: bool = False) -> dict[str, Any]:
    """Return the description of a JSON body, for `openapi_extra`; `components` adds what it refers to.

    Optional: as `body` is asked for it.
    """
    BODIES.add(model)
    reference = {"$ref": f"#/components/schemas/{model.__name__}"}
    content = {"application/json": {"schema": reference}}
    return {"requestBody": {"required": not optional, "content": content}}


def query_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the description of a query's parameters, for `openapi_extra`."""
    properties: dict[str, dict[str, Any]] = model.model_json_schema()["properties"]
    return {
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": schema}
            | ({"description": schema["description"]} if "description" in schema else {})
            for name, schema in properties.items()
        ]
    }


def query(request: Request, model: type[Model]) -> Model:
    """Return a request's query. Raises RequestValidationError.

    FastAPI looks at the type of each parameter anew for each request, which takes as long as to read a page.
    """
    sent, values = request.query_params, {}
    for name, field in model.model_fields.items():
        if name in sent:
            values[name] = sent.getlist(name) if field.annotation == list[str] else sent[name]
    try:
        return model.model_validate(values)
    except ValidationError as error:
        errors = [{**each, "loc": ("query", *each["loc"])} for each in error.errors(include_url=False)]
        raise RequestValidationError(errors) from None


BODIES: set[type[BaseModel]] = {ProblemView}
"""Models that the document's components need, and that no route has as a parameter."""


def components() -> dict[str, Any]:
    """Return the schemas of BODIES and of what they refer to."""
    found: dict[str, Any] = {}
    for model in sorted(BODIES, key=lambda each: each.__name__):
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
        found |= schema.pop("$defs", {})
        found[model.__name__] = schema
    return found


async def body(request: Request, model: type[Model], *, optional: bool = False) -> Model:
    """Return a request's body. Raises HttpProblem "malformed", "invalid", and those of the limits."""
    sent = await request.body()
    if not sent and optional:
        sent = b"{}"
    try:
        return model.model_validate_json(sent)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_input=False, include_context=False)) from None


def invalid(errors: Sequence[Any]) -> HttpProblem:
    """Return the problem for pydantic's errors."""
    if any(each["type"] == "json_invalid" for each in errors):
        return HttpProblem("malformed", "the body is no JSON: " + str(errors[0]["msg"]).partition(": ")[2])
    fields = tuple(FieldError(pointer(each["loc"]), message(each)) for each in errors[:50])
    first = fields[0]
    return HttpProblem("invalid", f"{first.path.lstrip('/') or 'the body'}: {first.message}", fields)


def message(error: Mapping[str, Any]) -> str:
    """Return pydantic's message for people."""
    if error["type"] == "extra_forbidden":
        return "is not known here"
    return str(error["msg"]).removeprefix("Value error, ")


def pointer(location: Iterable[int | str]) -> str:
    """Return where a value is in a body, as a JSON pointer (RFC 6901)."""
    parts = [str(part).replace("~", "~0").replace("/", "~1") for part in location]
    return "".join(f"/{part}" for part in parts)
