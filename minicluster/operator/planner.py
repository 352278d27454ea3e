"""Reads and plans documents: most in the operator's own process, those that may take long in a worker.

A document is weighed, not read, to choose (decision 0038). So no document keeps the event loop longer than
one of the weight `weight.HEAVY` does, and one that takes too much ends its worker alone.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from broker_config.formats.printable import few
from minicluster import document
from minicluster.document import stored_status, weight
from minicluster.kube_client import logs
from minicluster.kube_client.objects import name_of
from minicluster.operator import planned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.document import MiniCluster
    from minicluster.operator.planned import PlanInputs, Planned, Subject
    from minicluster.plan.objects.fields import Object

log = logging.getLogger(__name__)


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
        """Return a document, valid. What cannot be read of its status is left out.

        Raises DocumentError; for heavy ones also PlanningLimitError, if they take too much time or memory,
        and WorkerLostError, if no worker can be had.
        """
        try:
            return await self._read(item)
        except document.DocumentError:
            status = stored_status.readable(item["status"])
            if not status.left_out:
                raise
        _report(item, status.left_out)
        return await self._read({**item, "status": status.content})

    async def _read(self, item: Object) -> ReadDocument:
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


def _report(item: Object, left_out: Sequence[str]) -> None:
    """Log what is left out. That happens once: the status that is written next has it no more."""
    about = logs.for_object(log, name_of(item), item["metadata"]["uid"])
    why = "not as this operator writes it, perhaps a later one has; it is not read"
    about.warning("%s: %s", few(left_out), why)
