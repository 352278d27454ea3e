"""kopf's part: it watches the MiniClusters, and logs in. The handlers only pass on what they hear."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import kopf

from minicluster.kubernetes.client import WATCH_SECONDS
from minicluster.kubernetes.resources import MINICLUSTERS

if TYPE_CHECKING:
    from minicluster.kubernetes.access import Access
    from minicluster.kubernetes.controller import Controller


def registry(access: Access, controller: Controller) -> kopf.OperatorRegistry:
    """Return the handlers of one operator."""
    handlers = kopf.OperatorRegistry()
    group, _, version = MINICLUSTERS.version.partition("/")

    @kopf.on.login(registry=handlers)
    async def log_in(**_: Any) -> kopf.ConnectionInfo:
        return await asyncio.to_thread(access.connect)

    @kopf.on.event(group, version, MINICLUSTERS.plural, registry=handlers)
    async def pass_on(event: kopf.RawEvent, **_: Any) -> None:
        heard = controller.gone if event["type"] == "DELETED" else controller.seen
        heard(dict(event["object"]))

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
