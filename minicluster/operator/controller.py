"""Puts the names of changed MiniClusters into the queue, and reconciles the names that come out."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from minicluster.document import weight
from minicluster.kube_client import logs
from minicluster.kube_client.errors import AccessError, ApiError, ApiUnreachableError, LeadershipLostError
from minicluster.kube_client.objects import name_of
from minicluster.operator import shared_flux_files
from minicluster.operator.errors import WorkerLostError
from minicluster.operator.reconciler import ReconcileOutcome
from minicluster.operator.slots import Slots

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.kube_client.objects import Name
    from minicluster.operator.cache import Cache
    from minicluster.operator.meters import ReconcileMeter
    from minicluster.operator.queue import WorkQueue
    from minicluster.operator.reconciler import Reconciler, ReconcileResult
    from minicluster.plan import JobReport
    from minicluster.plan.objects.fields import Object

MAX_RECONCILES = 16
"""Reconciles that run at a time."""
MAX_HEAVY = 2
"""Reconciles of heavy documents that run besides, at a time: no other one waits for their worker."""
AFTER_A_DEFECT = 5.0
"""Seconds before a reconcile that raised an unexpected exception is tried again."""

log = logging.getLogger(__name__)


class Controller:
    """Has every MiniCluster with a reported change reconciled; calls `notice` with its name."""

    def __init__(
        self,
        cache: Cache,
        queue: WorkQueue,
        reconciler: Reconciler,
        ledger: ReconcileMeter,
        notice: Callable[[Name], None] = lambda _: None,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._reconciler = reconciler
        self._ledger = ledger
        self._notice = notice

    def seen(self, item: Object) -> None:
        """Take in a MiniCluster that is new or changed; a change of its document is reconciled at once."""
        before = self._cache.clusters.get(name_of(item))
        name = self._cache.see_cluster(item)
        if name is None:
            return
        if before is not None and _version(before) == _version(item):
            self._queue.add_spaced(name)
        else:
            self._queue.add(name)
            self._notice(name)

    def gone(self, item: Object) -> None:
        """Take in that a MiniCluster was deleted; the garbage collector deletes its objects."""
        name = self._cache.forget_cluster(item)
        if name is not None:
            self._forget(name)

    def changed(self, name: Name) -> None:
        """Take in that an object of a MiniCluster, or its lead's report, has changed."""
        self._notice(name)
        if name in self._cache.clusters or shared_flux_files.is_subject(name):
            self._queue.add_spaced(name)

    async def work(self) -> None:
        """Reconcile for ever, several at a time."""
        slots, heavy = asyncio.Semaphore(MAX_RECONCILES), Slots(MAX_HEAVY)
        async with asyncio.TaskGroup() as group:
            while True:
                await slots.acquire()
                name = await self._queue.take()
                if weight.is_heavy(self._cache.clusters.get(name)):
                    slots.release()
                    group.create_task(self._attend_heavy(name, heavy))
                else:
                    group.create_task(self._attend(name, slots.release))

    async def _attend_heavy(self, name: Name, slots: Slots) -> None:
        await slots.acquire(name.namespace)
        await self._attend(name, slots.release)

    async def _attend(self, name: Name, release: Callable[[], None]) -> None:
        before = self._known(name)
        result = ""
        try:
            result = await self._reconcile(name)
            self._ledger.reconciled(result)
        finally:
            self._queue.done(name)
            release()
        if shared_flux_files.is_subject(name):
            self._queue.leave(name)
            return
        if name not in self._cache.clusters:
            self._forget(name)  # it was deleted meanwhile: no watch reports it any more
        elif result != ReconcileOutcome.REFUSED.value and self._known(name) != before:
            # What was just written may need another reconcile (cleanup); its watch event will be no news.
            # A refusal is tried again anyway, and its message may differ each time.
            self.changed(name)

    async def _reconcile(self, name: Name) -> str:
        try:
            with self._ledger.step("whole"):
                ended = await self._reconciler.reconcile(name, self._queue.failures(name))
        except (ApiError, ApiUnreachableError, AccessError, WorkerLostError) as error:
            at_least = error.retry_after if isinstance(error, ApiError) else 0.0
            seconds = self._queue.failed(name, at_least)
            self._log(name).info("tried again in %.1f s: %s", seconds, error)
            return "retry"
        except LeadershipLostError:
            raise
        except Exception:  # noqa: BLE001  # one MiniCluster must not stop the others
            self._queue.failed(name, AFTER_A_DEFECT)
            self._log(name).exception("a defect of the operator")
            return "error"
        return self._ended(name, ended)

    def _known(self, name: Name) -> tuple[str, JobReport | None]:
        """Return what is known of a MiniCluster that its own reconcile may change."""
        found = self._cache.clusters.get(name)
        return found["metadata"]["resourceVersion"] if found else "", self._cache.dependents.job_of(name)

    def _ended(self, name: Name, ended: ReconcileResult) -> str:
        if ended.outcome is ReconcileOutcome.REFUSED:
            self._queue.failed(name)
        else:
            self._queue.succeeded(name)
        if ended.again is not None:
            self._queue.add(name, ended.again)
        return ended.outcome.value

    def _forget(self, name: Name) -> None:
        """Forget a MiniCluster; what it shared with those of its namespace may go, too."""
        self._queue.add_spaced(shared_flux_files.subject(name.namespace))
        self._queue.forget(name)
        self._reconciler.forget(name)
        self._notice(name)

    def _log(self, name: Name) -> logs.ObjectLogger:
        found = self._cache.clusters.get(name)
        return logs.for_object(log, name, found["metadata"]["uid"] if found else "")


def _version(item: Object) -> tuple[str, int, bool]:
    """Return a key that differs once the document was changed, created again, or is to be deleted."""
    metadata = item["metadata"]
    return metadata["uid"], metadata["generation"], "deletionTimestamp" in metadata
