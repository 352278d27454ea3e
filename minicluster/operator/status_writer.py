"""Writing the status of MiniClusters, and the Events that go with it."""

from __future__ import annotations

import logging
from collections import deque
from http import HTTPStatus
from typing import TYPE_CHECKING

from minicluster.kube_client import event_recorder
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import MINICLUSTERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from minicluster.kube_client.api import Api
    from minicluster.kube_client.objects import Name
    from minicluster.operator.cache import Cache
    from minicluster.operator.meters import Meter
    from minicluster.plan import Plan
    from minicluster.plan.objects.fields import Object

RETRY_LIMIT = 3
"""After how many failed reconciles in a row an Event with a passing refusal (429, 5xx) is dropped."""

log = logging.getLogger(__name__)


class StatusWriter:
    """Writes the status first, then its Events; keeps refused Events for the next reconcile."""

    def __init__(
        self, api: Api, cache: Cache, meter: Meter, reporter: str, now: Callable[[], datetime]
    ) -> None:
        self._api = api
        self._cache = cache
        self._meter = meter
        self._reporter = reporter
        self._now = now
        self._pending: dict[Name, deque[Object]] = {}

    def forget(self, name: Name) -> None:
        """Forget a MiniCluster that is gone."""
        self._pending.pop(name, None)

    async def write(self, name: Name, item: Object, decided: Plan, failures: int) -> None:
        """Write the status if it has changed, then its Events."""
        if decided.status != item["status"]:
            with self._meter.step("status"):
                body = event_recorder.status_patch(item, decided.status)
                answer = await self._patch_status(name, item, body)
            if name in self._cache.clusters:  # else it was deleted meanwhile: the answer is old news
                self._cache.see_cluster(answer)
            self._pending.setdefault(name, deque()).extend(
                event_recorder.event(item, event, self._reporter, self._now()) for event in decided.events
            )
        if name in self._pending:
            with self._meter.step("events"):
                await self._write_events(name, failures)

    async def _patch_status(self, name: Name, item: Object, body: Object) -> Object:
        try:
            return await self._api.patch(MINICLUSTERS, name.namespace, name.name, body, "status")
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                # Deleted, and no watch reported it: its objects are being collected, and must not return.
                self._cache.forget_cluster(item)
            raise

    async def _write_events(self, name: Name, failures: int) -> None:
        """Write the Events; those that the API server refuses for now go with the next reconcile.

        After RETRY_LIMIT failures they are dropped: the rest of the reconcile must not wait for them.
        """
        events = self._pending[name]
        while events:
            try:
                await self._api.create(events[0])
            except ApiError as error:
                if error.is_passing and error.status != HTTPStatus.CONFLICT and failures < RETRY_LIMIT:
                    raise
                if error.reason != "AlreadyExists":  # its answer was lost
                    log.warning("%s: an Event was not taken: %s", name, error)
            events.popleft()
        self._pending.pop(name, None)  # forgotten meanwhile, if the MiniCluster was deleted
