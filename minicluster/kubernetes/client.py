"""The client of a real API server: JSON over a few kept connections."""

from __future__ import annotations

import asyncio
import contextlib
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

import aiohttp

from minicluster import __version__
from minicluster.kubernetes.api import APPLY_MANAGER, Listing, WatchEvent
from minicluster.kubernetes.errors import ApiError, Cause, UnreachableError
from minicluster.kubernetes.resources import RESOURCES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from types import TracebackType

    from minicluster.kubernetes.access import Access
    from minicluster.kubernetes.api import Selection
    from minicluster.kubernetes.resources import Resource
    from minicluster.plan.fields import Object

REQUEST_SECONDS = 30.0
PAGE = 500
# The server ends a watch by itself after this long, so that no half-dead connection stays for ever.
WATCH_SECONDS = 290
# A stream that is silent for so long is dead: bookmarks come about once a minute.
SILENT_SECONDS = 150.0
# TLS connections take some turns of the loop to close, and an event loop that ends does not wait for that.
LAST_TURNS = 0.01

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
BARE = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
BARE_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
# No object was ever stored under this version: as a precondition it lets only a new object through.
NO_VERSION = "1"
UNAUTHORIZED = 401


class Client:
    """An `Api` over HTTP. `gate` is called before every write, and raises where none may be made.

    `manager` is the field manager under whose name it writes. `observe` is told of every request: its method
    and the answer's status code, None where there was no answer. `identity` stands in the API server's audit
    log, so that one operator can be told from another.
    """

    def __init__(
        self,
        access: Access,
        gate: Callable[[], None] = lambda: None,
        manager: str = APPLY_MANAGER,
        observe: Callable[[str, int | None], None] = lambda _method, _code: None,
        identity: str = "",
    ) -> None:
        self._access = access
        self._gate = gate
        self._manager = manager
        self._observe = observe
        self._agent = f"minicluster/{__version__}" + (f" ({identity})" if identity else "")
        self._session: aiohttp.ClientSession | None = None
        self._former: aiohttp.ClientSession | None = None
        self._logging_in = asyncio.Lock()
        self._server = ""
        self._under_way = 0  # writes without an answer yet
        self._idle = asyncio.Event()
        self._finishing = False

    async def __aenter__(self) -> Self:
        await self._log_in()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for session in (self._session, self._former):
            if session is not None:
                await session.close()
        self._session = self._former = None
        await asyncio.sleep(LAST_TURNS)

    async def finish(self, seconds: float) -> None:
        """Begin no write any more, and wait so long at most for the answers to those under way.

        One that is broken off may be carried out all the same, and nobody could tell when.
        """
        self._finishing = True
        if self._under_way:
            self._idle.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._idle.wait(), seconds)

    async def version(self) -> tuple[int, int]:
        """Return the server's minor version, such as (1, 36)."""
        found = await self._send("GET", "/version")
        digits = "".join(letter for letter in str(found["minor"]) if letter.isdigit())
        return int(found["major"]), int(digits)

    async def serves(self, resource: Resource) -> bool:
        """Return whether discovery names a kind: one whose CRD was just installed takes a second."""
        group, _, version = resource.version.partition("/")
        groups = (await self._send("GET", "/apis"))["groups"]
        if not any(
            each["name"] == group and version in {served["version"] for served in each["versions"]}
            for each in groups
        ):
            return False
        found = await self._send("GET", f"/apis/{resource.version}")
        return any(each["name"] == resource.plural for each in found["resources"])

    async def read(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return an object."""
        return await self._send("GET", resource.path(namespace, name))

    async def list(self, selection: Selection) -> Listing:
        """Return all objects of a selection, asked for in pages."""
        items: list[Object] = []
        query = {"limit": str(PAGE)} | _selectors(selection)
        accept = BARE_LIST if selection.bare else JSON
        while True:
            path = selection.resource.path(selection.namespace)
            page = await self._send("GET", path, query, accept=accept)
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
        headers = {"Accept": BARE if selection.bare else JSON}
        limits = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_SECONDS, sock_read=SILENT_SECONDS)
        try:
            async with self._http.get(self._server + url, headers=headers, timeout=limits) as answer:
                if answer.status >= 400:
                    raise refusal(answer, await answer.read())
                try:
                    async for line in _lines(answer.content):
                        yield _event(json.loads(line))
                finally:
                    hang_up(answer)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnreachableError(f"the watch of {selection.resource.plural} broke off: {error}") from error

    async def create(self, item: Object) -> Object:
        """Create an object."""
        path = RESOURCES[item["kind"]].path(item["metadata"].get("namespace", ""))
        async with self._writing():
            return await self._send("POST", path, {"fieldManager": self._manager}, item, accept=BARE)

    async def review(self, item: Object) -> Object:
        """Have a question answered, such as a SubjectAccessReview; nothing is kept of it."""
        return await self._send("POST", RESOURCES[item["kind"]].path(), body=item)

    async def apply(self, item: Object, *, new: bool = False) -> Object:
        """Server-side apply an object, and return its metadata."""
        metadata = item["metadata"]
        if new:
            item = {**item, "metadata": {**metadata, "resourceVersion": NO_VERSION}}
        path = RESOURCES[item["kind"]].path(metadata.get("namespace", ""), metadata["name"])
        query = {"fieldManager": self._manager, "force": "true"}
        async with self._writing():
            return await self._send("PATCH", path, query, item, content=APPLY, accept=BARE)

    async def patch(
        self, resource: Resource, namespace: str, name: str, body: Object, subresource: str = ""
    ) -> Object:
        """Merge into an object."""
        path = resource.path(namespace, name, subresource)
        async with self._writing():
            return await self._send("PATCH", path, {"fieldManager": self._manager}, body, content=MERGE)

    async def replace(self, item: Object) -> Object:
        """Replace an object."""
        metadata = item["metadata"]
        path = RESOURCES[item["kind"]].path(metadata.get("namespace", ""), metadata["name"])
        return await self._send("PUT", path, {"fieldManager": self._manager}, item)

    async def delete(self, resource: Resource, namespace: str, name: str, uid: str = "") -> None:
        """Delete an object, its dependents after it."""
        options: Object = {"propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        async with self._writing():
            await self._send("DELETE", resource.path(namespace, name), body=options)

    @property
    def _http(self) -> aiohttp.ClientSession:
        assert self._session is not None, "the client is used as a context manager"  # noqa: S101
        return self._session

    async def _log_in(self, refused: aiohttp.ClientSession | None = None) -> None:
        """Open a session with fresh credentials, unless somebody else did since one was refused.

        What is under way on the former session comes to its end; the one before that is closed.
        """
        async with self._logging_in:
            if self._session is not refused:
                return
            info = await asyncio.to_thread(self._access.connect)
            ended, self._former, self._server = self._former, self._session, info.server
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=info.as_ssl_context()),
                proxy=info.proxy_url,
                timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS),
                headers={"User-Agent": self._agent, **info.as_http_headers()},
            )
            if ended is not None:
                await ended.close()

    @contextlib.asynccontextmanager
    async def _writing(self) -> AsyncIterator[None]:
        """Count a write, where one may be made; once this client finishes, wait until cancelled."""
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

    async def _send(
        self,
        method: str,
        path: str,
        query: dict[str, str] | None = None,
        body: Object | None = None,
        *,
        content: str = JSON,
        accept: str = JSON,
    ) -> Object:
        """Send a request; credentials that are refused are read anew once (tokens are short-lived)."""
        url = f"{path}?{urlencode(query)}" if query else path
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {"Accept": accept, "Content-Type": content}
        session = self._session
        try:
            return await self._exchange(method, url, data, headers)
        except ApiError as error:
            if error.status != UNAUTHORIZED:
                raise
        await self._log_in(refused=session)
        return await self._exchange(method, url, data, headers)

    async def _exchange(
        self, method: str, url: str, data: bytes | None, headers: dict[str, str]
    ) -> dict[str, Any]:
        try:
            async with self._http.request(method, self._server + url, data=data, headers=headers) as answer:
                text = await answer.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self._observe(method, None)
            what = str(error) or type(error).__name__
            raise UnreachableError(f"no answer from {self._server}: {what}") from error
        self._observe(method, answer.status)
        if answer.status >= 400:
            raise refusal(answer, text)
        try:
            found: Object = json.loads(text)
        except ValueError as error:
            raise UnreachableError(f"{self._server} answers like no API server: {text[:80]!r}") from error
        return found


def _selectors(selection: Selection) -> dict[str, str]:
    given = {"labelSelector": selection.labels, "fieldSelector": selection.fields}
    return {name: text for name, text in given.items() if text}


def refusal(answer: aiohttp.ClientResponse, text: bytes) -> ApiError:
    """Return what an answer of 400 and above says."""
    try:
        said = json.loads(text)
    except ValueError:
        said = {}
    if not isinstance(said, dict):
        said = {}
    message = said.get("message") or text.decode(errors="replace").strip()[:500] or answer.reason or ""
    details = said.get("details") or {}
    causes = tuple(_cause(each) for each in details.get("causes") or ())
    status, reason = answer.status, str(said.get("reason") or "")
    if status == HTTPStatus.UNPROCESSABLE_ENTITY and any(cause.field == "metadata.uid" for cause in causes):
        # The uid was a precondition, and the object is another one: "Invalid" is how the server says it.
        status, reason = HTTPStatus.CONFLICT, "Conflict"
    kind = str(details.get("kind") or "")
    return ApiError(status, reason, message, _retry_after(answer, said), kind=kind, causes=causes)


def _cause(said: Object) -> Cause:
    return Cause(said.get("field") or "", said.get("message") or "", said.get("reason") or "")


def _retry_after(answer: aiohttp.ClientResponse, said: Object) -> float:
    told = answer.headers.get("Retry-After") or (said.get("details") or {}).get("retryAfterSeconds") or 0
    try:
        return max(float(told), 0.0)
    except ValueError:
        return 0.0


def hang_up(answer: aiohttp.ClientResponse) -> None:
    """End a stream's connection at once: TLS would wait for a farewell, longer than a loop may live."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()


def _event(said: Object) -> WatchEvent:
    """Return a line of a watch; the server ends one that it cannot go on with by an ERROR."""
    if said["type"] == "ERROR":
        status = said["object"]
        code = int(status.get("code") or HTTPStatus.GONE)
        raise ApiError(code, status.get("reason", ""), status.get("message", ""))
    return WatchEvent(said["type"], said["object"])


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
