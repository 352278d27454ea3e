"""The Lease as it was last read, and the requests that read and write it."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from minicluster.kube_client import lease
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.lease import Sighting
from minicluster.kube_client.resources import LEASES

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.kube_client.resources import Resource
    from minicluster.plan.objects.fields import Object

VERBS = ("get", "create", "update")
"""What a Role must allow on Leases in the service's own namespace."""


class Leases(Protocol):
    """The part of an `Api` that an election needs. Its writes must not depend on holding the Lease."""

    async def read(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return an object."""
        ...

    async def create(self, item: Object) -> Object:
        """Create an object."""
        ...

    async def replace(self, item: Object) -> Object:
        """Replace an object; its resourceVersion is a precondition."""
        ...


class LeaseStore:
    """One Lease. `clock` returns seconds."""

    def __init__(self, api: Leases, namespace: str, name: str, clock: Callable[[], float]) -> None:
        self.namespace = namespace
        self.name = name
        self.item: Object | None = None
        """The Lease as last read, with the resourceVersion that is the lock."""
        self.seen: Sighting | None = None
        self.sent: Object | None = None
        """The last spec that was sent, also if the request failed or had no answer."""
        self.doing = VERBS[0]
        """The verb of the last request."""
        self._api = api
        self._clock = clock

    @property
    def namespaced_name(self) -> str:
        """Return `namespace/name` of the Lease."""
        return f"{self.namespace}/{self.name}"

    @property
    def holder(self) -> str:
        """Return the holder of the Lease when it was last read; empty: no holder, or it was never read."""
        return self.seen.holder if self.seen else ""

    def new(self) -> Object:
        """Return a Lease without a holder."""
        return lease.new(self.namespace, self.name)

    async def write(self, wanted: Object) -> None:
        """Create or replace the Lease; its resourceVersion is the lock."""
        self.sent = wanted["spec"]
        exists = "resourceVersion" in wanted["metadata"]
        self.doing = "update" if exists else "create"
        answer = await (self._api.replace(wanted) if exists else self._api.create(wanted))
        self._see(lease.answered(wanted, answer))

    async def read(self) -> None:
        """Read the Lease, and keep it."""
        self.doing = "get"
        try:
            found = await self._api.read(LEASES, self.namespace, self.name)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            self._miss()
        else:
            self._see(lease.answered(found, found))

    def _see(self, item: Object) -> None:
        """Keep the Lease; only a change of its spec starts its time anew."""
        self.item = item
        spec = item.get("spec") or {}
        if self.seen is None or self.seen.gone or self.seen.spec != spec:
            self.seen = Sighting(spec, self._clock())

    def _miss(self) -> None:
        """Take in that there is no Lease (any more)."""
        self.item = None
        if self.seen is not None and not self.seen.gone:
            self.seen = Sighting(self.seen.spec, self._clock(), gone=True)
