"""HTTP with one API server: sessions with fresh credentials, requests, and errors from refusals."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import weakref
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import aiohttp

from minicluster.kube_client.errors import ApiError, ApiUnreachableError, Cause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from minicluster.kube_client.access import Access
    from minicluster.kube_client.objects import Patch
    from minicluster.plan.objects.fields import Object

REQUEST_SECONDS = 30.0
CLOSE_SECONDS = 1.0

JSON = "application/json"
UNAUTHORIZED = 401


class ServerConnection:
    """Sessions with one API server.

    `agent` is the User-Agent. `observe` is called after every request with its method and the answer's status
    code, None where there was no answer.
    """

    def __init__(
        self,
        access: Access,
        agent: str,
        observe: Callable[[str, int | None], None] = lambda _method, _code: None,
    ) -> None:
        self._access = access
        self._agent = agent
        self._observe = observe
        self._session: aiohttp.ClientSession | None = None
        self._former: aiohttp.ClientSession | None = None
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._logging_in = asyncio.Lock()
        self.server = ""
        """Its URL, without a path; known once it is open."""

    async def open(self) -> None:
        """Read the credentials, and open a session with them."""
        await self._log_in()

    async def close(self) -> None:
        """Close the sessions; what is under way on them ends."""
        for session in (self._session, self._former):
            if session is not None:
                await session.close()
        self._session = self._former = None
        await self._end_connections()

    @property
    def http(self) -> aiohttp.ClientSession:
        """The session with the newest credentials."""
        assert self._session is not None, "the client is used as a context manager"  # noqa: S101
        return self._session

    async def get(self, path: str) -> Object:
        """Return the JSON object at a path."""
        return await self.send("GET", path)

    async def send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Patch | None = None,
        *,
        content: str = JSON,
        accept: str = JSON,
    ) -> Object:
        """Send a request; credentials that are refused are read anew once (tokens are short-lived).

        Raises ApiError, ApiUnreachableError.
        """
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

    @contextlib.asynccontextmanager
    async def stream(
        self, url: str, limits: aiohttp.ClientTimeout, *, accept: str = JSON, what: str
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """Yield the body of an answer as it comes, such as a watch; `what` names it in errors.

        Raises ApiError, ApiUnreachableError.
        """
        headers = {"Accept": accept}
        try:
            async with self.http.get(self.server + url, headers=headers, timeout=limits) as answer:
                if answer.status >= 400:
                    raise refusal(answer, await answer.read())
                try:
                    yield answer.content
                finally:
                    hang_up(answer)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiUnreachableError(f"{what} broke off: {error}") from error

    async def _log_in(self, refused: aiohttp.ClientSession | None = None) -> None:
        """Open a session with fresh credentials, unless another task did so since `refused` was in use.

        Requests under way on the former session come to their end; the session before that is closed.
        """
        async with self._logging_in:
            if self._session is not refused:
                return
            credentials = await asyncio.to_thread(self._access.connect)
            ended, self._former, self.server = self._former, self._session, credentials.server
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0, ssl=credentials.ssl_context(), socket_factory=self._make_socket
                ),
                proxy=credentials.proxy_url,
                timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS),
                headers={"User-Agent": self._agent, **credentials.headers()},
            )
            if ended is not None:
                await ended.close()

    def _make_socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        self._sockets.add(made)
        return made

    async def _end_connections(self) -> None:
        """Have every connection closed that the sessions left: those that are being made, or that end slowly.

        An event loop that ends does not wait for them either.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                while still_open := [each for each in self._sockets if each.fileno() >= 0]:
                    for each in still_open:
                        with contextlib.suppress(OSError):  # it is not connected yet, or not any more
                            each.shutdown(socket.SHUT_RDWR)
                    await asyncio.sleep(0.002)

    async def _exchange(
        self, method: str, url: str, data: bytes | None, headers: dict[str, str]
    ) -> dict[str, Any]:
        try:
            async with self.http.request(method, self.server + url, data=data, headers=headers) as answer:
                text = await answer.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self._observe(method, None)
            what = str(error) or type(error).__name__
            raise ApiUnreachableError(f"no answer from {self.server}: {what}") from error
        self._observe(method, answer.status)
        if answer.status >= 400:
            raise refusal(answer, text)
        try:
            found: Object = json.loads(text)
        except ValueError as error:
            raise ApiUnreachableError(f"{self.server} answers like no API server: {text[:80]!r}") from error
        return found


def refusal(answer: aiohttp.ClientResponse, text: bytes) -> ApiError:
    """Return the error for an answer with a status of 400 and above."""
    try:
        body = json.loads(text)
    except ValueError:
        body = {}
    if not isinstance(body, dict):
        body = {}
    message = body.get("message") or text.decode(errors="replace").strip()[:500] or answer.reason or ""
    details = body.get("details") or {}
    causes = tuple(_cause(each) for each in details.get("causes") or ())
    status, reason = answer.status, str(body.get("reason") or "")
    if status == HTTPStatus.UNPROCESSABLE_ENTITY and any(cause.field == "metadata.uid" for cause in causes):
        # The uid was a precondition, and the object is another one: the server reports that as "Invalid".
        status, reason = HTTPStatus.CONFLICT, "Conflict"
    kind = str(details.get("kind") or "")
    return ApiError(status, reason, message, _retry_after(answer, body), kind=kind, causes=causes)


def _cause(body: Object) -> Cause:
    return Cause(body.get("field") or "", body.get("message") or "", body.get("reason") or "")


def _retry_after(answer: aiohttp.ClientResponse, body: Object) -> float:
    delay = answer.headers.get("Retry-After") or (body.get("details") or {}).get("retryAfterSeconds") or 0
    try:
        return max(float(delay), 0.0)
    except ValueError:
        return 0.0


def hang_up(answer: aiohttp.ClientResponse) -> None:
    """End a stream's connection at once: TLS would wait for the peer's close, maybe beyond the event loop."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()
