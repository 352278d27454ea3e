"""The operator's port to an API server. `client.ApiClient` is the real one.

An object is a plain dict, as the API server's JSON. Every refusal is an ApiError; a server that does not
answer is an ApiUnreachableError.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from minicluster.kube_client.objects import Patch
    from minicluster.kube_client.resources import Resource
    from minicluster.plan.objects.fields import Object

APPLY_MANAGER = "minicluster"
"""The operator's field manager: every field that it sets is applied under this name."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Some objects of a kind."""

    resource: Resource
    namespace: str = ""
    """Empty: all namespaces."""
    labels: str = ""
    """A label selector."""
    fields: str = ""
    """A field selector."""
    bare: bool = False
    """Whether only their metadata is read."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The answer to a list."""

    items: tuple[Object, ...]
    version: str
    """The resourceVersion from which a watch goes on."""


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """A change: "ADDED", "MODIFIED", "DELETED" or "BOOKMARK"."""

    type: str
    item: Object


class Api(Protocol):
    """What the operator needs of an API server."""

    async def read(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return an object."""
        ...

    async def list(self, selection: Selection) -> Listing:
        """Return all objects of a selection."""
        ...

    def watch(self, selection: Selection, version: str) -> AsyncIterator[WatchEvent]:
        """Follow the changes after a version, until the server ends the stream.

        Raises ApiError 410 where the server does not remember that version: list again.
        """
        ...

    async def create(self, item: Object) -> Object:
        """Create an object; ApiError 409 AlreadyExists where there is one of its name."""
        ...

    async def apply(self, item: Object, *, new: bool = False) -> Object:
        """Server-side apply an object, and return its metadata.

        With `new` only where there is no object of that name: else ApiError 409 Conflict. A `metadata.uid` or
        `metadata.resourceVersion` in it is a precondition: ApiError 409 Conflict where it does not hold.
        """
        ...

    async def patch(
        self, resource: Resource, namespace: str, name: str, body: Patch, subresource: str = ""
    ) -> Object:
        """Merge into an object (RFC 7386), or carry a list of operations out on it (RFC 6902).

        A uid or resourceVersion in it is a precondition, ApiError 409 Conflict; of a status only the latter.
        """
        ...

    async def replace(self, item: Object) -> Object:
        """Replace an object; its resourceVersion is a precondition."""
        ...

    async def delete(self, resource: Resource, namespace: str, name: str, uid: str = "") -> None:
        """Delete an object (with a uid: only that one), its dependents after it."""
        ...
