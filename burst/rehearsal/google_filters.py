"""Filters and pages of Compute Engine's listings, as far as they are used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from burst.rehearsal.server import CloudRequest

_TERM = re.compile(
    r"""\(?\s*(?P<field>[\w.-]+)\s*(?P<operator>!=|=|:|\beq\b)\s*(?:"(?P<quoted>[^"]*)"|(?P<bare>[^\s()]+))\s*\)?"""
)
_BETWEEN = re.compile(r"\s*(AND)?\s*")
MAX_PAGE = 500


class FilterInvalidError(Exception):
    """A filter is none, or has what is not rehearsed."""


class _Term(NamedTuple):
    field: str
    operator: str
    value: str

    def holds(self, item: Mapping[str, Any]) -> bool:
        found: Any = item
        for part in self.field.split(".", 1):
            found = found.get(part) if found is not None else None
        if (self.operator, self.value) == (":", "*"):
            return found is not None
        if self.operator == "eq":
            return found is not None and re.fullmatch(self.value, str(found)) is not None
        return (str(found) == self.value) is (self.operator != "!=")


def filtered(items: Sequence[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """Return the items of which all expressions of a filter hold. Raises FilterInvalidError."""
    terms = list(_terms(text))
    return [each for each in items if all(term.holds(each) for term in terms)]


def _terms(text: str) -> Iterator[_Term]:
    position = 0
    while position < len(text):
        found = _TERM.match(text, position)
        if found is None:
            raise FilterInvalidError(f"Invalid list filter expression: {text[position:]!r}")
        quoted = found["quoted"]
        yield _Term(found["field"], found["operator"], found["bare"] if quoted is None else quoted)
        position = found.end()
        between = _BETWEEN.match(text, position)
        position = between.end() if between is not None else position


def page(items: Sequence[Any], request: CloudRequest, size: int) -> tuple[Sequence[Any], dict[str, str]]:
    """Return the items of the page that is asked for, and what names the next one, if there is one."""
    start = int(request.value("pageToken", "0"))
    end = start + min(size, int(request.value("maxResults", str(MAX_PAGE))))
    return items[start:end], ({"nextPageToken": str(end)} if end < len(items) else {})
