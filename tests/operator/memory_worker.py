"""A worker without a process: it plans at once, or takes its time, or is ended for what it took."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from minicluster import document
from minicluster.operator import planned

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.operator.errors import PlanningError
    from minicluster.operator.planned import PlanInputs, Planned, Subject
    from tests.operator.field_sets import Object


class MemoryWorker:
    """Reads and plans in this process, and notes the names of what it was given."""

    def __init__(self) -> None:
        self.given: list[str] = []
        self.seconds = 0.0
        """How long each document takes."""
        self.trouble: Callable[[str], PlanningError | None] = lambda _: None
        """Returns what is raised for the document of a name."""

    async def read(self, item: Object) -> Subject:
        """Return what must be known of a document."""
        await self._take(item)
        return planned.subject(document.validate(item))

    async def plan(self, item: Object, inputs: PlanInputs) -> Planned:
        """Return the plan of a document."""
        await self._take(item)
        return planned.plan(document.validate(item), inputs)

    async def _take(self, item: Object) -> None:
        name = item["metadata"]["name"]
        self.given.append(name)
        await asyncio.sleep(self.seconds)
        if (error := self.trouble(name)) is not None:
            raise error
