"""Reads the warning Events of pods that do not start, and of Jobs that cannot make their pods.

Such as for a missing Secret or network, or for Pod Security, a quota, or a missing service account. Only
Events have these warnings, no status. While a Job lacks pods, its Events are listed at intervals; else while
a pod stays in ContainerCreating, those of one pod of each MiniCluster. Nothing is watched, and a healthy
MiniCluster costs no request.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, NamedTuple

from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import KubernetesError
from minicluster.kube_client.resources import CORE_EVENTS
from minicluster.operator.records import OwnJob, PodWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from minicluster.kube_client.api import Api
    from minicluster.kube_client.objects import Name
    from minicluster.operator.cache import Cache
    from minicluster.operator.own_pods import OwnPods
    from minicluster.operator.records import PendingPod
    from minicluster.plan.objects.fields import Object

MIN_INTERVAL = 2.0
"""Seconds in which most pods start."""
MAX_INTERVAL = 30.0
MAX_REQUESTS = 4
FAILED_CREATE = "FailedCreate"
"""The reason of the Job controller's Events about pods that it could not make."""
IDENTIFIER = re.compile(r"\b[0-9a-f]{32,}\b")
"""Of a sandbox or container: each retry has another one, which makes the message no new one."""

_GENERATED_NAME = re.compile(r'(\bpods? "[^"]*?)-\d+-[a-z0-9]*"')
"""Of a pod that was not made: each try has another one."""
_TO_THE_SECOND = len("2026-01-01T00:00:00")
_CREATING = "Error creating: "
"""With what the Job controller's message begins."""

log = logging.getLogger(__name__)


class _Poll(NamedTuple):
    subject: OwnJob | PendingPod
    task: asyncio.Task[None]


class PodEvents:
    """Polls the Events of Jobs that lack pods, and of pods that do not start.

    `changed` is called with the name of each MiniCluster whose warning changed. Call `follow` whenever a
    MiniCluster or its objects have changed, and `close` in the end.
    """

    def __init__(self, api: Api, cache: Cache, changed: Callable[[Name], None]) -> None:
        self._api = api
        self._cache = cache
        self._changed = changed
        self._slots = asyncio.Semaphore(MAX_REQUESTS)
        self._asking: dict[Name, _Poll] = {}
        self._closed = False

    def follow(self, name: Name) -> None:
        """Poll as long as a MiniCluster lacks a pod, or one does not start."""
        subject = None if self._closed else _subject(self._cache.own_pods(name))
        known = self._asking.get(name)
        if known is not None and known.subject != subject:
            self._asking.pop(name).task.cancel()
            self._report(name, None)
            known = None
        if known is None and subject is not None:
            self._asking[name] = _Poll(subject, asyncio.create_task(self._ask(name, subject)))

    async def close(self) -> None:
        """Stop polling, for good."""
        self._closed = True
        tasks = [each.task for each in self._asking.values()]
        self._asking.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, name: Name, subject: OwnJob | PendingPod) -> None:
        fields = f"involvedObject.uid={subject.uid},type=Warning"
        if isinstance(subject, OwnJob):
            fields += f",reason={FAILED_CREATE}"
        pause = MIN_INTERVAL
        while True:
            await asyncio.sleep(pause)
            try:
                async with self._slots:
                    found = await self._api.list(Selection(CORE_EVENTS, name.namespace, fields=fields))
                self._report(name, self._latest(name, subject, found.items))
            except KubernetesError as error:
                log.debug("%s: the Events of %s: %s", name, _described(subject), error)
            except Exception:  # the next poll may succeed
                log.exception("%s: a defect of the operator: the Events of %s", name, _described(subject))
            pause = min(2 * pause, MAX_INTERVAL)

    def _latest(
        self, name: Name, subject: OwnJob | PendingPod, events: Iterable[Object]
    ) -> PodWarning | None:
        """Return the last warning; a Job's from before its newest pod was made is over."""
        latest = max(events, key=_when, default=None)
        if latest is None:
            return None
        if isinstance(subject, OwnJob):
            newest = self._cache.own_pods(name).newest
            if _when(latest)[:_TO_THE_SECOND] < newest[:_TO_THE_SECOND]:
                return None
        message = IDENTIFIER.sub("…", latest.get("message") or "")
        if isinstance(subject, OwnJob):
            message = _GENERATED_NAME.sub(r'\1-…"', message.removeprefix(_CREATING))
        return PodWarning(subject.uid, latest.get("reason") or "", message)

    def _report(self, name: Name, warning: PodWarning | None) -> None:
        if self._cache.warn(name, warning):
            self._changed(name)


def _subject(own: OwnPods) -> OwnJob | PendingPod | None:
    """Return whose Events have what a MiniCluster waits for; None: it waits for nothing of that kind."""
    return own.lacking or own.pending


def _described(subject: OwnJob | PendingPod) -> str:
    return f"{'Job' if isinstance(subject, OwnJob) else 'pod'} {subject.name}"


def _when(event: Object) -> str:
    series = event.get("series") or {}
    last_seen = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(last_seen or event["metadata"].get("creationTimestamp") or "")
