"""Watches of everything but MiniClusters: list, then follow; list again where the server answers 410.

kopf watches the MiniClusters. It calls no handler for a deletion within a gap of its watch, and it reads
whole objects. Of ConfigMaps and the like the metadata is enough. Hence these watches.
"""

from __future__ import annotations

import asyncio
import logging
import random
from http import HTTPStatus
from typing import TYPE_CHECKING

from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import AccessError, ApiError, ApiUnreachableError
from minicluster.kube_client.resources import (
    AUTOSCALERS,
    CONFIG_MAPS,
    DISRUPTION_BUDGETS,
    JOBS,
    NETWORK_POLICIES,
    PODS,
    SERVICES,
)
from minicluster.plan.constants import LABEL_MANAGED_BY, MANAGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    from minicluster.kube_client.api import Api, Listing, WatchEvent
    from minicluster.kube_client.objects import Name
    from minicluster.plan.objects.fields import Object

    class WatchCache(Protocol):
        """What a watch keeps current, such as a `Cache`; each method returns the MiniClusters concerned."""

        def see(self, kind: str, item: Object) -> Iterable[Name]:
            """Store an object."""
            ...

        def forget(self, kind: str, item: Object) -> Iterable[Name]:
            """Remove an object that was deleted."""
            ...

        def replace_all(
            self, kind: str, items: Iterable[Object], version: int, namespace: str = ""
        ) -> Iterable[Name]:
            """Replace all objects of a kind (in a namespace)."""
            ...


OURS = f"{LABEL_MANAGED_BY}={MANAGER}"
# Jobs and pods have a status that counts; Secrets are never read.
_WHOLE = (JOBS, PODS)
_BARE = (CONFIG_MAPS, SERVICES, NETWORK_POLICIES, DISRUPTION_BUDGETS, AUTOSCALERS)
MIN_RETRY_DELAY = 0.2
MAX_RETRY_DELAY = 30.0
# A stream that lasted so long was a good one: after its end the next one begins without a pause.
STEADY_SECONDS = 1.0

log = logging.getLogger(__name__)


def selections(namespaces: Iterable[str]) -> tuple[Selection, ...]:
    """Return the selections to watch in these namespaces; none means all namespaces."""
    scopes = tuple(namespaces) or ("",)
    return tuple(
        Selection(resource, namespace, OURS, bare=resource in _BARE)
        for namespace in scopes
        for resource in (*_WHOLE, *_BARE)
    )


class Watch:
    """Keeps the cache current with one selection.

    `changed` is called with each MiniCluster that a change concerns, `restarted` with the kind when its watch
    fails, and `failed` with the reason.
    """

    def __init__(
        self,
        api: Api,
        cache: WatchCache,
        selection: Selection,
        changed: Callable[[Name], None],
        restarted: Callable[[str], None] = lambda _kind: None,
        failed: Callable[[Exception], None] = lambda _error: None,
    ) -> None:
        self._api = api
        self._cache = cache
        self._selection = selection
        self._changed = changed
        self._restarted = restarted
        self._failed = failed
        self._pause = 0.0
        self._version = ""  # from which the next watch goes on, empty: list first
        self.listed = asyncio.Event()
        """Set once the selection was listed."""

    def __str__(self) -> str:
        """Return what is watched, and where."""
        what, where = self._selection.resource.plural, self._selection.namespace
        return f"{what} in {where}" if where else what

    @property
    def kind(self) -> str:
        """Return the kind of the watched objects."""
        return self._selection.resource.kind

    async def run(self) -> None:
        """Watch for ever."""
        while True:
            try:
                self._version = self._version or await self._list()
                await self._follow()
            except ApiError as error:
                # 410: the server has no such old version, which is normal after it was restarted.
                self._version = ""
                await self._wait(error, 0.0 if error.status == HTTPStatus.GONE else error.retry_after)
            except (ApiUnreachableError, AccessError) as error:
                await self._wait(error, 0.0)

    async def _list(self) -> str:
        listing = await self._api.list(self._selection)
        self.take(listing)
        self.listed.set()
        return listing.version

    def take(self, listing: Listing) -> None:
        """Replace the store's objects by a whole list."""
        namespace = self._selection.namespace
        self._notify(self._cache.replace_all(self.kind, listing.items, int(listing.version), namespace))

    async def _follow(self) -> None:
        """Follow the changes until the stream ends.

        Raises ApiUnreachableError also for a stream that ends as soon as it has begun, as a proxy may do: to
        ask again at once would go on for ever.
        """
        clock = asyncio.get_running_loop().time
        begin = clock()
        try:
            async for event in self._api.watch(self._selection, self._version):
                self._apply(event)
        finally:
            lasted = clock() - begin >= STEADY_SECONDS
            if lasted:
                self._pause = 0.0
        if not lasted:
            raise ApiUnreachableError(f"the watch of {self._selection.resource.plural} ended at once")

    def _apply(self, event: WatchEvent) -> None:
        """Store a change, and report it."""
        self._version = event.item["metadata"]["resourceVersion"]
        if event.type == "DELETED":
            self._notify(self._cache.forget(self.kind, event.item))
        elif event.type != "BOOKMARK":
            self._notify(self._cache.see(self.kind, event.item))

    def _notify(self, names: Iterable[Name]) -> None:
        for name in names:
            self._changed(name)

    async def _wait(self, error: Exception, at_least: float) -> None:
        """Pause before the next try, longer each time, and not all watches equally long."""
        self._restarted(self.kind)
        self._failed(error)
        pause = max(at_least, self._pause) * random.uniform(0.8, 1.2)  # noqa: S311  # no secret
        level = logging.WARNING if self._pause >= 1 else logging.DEBUG
        log.log(level, "watch of %s: %s", self._selection.resource.plural, error)
        self._pause = min(max(2 * self._pause, MIN_RETRY_DELAY), MAX_RETRY_DELAY)
        await asyncio.sleep(pause)
