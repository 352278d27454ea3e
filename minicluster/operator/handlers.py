"""kopf's part: it watches the MiniClusters, and logs in. The handlers only pass on what they hear."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

import kopf

from minicluster.kube_client.client import WATCH_SECONDS
from minicluster.kube_client.resources import MINICLUSTERS

if TYPE_CHECKING:
    from minicluster.kube_client.access import Access
    from minicluster.operator.controller import Controller


FIRST_PAUSE = 0.5
LAST_PAUSE = 10.0


class Logins:
    """Credentials for kopf, as often as it asks: whenever the API server refused the last ones.

    kopf gives up on credentials that it has seen refused. But refusals pass: an API server that has just
    begun may not know its service accounts yet. So the same ones are given again, after a pause, as others.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._last: kopf.ConnectionInfo | None = None
        self._pause = 0.0
        self._count = 0

    async def next(self) -> kopf.ConnectionInfo:
        """Return the credentials as they are now. Raises AccessError."""
        info = await asyncio.to_thread(self._access.connect)
        if info == self._last:
            self._pause = min(max(2 * self._pause, FIRST_PAUSE), LAST_PAUSE)
            await asyncio.sleep(self._pause)
            info = await asyncio.to_thread(self._access.connect)
        if info != self._last:
            self._pause = 0.0
        self._last = info
        self._count += 1
        return dataclasses.replace(info, priority=self._count)


def registry(access: Access, controller: Controller) -> kopf.OperatorRegistry:
    """Return the handlers of one operator."""
    handlers = kopf.OperatorRegistry()
    logins = Logins(access)
    group, _, version = MINICLUSTERS.version.partition("/")

    @kopf.on.login(registry=handlers)
    async def log_in(**_: Any) -> kopf.ConnectionInfo:
        return await logins.next()

    @kopf.on.event(group, version, MINICLUSTERS.plural, registry=handlers)
    async def pass_on(event: kopf.RawEvent, **_: Any) -> None:
        handle = controller.gone if event["type"] == "DELETED" else controller.seen
        handle(dict(event["object"]))

    return handlers


def settings() -> kopf.OperatorSettings:
    """Return kopf's settings: it writes nothing itself, and looks at nothing but MiniClusters."""
    ours = kopf.OperatorSettings()
    ours.posting.enabled = False  # Events are the reconciler's
    ours.scanning.disabled = True  # no watch of CRDs and namespaces, for which it would need rights
    ours.peering.standalone = True  # one leader, by a Lease
    ours.watching.server_timeout = WATCH_SECONDS
    ours.queueing.idle_timeout = 0.5  # a task an object is kept that long after an event
    return ours
