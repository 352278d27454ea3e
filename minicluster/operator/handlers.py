"""kopf's part: it watches the MiniClusters, and logs in. The handlers pass its events on."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Any

from minicluster.kube_client.client import WATCH_SECONDS
from minicluster.kube_client.resources import MINICLUSTERS
from minicluster.operator.kopf_alone import kopf

if TYPE_CHECKING:
    from minicluster.kube_client.access import Access
    from minicluster.kube_client.credentials import ApiCredentials
    from minicluster.operator.controller import Controller

NO_FINALIZER = "kopf sets no finalizer"
"""Not a name that an API server accepts: kopf removes its finalizer from an object where it finds one."""
MIN_RETRY_DELAY, MAX_RETRY_DELAY = 0.5, 10.0
"""Seconds before refused credentials are given again: doubled each time."""


class Logins:
    """Gives kopf credentials whenever the API server refused the last ones.

    kopf never uses refused credentials again. But an API server that has just started may not know its
    service accounts yet. So the same credentials are given again after a pause, with another priority.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._last: ApiCredentials | None = None
        self._pause = 0.0
        self._count = 0

    async def next(self) -> kopf.ConnectionInfo:
        """Return the credentials as they are now. Raises AccessError."""
        found = await asyncio.to_thread(self._access.connect)
        if found == self._last:
            self._pause = min(max(2 * self._pause, MIN_RETRY_DELAY), MAX_RETRY_DELAY)
            await asyncio.sleep(self._pause)
            found = await asyncio.to_thread(self._access.connect)
        if found != self._last:
            self._pause = 0.0
        self._last = found
        self._count += 1
        return kopf.ConnectionInfo(**dataclasses.asdict(found), priority=self._count)


class NoDiffBase(kopf.DiffBaseStorage):
    """Stores no last state of an object, and reads none: anybody may write into the annotations."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        """Return that there is nothing to compare: our handler wants each event."""
        return kopf.BodyEssence()

    def fetch(self, **_: Any) -> None:
        """Know of no earlier state."""

    def store(self, **_: Any) -> None:
        """Store nothing."""


class NoProgress(kopf.ProgressStorage):
    """Stores no progress of handlers: ours has none."""

    def fetch(self, **_: Any) -> None:
        """Know of no progress."""

    def store(self, **_: Any) -> None:
        """Store nothing."""

    def purge(self, **_: Any) -> None:
        """Have nothing to remove."""

    def touch(self, **_: Any) -> None:
        """Write no mark into the object."""

    def clear(self, *, essence: kopf.BodyEssence) -> kopf.BodyEssence:
        """Return what was given."""
        return essence


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
    """Return kopf's settings: it writes nothing itself, and watches MiniClusters only."""
    ours = kopf.OperatorSettings()
    ours.posting.enabled = False  # the reconciler sends the Events
    ours.scanning.disabled = True  # no watch of CRDs and namespaces, for which it would need rights
    ours.peering.standalone = True  # one leader, by a Lease
    ours.persistence.diffbase_storage = NoDiffBase()
    ours.persistence.progress_storage = NoProgress()
    ours.persistence.finalizer = NO_FINALIZER
    ours.watching.server_timeout = WATCH_SECONDS
    ours.queueing.idle_timeout = 0.5  # seconds for which kopf keeps an object's task after an event
    return ours
