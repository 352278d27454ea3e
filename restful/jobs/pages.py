"""Pages of listings, and those that were read: for as long as no job of their cluster changes."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from restful.store import jobs

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from sqlalchemy import Row

    from restful.store.jobs import JobRecord

ChangesSeen = tuple[int, int]
"""Whose turn it was to write the projection, and how many changes there had been: never twice the same."""
MAX_SIZE = 2000
"""Jobs of all pages that are kept, and pages: those that were asked for longest ago are dropped."""


@dataclass(frozen=True, eq=False)
class Page:
    """Some jobs, latest first."""

    rows: Sequence[Row[Any]]
    """As SELECTED has their columns."""
    next: str | None
    """The cursor of the next page; None: there is none."""

    @cached_property
    def owners(self) -> frozenset[str]:
        """Return whose the jobs are."""
        return frozenset(each.owner for each in self.rows)

    @property
    def records(self) -> list[JobRecord]:
        """Return the jobs."""
        return [jobs.record(row) for row in self.rows]


class RecentPages:
    """Pages by what was asked for, each with the changes that were known when it was read."""

    def __init__(self) -> None:
        self._pages: OrderedDict[Hashable, tuple[ChangesSeen, Page]] = OrderedDict()
        self._size = 0

    def get(self, key: Hashable, changes: ChangesSeen) -> Page | None:
        """Return a page, if nothing has changed since it was read."""
        kept = self._pages.get(key)
        if kept is None or kept[0] != changes:
            return None
        self._pages.move_to_end(key)
        return kept[1]

    def put(self, key: Hashable, changes: ChangesSeen, page: Page) -> None:
        """Keep a page; `changes` is what was known before it was read."""
        self._drop(self._pages.pop(key, None))
        self._pages[key] = changes, page
        self._size += len(page.rows) + 1
        while self._size > MAX_SIZE:
            self._drop(self._pages.popitem(last=False)[1])

    def _drop(self, kept: tuple[ChangesSeen, Page] | None) -> None:
        if kept is not None:
            self._size -= len(kept[1].rows) + 1
