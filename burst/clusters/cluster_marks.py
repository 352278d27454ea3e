"""What a MiniCluster has of its bursts: them in its status, and a finalizer until none is left.

With that finalizer a MiniCluster that is being deleted stays until its bursts are deleted, and so does its
namespace: else nobody would know any more which machines elsewhere are whose.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from burst.errors import LeadAway
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import MINICLUSTERS
from minicluster.plan.constants import BURST_FINALIZER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from minicluster.document import BurstStatus
    from minicluster.kube_client.api import Api

TRIES = 5
"""How often finalizers are written: another client that writes the MiniCluster meanwhile comes first."""


class ClusterMarks:
    """A MiniCluster of an API server, as it was read."""

    def __init__(self, item: dict[str, Any]) -> None:
        self._metadata = item["metadata"]
        self._bursts = (item.get("status") or {}).get("bursts") or []

    @property
    def uid(self) -> str:
        """Its uid."""
        return str(self._metadata["uid"])

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return str(self._metadata["namespace"])

    @property
    def is_guarded(self) -> bool:
        """Whether it has the finalizer."""
        return BURST_FINALIZER in _finalizers(self._metadata)

    @property
    def is_ending(self) -> bool:
        """Whether it is being deleted."""
        return "deletionTimestamp" in self._metadata

    def differ(self, bursts: Sequence[BurstStatus]) -> bool:
        """Return whether something must be written so that it shows these bursts, the open ones."""
        lacks_guard = bool(bursts) and not self.is_guarded and not self.is_ending
        return self._bursts != _written(bursts) or lacks_guard or (self.is_guarded and not bursts)

    async def write(self, client: Api, bursts: Sequence[BurstStatus]) -> None:
        """Show these bursts. The finalizer comes before them, and goes after them.

        Raises ApiError; a MiniCluster that is gone by now has nothing to show.
        """
        try:
            if bursts and not self.is_guarded and not self.is_ending:
                await self.guard(client)
            if self._bursts != _written(bursts):
                body = {"status": {"bursts": _written(bursts) or None}}
                await client.patch(MINICLUSTERS, self.namespace, self._name, body, "status")
            if self.is_guarded and not bursts:
                await self._change(client, guarded=False)
        except LeadAway:
            return
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise

    async def guard(self, client: Api) -> None:
        """Put the finalizer on it. Raises LeadAway where it is being deleted or is gone, and ApiError."""
        await self._change(client, guarded=True)

    @property
    def _name(self) -> str:
        return str(self._metadata["name"])

    async def _change(self, client: Api, *, guarded: bool) -> None:
        """Write the finalizers to exactly the version that was read: other controllers write them too."""
        for attempt in range(TRIES):
            try:
                found = (await client.read(MINICLUSTERS, self.namespace, self._name))["metadata"]
                if found["uid"] != self.uid or (guarded and "deletionTimestamp" in found):
                    raise LeadAway(f"MiniCluster {self.namespace}/{self._name} is being deleted")
                others = [each for each in _finalizers(found) if each != BURST_FINALIZER]
                wanted = [*others, BURST_FINALIZER] if guarded else others
                if wanted == _finalizers(found) or (guarded and BURST_FINALIZER in _finalizers(found)):
                    return
                version = {"uid": found["uid"], "resourceVersion": found["resourceVersion"]}
                body = {"metadata": {**version, "finalizers": wanted}}
                await client.patch(MINICLUSTERS, self.namespace, self._name, body)
            except ApiError as error:
                if error.status == HTTPStatus.NOT_FOUND:
                    raise LeadAway(f"MiniCluster {self.namespace}/{self._name} is gone") from error
                if error.status != HTTPStatus.CONFLICT or attempt == TRIES - 1:
                    raise
            else:
                return


def _finalizers(metadata: dict[str, Any]) -> list[str]:
    return list(metadata.get("finalizers") or ())


def _written(bursts: Iterable[BurstStatus]) -> list[dict[str, Any]]:
    return [each.model_dump(mode="json", by_alias=True) for each in bursts]
