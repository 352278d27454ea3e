"""A problem as an answer (RFC 9457)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import to_json
from starlette.responses import Response

from restful.errors import MEDIA_TYPE

if TYPE_CHECKING:
    from restful.errors import HttpProblem

MAX_PATH = 200
"""Characters of a request's path that are repeated."""


def answer(problem: HttpProblem, path: str) -> Response:
    """Return the answer to a request for a path."""
    body = to_json(problem.body(path[:MAX_PATH]))
    return Response(body, problem.status, dict(problem.headers), media_type=MEDIA_TYPE)
