"""Reads the warning Events of pods that do not start, such as for a missing Secret or network.

Only Events have these warnings, no status. While a pod stays in ContainerCreating, its Events are listed at
intervals, for one pod of each MiniCluster. Nothing is watched, and a healthy MiniCluster costs no request.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, NamedTuple

from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import KubernetesError
from minicluster.kube_client.resources import CORE_EVENTS
from minicluster.operator.records import PodWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from minicluster.kube_client.api import Api
    from minicluster.kube_client.objects import Name
    from minicluster.operator.cache import Cache
    from minicluster.operator.records import PendingPod
    from minicluster.plan.objects.fields import Object

MIN_INTERVAL = 2.0
"""Seconds in which most pods start."""
MAX_INTERVAL = 30.0
MAX_REQUESTS = 4
IDENTIFIER = re.compile(r"\b[0-9a-f]{32,}\b")
"""Of a sandbox or container: each retry has another one, which makes the message no new one."""

log = logging.getLogger(__name__)


class _Poll(NamedTuple):
    pod: PendingPod
    task: asyncio.Task[None]


class PodEvents:
    """Polls the Events of pods that do not start.

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
        """Poll as long as a pod of a MiniCluster does not start."""
        pod = None if self._closed else self._cache.own_pods(name).pending
        known = self._asking.get(name)
        if known is not None and known.pod != pod:
            self._asking.pop(name).task.cancel()
            self._report(name, None)
            known = None
        if known is None and pod is not None:
            self._asking[name] = _Poll(pod, asyncio.create_task(self._ask(name, pod)))

    async def close(self) -> None:
        """Stop polling, for good."""
        self._closed = True
        tasks = [each.task for each in self._asking.values()]
        self._asking.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, name: Name, pod: PendingPod) -> None:
        fields = f"involvedObject.uid={pod.uid},type=Warning"
        pause = MIN_INTERVAL
        while True:
            await asyncio.sleep(pause)
            try:
                async with self._slots:
                    found = await self._api.list(Selection(CORE_EVENTS, name.namespace, fields=fields))
                self._report(name, _latest(pod, found.items))
            except KubernetesError as error:
                log.debug("%s: the Events of pod %s: %s", name, pod.name, error)
            except Exception:  # the next poll may succeed
                log.exception("%s: a defect of the operator: the Events of pod %s", name, pod.name)
            pause = min(2 * pause, MAX_INTERVAL)

    def _report(self, name: Name, warning: PodWarning | None) -> None:
        if self._cache.warn(name, warning):
            self._changed(name)


def _latest(pod: PendingPod, events: Iterable[Object]) -> PodWarning | None:
    """Return the last warning."""
    latest = max(events, key=_when, default=None)
    if latest is None:
        return None
    message = IDENTIFIER.sub("…", latest.get("message") or "")
    return PodWarning(pod.uid, latest.get("reason") or "", message)


def _when(event: Object) -> str:
    series = event.get("series") or {}
    last_seen = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(last_seen or event["metadata"].get("creationTimestamp") or "")
