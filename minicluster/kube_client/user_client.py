"""The client for commands: requests with the user's own rights, under a field manager of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.kube_client.client import APPLY, ApiClient
from minicluster.kube_client.pod_streams import PodStreams
from minicluster.kube_client.resources import RESOURCES

if TYPE_CHECKING:
    from minicluster.kube_client.access import Access
    from minicluster.plan.objects.fields import Object

MANAGER = "minicluster-cli"
"""The field manager of objects that users apply with this program; the operator has another."""


class UserClient(ApiClient):
    """An `ApiClient` that takes no fields from other field managers, unless it is forced."""

    def __init__(self, access: Access) -> None:
        super().__init__(access, manager=MANAGER)
        self.pods = PodStreams(self._connection)
        """Logs, and commands in containers."""

    async def submit(self, item: Object, *, force: bool = False, dry_run: bool = False) -> Object:
        """Server-side apply an object, and return the result; with `dry_run` nothing is stored.

        Without `force` ApiError 409 names the fields that others manage. Unknown fields are refused.
        """
        metadata = item["metadata"]
        path = RESOURCES[item["kind"]].path(metadata["namespace"], metadata["name"])
        query = {"fieldManager": MANAGER, "force": str(force).lower(), "fieldValidation": "Strict"}
        if dry_run:
            query["dryRun"] = "All"
        return await self._connection.send("PATCH", path, query, item, content=APPLY)
