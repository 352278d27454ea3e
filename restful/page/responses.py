"""Pages as responses: templates that escape what they are given, and headers that allow nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import RedirectResponse, Response

from restful.page.navigation import entries
from restful.page.static_files import static

if TYPE_CHECKING:
    from collections.abc import Mapping

    from restful.errors import HttpProblem

_HERE = Path(__file__).parent
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""What a browser does for a page: nothing from elsewhere, and no script or style that is inside a page."""
TITLES = {"forbidden": "You may not do that"}
"""Of problems whose title is about a token."""
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
TEMPLATES.globals |= {"static": static, "navigation": entries}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def segment(text: str) -> str:
    """Return a text as one part of a path."""
    return quote(text, safe="")


def _period(seconds: float) -> str:
    """Return a time span for people, in one or two units."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    units = {"d": 86_400, "h": 3600, "min": 60, "s": 1}
    left, found = round(seconds), []
    for unit, size in units.items():
        count, left = divmod(left, size)
        if count:
            found.append(f"{count} {unit}")
    return " ".join(found[:2])


TEMPLATES.filters |= {
    "moment": _moment,
    "day": _day,
    "clock": _clock,
    "timestamp": _timestamp,
    "segment": segment,
    "period": _period,
}


def page(
    template: str, values: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a page. `values` are what its template needs; with `session` it has the head of one's pages."""
    text = TEMPLATES.get_template(template).render(values)
    return Response(text, status, {**HEADERS, **(headers or {})}, media_type="text/html")


def see_other(path: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a redirect that a browser follows with GET (RFC 9110 section 15.4.4)."""
    return RedirectResponse(path, 303, {**HEADERS, **(headers or {})})


def problem_page(problem: HttpProblem) -> Response:
    """Return the page in place of what was asked for."""
    body = problem.body("")
    values = {"title": TITLES.get(problem.type, body["title"]), "problem": words(problem)}
    return page("problem.html", values, problem.status, problem.headers)


def words(problem: HttpProblem) -> list[str]:
    """Return what was wrong, in sentences: of each field as well, unless that says the same."""
    detail = str(problem.body("")["detail"])
    fields = [each for each in problem.errors if each.message not in detail]
    return [sentence(detail), *(sentence(f"{_label(each.path)}: {each.message}") for each in fields)]


def _label(path: str) -> str:
    return path.strip("/").replace("_", " ")


def sentence(text: str) -> str:
    """Return a text as a sentence."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
