"""The client of a real API server: JSON over a few kept connections."""

from __future__ import annotations

import asyncio
import contextlib
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode

import aiohttp

from minicluster import __version__
from minicluster.kube_client.api import APPLY_MANAGER, Listing, WatchEvent
from minicluster.kube_client.connection import JSON, REQUEST_SECONDS, ServerConnection
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import RESOURCES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import TracebackType

    from minicluster.kube_client.access import Access
    from minicluster.kube_client.api import Selection
    from minicluster.kube_client.objects import Patch
    from minicluster.kube_client.resources import Resource
    from minicluster.plan.objects.fields import Object

PAGE = 500
# The server ends a watch by itself after this long, so that no half-dead connection stays for ever.
WATCH_SECONDS = 290
# A stream that is silent for so long is dead: bookmarks come about once a minute.
SILENT_SECONDS = 150.0

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
BARE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
BARE_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
# No object was ever stored under this version: as a precondition it lets only a new object through.
NO_VERSION = "1"


class _Writes:
    """Counts the writes that have no answer yet. `gate` is called before each, and raises to prevent it."""

    def __init__(self, gate: Callable[[], None]) -> None:
        self._gate = gate
        self._under_way = 0
        self._idle = asyncio.Event()
        self._finishing = False

    @contextlib.asynccontextmanager
    async def making(self) -> AsyncIterator[None]:
        """Count a write within the block. After `finish` it waits until it is cancelled."""
        if self._finishing:
            await asyncio.Event().wait()
        self._gate()
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if self._under_way == 0:
                self._idle.set()

    async def finish(self, seconds: float) -> None:
        """Let no write begin any more, and wait at most so many seconds for those under way."""
        self._finishing = True
        if self._under_way:
            self._idle.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), seconds)


class ApiClient:
    """An `Api` over HTTP. `gate` is called before every write, and raises to prevent it.

    `manager` is the field manager of its writes. `observe` is called after every request with its method and
    the answer's status code, None where there was no answer. `identity` appears in the API server's audit log
    and distinguishes operators there.
    """

    def __init__(
        self,
        access: Access,
        gate: Callable[[], None] = lambda: None,
        manager: str = APPLY_MANAGER,
        observe: Callable[[str, int | None], None] = lambda _method, _code: None,
        identity: str = "",
    ) -> None:
        agent = f"minicluster/{__version__}" + (f" ({identity})" if identity else "")
        self._connection = ServerConnection(access, agent, observe)
        self._manager = manager
        self._writes = _Writes(gate)

    async def __aenter__(self) -> Self:
        await self._connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._connection.close()

    async def finish(self, seconds: float) -> None:
        """Begin no write any more, and wait at most so many seconds for the answers to those under way.

        The API server may still carry out a write whose connection ended, at an unknown time.
        """
        await self._writes.finish(seconds)

    async def get(self, path: str) -> Object:
        """Return the JSON at a path that is not a Kubernetes object's, such as `/version`."""
        return await self._connection.get(path)

    async def read(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return an object."""
        return await self._connection.send("GET", resource.path(namespace, name))

    async def list(self, selection: Selection) -> Listing:
        """Return all objects of a selection, which are read in pages."""
        items: list[Object] = []
        query = {"limit": str(PAGE)} | _selectors(selection)
        accept = BARE_LIST if selection.bare else JSON
        while True:
            path = selection.resource.path(selection.namespace)
            page = await self._connection.send("GET", path, query, accept=accept)
            items += page.get("items") or []
            following = page["metadata"].get("continue")
            if not following:
                return Listing(tuple(items), page["metadata"]["resourceVersion"])
            query["continue"] = following

    async def watch(self, selection: Selection, version: str) -> AsyncIterator[WatchEvent]:
        """Follow the changes after a version; ends when the server ends the stream, which is normal."""
        query = _selectors(selection) | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        url = f"{selection.resource.path(selection.namespace)}?{urlencode(query)}"
        limits = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_SECONDS, sock_read=SILENT_SECONDS)
        accept, what = BARE if selection.bare else JSON, f"the watch of {selection.resource.plural}"
        async with self._connection.stream(url, limits, accept=accept, what=what) as content:
            async for line in _lines(content):
                yield _event(json.loads(line))

    async def create(self, item: Object) -> Object:
        """Create an object."""
        path = RESOURCES[item["kind"]].path(item["metadata"].get("namespace", ""))
        async with self._writes.making():
            return await self._connection.send(
                "POST", path, {"fieldManager": self._manager}, item, accept=BARE
            )

    async def review(self, item: Object) -> Object:
        """Return the answer to a review, such as a SubjectAccessReview. The API server does not store it."""
        return await self._connection.send("POST", RESOURCES[item["kind"]].path(), body=item)

    async def apply(self, item: Object, *, new: bool = False) -> Object:
        """Server-side apply an object, and return its metadata."""
        metadata = item["metadata"]
        if new:
            item = {**item, "metadata": {**metadata, "resourceVersion": NO_VERSION}}
        path = RESOURCES[item["kind"]].path(metadata.get("namespace", ""), metadata["name"])
        query = {"fieldManager": self._manager, "force": "true"}
        async with self._writes.making():
            return await self._connection.send("PATCH", path, query, item, content=APPLY, accept=BARE)

    async def patch(
        self, resource: Resource, namespace: str, name: str, body: Patch, subresource: str = ""
    ) -> Object:
        """Merge into an object, or carry a list of operations out on it."""
        path = resource.path(namespace, name, subresource)
        content = JSON_PATCH if isinstance(body, list) else MERGE
        async with self._writes.making():
            return await self._connection.send(
                "PATCH", path, {"fieldManager": self._manager}, body, content=content
            )

    async def replace(self, item: Object) -> Object:
        """Replace an object."""
        metadata = item["metadata"]
        path = RESOURCES[item["kind"]].path(metadata.get("namespace", ""), metadata["name"])
        return await self._connection.send("PUT", path, {"fieldManager": self._manager}, item)

    async def delete(
        self, resource: Resource, namespace: str, name: str, uid: str = "", *, propagation: str = "Background"
    ) -> None:
        """Delete an object, its dependents after it; with "Foreground" it stays until they are gone."""
        options: Object = {"propagationPolicy": propagation}
        if uid:
            options["preconditions"] = {"uid": uid}
        async with self._writes.making():
            await self._connection.send("DELETE", resource.path(namespace, name), body=options)


def _selectors(selection: Selection) -> dict[str, str]:
    given = {"labelSelector": selection.labels, "fieldSelector": selection.fields}
    return {name: text for name, text in given.items() if text}


def _event(line: Object) -> WatchEvent:
    """Return the event in a line of a watch. Raises ApiError for an ERROR, with which the server ends it."""
    if line["type"] == "ERROR":
        status = line["object"]
        code = int(status.get("code") or HTTPStatus.GONE)
        raise ApiError(code, status.get("reason", ""), status.get("message", ""))
    return WatchEvent(line["type"], line["object"])


async def _lines(stream: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield whole lines of any length; aiohttp's own iterator refuses those over 64 KiB."""
    pending = bytearray()
    async for chunk in stream.iter_any():
        pending += chunk
        *whole, rest = pending.split(b"\n")
        for line in whole:
            if line:
                yield bytes(line)
        pending = bytearray(rest)
