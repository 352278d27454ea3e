"""Pages of GET /v1/jobs/search, as DataTables asks for them on the server's side. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from restful.compat import job_attributes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from restful.store.jobs import JobRecord

MAX_QUERY = 200
"""Characters that are searched for."""


@dataclass(frozen=True, slots=True)
class Search:
    """Which page of which jobs."""

    start: int = 0
    length: int | None = None
    """None: all behind the start."""
    draw: int = 1
    """A number that DataTables wants back, so that it knows which request was answered."""
    query: str = ""
    """A text that is searched for, whichever case; no pattern."""


def read(query: Mapping[str, str]) -> Search:
    """Return what a query asks for; a number that is none is as if it was not there."""
    length = number(query.get("length"))
    text = query.get("search[value]") or query.get("search") or query.get("query") or ""
    return Search(
        start=max(0, number(query.get("start")) or 0),
        length=None if length is None or length < 0 else length,
        draw=number(query.get("draw")) or 1,
        query=text[:MAX_QUERY].strip().lower(),
    )


def matching(jobs: Sequence[JobRecord], search: Search) -> list[JobRecord]:
    """Return the jobs of a page."""
    found = [job for job in jobs if not search.query or search.query in job_attributes.text(job)]
    end = None if search.length is None else search.start + search.length
    return found[search.start : end]


def needed(search: Search, most: int) -> int:
    """Return how many of the latest jobs a page is chosen from: all of them where a text is searched for."""
    if search.query or search.length is None:
        return most
    return min(most, search.start + search.length)


def answer(jobs: Sequence[JobRecord], total: int, search: Search, now: float) -> dict[str, Any]:
    """Return the answer. The number of jobs that were found is that of the page, as clients expect it."""
    return {
        "data": [job_attributes.attributes(job, now) for job in jobs],
        "draw": search.draw,
        "recordsTotal": total,
        "recordsFiltered": len(jobs),
    }


def number(text: str | None) -> int | None:
    """Return the whole number of a text; None: it has none."""
    word = (text or "").strip()
    digits = word.removeprefix("-")
    return int(word) if digits.isascii() and digits.isdigit() and len(digits) <= 9 else None
