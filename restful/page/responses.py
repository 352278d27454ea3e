"""Pages as responses: templates that escape what they are given, and headers that allow nothing else."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from restful.errors import HttpProblem

_HERE = Path(__file__).parent
STYLE = (_HERE / "static" / "page.css").read_bytes()
STYLE_PATH = f"/static/{hashlib.sha256(STYLE).hexdigest()[:16]}/page.css"
"""Has a digest of the content, so that browsers may keep it for ever."""
CSP = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
TEMPLATES = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.globals["style_path"] = STYLE_PATH


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


TEMPLATES.filters["moment"] = _moment
TEMPLATES.filters["timestamp"] = _timestamp


def page(
    template: str, values: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a page. `values` are what its template needs."""
    text = TEMPLATES.get_template(template).render(values)
    return Response(text, status, {**HEADERS, **(headers or {})}, media_type="text/html")


def see_other(path: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a redirect that a browser follows with GET (RFC 9110 section 15.4.4)."""
    return RedirectResponse(path, 303, {**HEADERS, **(headers or {})})


def problem_page(problem: HttpProblem) -> Response:
    """Return the page in place of what was asked for."""
    body = problem.body("")
    values = {"title": body["title"], "problem": words(problem)}
    return page("problem.html", values, problem.status, problem.headers)


def words(problem: HttpProblem) -> list[str]:
    """Return what was wrong, in sentences: of each field as well, unless that says the same."""
    sentence = str(problem.body("")["detail"])
    fields = [each for each in problem.errors if each.message not in sentence]
    return [_sentence(sentence), *(_sentence(f"{_label(each.path)}: {each.message}") for each in fields)]


def _label(path: str) -> str:
    return path.strip("/").replace("_", " ")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
