"""What kubelets complain of while a pod does not come up: a volume whose Secret is missing, a network.

No status says that, only Events do. They are asked for where a pod stays in ContainerCreating, of one pod a
MiniCluster, now and then: nothing is watched, and a MiniCluster that is well costs no request.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import TYPE_CHECKING, NamedTuple

from minicluster.kubernetes.api import Selection
from minicluster.kubernetes.errors import KubernetesError
from minicluster.kubernetes.records import Complaint
from minicluster.kubernetes.resources import CORE_EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from minicluster.kubernetes.api import Api
    from minicluster.kubernetes.cache import Cache
    from minicluster.kubernetes.records import Creating, Name
    from minicluster.plan.fields import Object

FIRST_PAUSE = 2.0
"""Seconds in which most pods come up."""
LAST_PAUSE = 30.0
AT_A_TIME = 4
IDENTIFIER = re.compile(r"\b[0-9a-f]{32,}\b")
"""Of a sandbox or container: another one with each try of the same, which is no news."""

log = logging.getLogger(__name__)


class _Asking(NamedTuple):
    pod: Creating
    task: asyncio.Task[None]


class Complaints:
    """Asks for the Events of pods that do not come up. `changed` is told which MiniCluster has news.

    `look` at a MiniCluster whenever something was heard of it; `close` in the end.
    """

    def __init__(self, api: Api, cache: Cache, changed: Callable[[Name], None]) -> None:
        self._api = api
        self._cache = cache
        self._changed = changed
        self._slots = asyncio.Semaphore(AT_A_TIME)
        self._asking: dict[Name, _Asking] = {}
        self._closed = False

    def look(self, name: Name) -> None:
        """Ask as long as a pod of a MiniCluster does not come up."""
        pod = None if self._closed else self._cache.creating(name)
        known = self._asking.get(name)
        if known is not None and known.pod != pod:
            self._asking.pop(name).task.cancel()
            self._tell(name, None)
            known = None
        if known is None and pod is not None:
            self._asking[name] = _Asking(pod, asyncio.create_task(self._ask(name, pod)))

    async def close(self) -> None:
        """Stop asking, for good."""
        self._closed = True
        tasks = [each.task for each in self._asking.values()]
        self._asking.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(self, name: Name, pod: Creating) -> None:
        fields = f"involvedObject.uid={pod.uid},type=Warning"
        pause = FIRST_PAUSE
        while True:
            await asyncio.sleep(pause)
            try:
                async with self._slots:
                    found = await self._api.list(Selection(CORE_EVENTS, name.namespace, fields=fields))
                self._tell(name, _latest(pod, found.items))
            except KubernetesError as error:
                log.debug("%s: the Events of pod %s: %s", name, pod.name, error)
            except Exception:  # they are asked for again
                log.exception("%s: a defect of the operator: the Events of pod %s", name, pod.name)
            pause = min(2 * pause, LAST_PAUSE)

    def _tell(self, name: Name, complaint: Complaint | None) -> None:
        if self._cache.complain(name, complaint):
            self._changed(name)


def _latest(pod: Creating, events: Iterable[Object]) -> Complaint | None:
    """Return what was complained of last."""
    latest = max(events, key=_when, default=None)
    if latest is None:
        return None
    message = IDENTIFIER.sub("…", latest.get("message") or "")
    return Complaint(pod.uid, latest.get("reason") or "", message)


def _when(event: Object) -> str:
    series = event.get("series") or {}
    told = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(told or event["metadata"].get("creationTimestamp") or "")
