"""The client of a person at a command line: what is asked with their own rights, under a name of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import aiohttp

from minicluster.kubernetes.client import APPLY, REQUEST_SECONDS, Client, refusal
from minicluster.kubernetes.errors import UnreachableError
from minicluster.kubernetes.resources import PODS, RESOURCES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from minicluster.kubernetes.access import Access
    from minicluster.kubernetes.resources import Resource
    from minicluster.plan.fields import Object

MANAGER = "minicluster-cli"
"""The field manager of what people apply with this program; the operator's is another."""


class Person(Client):
    """A `Client` that applies without taking fields from others, removes thoroughly, and reads logs."""

    def __init__(self, access: Access) -> None:
        super().__init__(access, manager=MANAGER)

    async def submit(self, item: Object, *, force: bool = False, dry_run: bool = False) -> Object:
        """Server-side apply an object and return it as it is then; with `dry_run` nothing is kept.

        Without `force` ApiError 409 names the fields that others hold. Unknown fields are refused.
        """
        metadata = item["metadata"]
        path = RESOURCES[item["kind"]].path(metadata["namespace"], metadata["name"])
        query = {"fieldManager": MANAGER, "force": str(force).lower(), "fieldValidation": "Strict"}
        if dry_run:
            query["dryRun"] = "All"
        return await self._send("PATCH", path, query, item, content=APPLY)

    async def remove(self, resource: Resource, namespace: str, name: str, uid: str) -> None:
        """Delete an object; it is there until everything that belongs to it is gone."""
        options = {"propagationPolicy": "Foreground", "preconditions": {"uid": uid}}
        await self._send("DELETE", resource.path(namespace, name), body=options)

    async def log(self, namespace: str, pod: str, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Yield a container's log as it comes; `query` as the API server has it (container, follow)."""
        url = f"{self._server}{PODS.path(namespace, pod, 'log')}?{urlencode(query)}"
        limits = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_SECONDS)
        try:
            async with self._http.get(url, timeout=limits) as answer:
                if answer.status >= 400:
                    raise refusal(answer, await answer.read())
                async for chunk in answer.content.iter_any():
                    yield chunk
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnreachableError(f"the log of {pod} broke off: {error}") from error
