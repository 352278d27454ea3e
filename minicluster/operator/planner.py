"""Reads and plans documents: most in the operator's own process, those that may take long in a worker.

A document is weighed, not read, to choose (decision 0038). So no document keeps the event loop longer than
one of the weight `weight.HEAVY` does, and one that takes too much ends its worker alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from minicluster import document
from minicluster.document import weight
from minicluster.operator import planned

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.operator.planned import PlanInputs, Planned, Subject
    from minicluster.plan.objects.fields import Object


class ReadDocument(Protocol):
    """A valid document."""

    @property
    def subject(self) -> Subject:
        """What must be known of it to observe what exists for it."""
        ...

    async def plan(self, inputs: PlanInputs) -> Planned:
        """Return its plan. Raises PlanningLimitError, UnplannableError, WorkerLostError."""
        ...


class DocumentWorker(Protocol):
    """Reads and plans elsewhere, one document at a time."""

    async def read(self, item: Object) -> Subject:
        """Return what must be known of a document. Raises as `Planner.read`."""
        ...

    async def plan(self, item: Object, inputs: PlanInputs) -> Planned:
        """Return the plan of a valid document.

        Raises PlanningLimitError, UnplannableError, WorkerLostError.
        """
        ...


class Planner:
    """Reads documents, each where its weight belongs."""

    def __init__(self, worker: DocumentWorker) -> None:
        self._worker = worker

    async def read(self, item: Object) -> ReadDocument:
        """Return a document, valid.

        Raises DocumentError; for heavy ones also PlanningLimitError, if they take too much time or memory,
        and WorkerLostError, if no worker can be had.
        """
        if weight.is_heavy(item):
            return _ReadElsewhere(await self._worker.read(item), self._worker, item)
        return _ReadHere(document.validate(item))


class _ReadHere:
    def __init__(self, cluster: MiniCluster) -> None:
        self._cluster = cluster
        self.subject = planned.subject(cluster)

    async def plan(self, inputs: PlanInputs) -> Planned:
        return planned.plan(self._cluster, inputs)


class _ReadElsewhere:
    def __init__(self, subject: Subject, worker: DocumentWorker, item: Object) -> None:
        self.subject = subject
        self._worker = worker
        self._item = item

    async def plan(self, inputs: PlanInputs) -> Planned:
        return await self._worker.plan(self._item, inputs)
