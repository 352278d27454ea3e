"""The client of a person at a command line: what is asked with their own rights, under a name of its own."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode

import aiohttp
import yarl

from minicluster.kubernetes.client import APPLY, REQUEST_SECONDS, Client, refusal
from minicluster.kubernetes.errors import ApiError, UnreachableError
from minicluster.kubernetes.exec_stream import FAREWELL_SECONDS, PROTOCOL, ExecStream, kept_alive
from minicluster.kubernetes.resources import PODS, RESOURCES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from minicluster.kubernetes.access import Access
    from minicluster.kubernetes.resources import Resource
    from minicluster.plan.fields import Object

FORBIDDEN = 403
MANAGER = "minicluster-cli"
"""The field manager of what people apply with this program; the operator's is another."""


_HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "bWluaWNsdXN0ZXItYXNrcw==",  # any 16 bytes
    "Sec-WebSocket-Protocol": PROTOCOL,
}


class Place(NamedTuple):
    """A container of a pod."""

    namespace: str
    pod: str
    container: str


class Person(Client):
    """A `Client` that takes no fields from others, removes thoroughly, reads logs and runs commands."""

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

    @contextlib.asynccontextmanager
    async def execute(
        self, place: Place, command: Sequence[str], *, terminal: bool = False
    ) -> AsyncIterator[ExecStream]:
        """Run a command in a container, with a terminal or with three streams; it ends with its input.

        Raises ApiError where that is refused, UnreachableError.
        """
        query = {
            "container": place.container,
            "stdin": "true",
            "stdout": "true",
            "stderr": str(not terminal).lower(),
            "tty": str(terminal).lower(),
            "command": list(command),
        }
        path = PODS.path(place.namespace, place.pod, "exec")
        url = yarl.URL(f"{self._server}{path}?{urlencode(query, doseq=True, quote_via=quote)}", encoded=True)
        try:
            connection = await self._http.ws_connect(
                url,
                protocols=[PROTOCOL],
                max_msg_size=0,
                timeout=aiohttp.ClientWSTimeout(ws_close=FAREWELL_SECONDS),
            )
        except aiohttp.WSServerHandshakeError as error:
            raise await self._why_not(url, error.status) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnreachableError(
                f"no answer from {self._server}: {error or type(error).__name__}"
            ) from error
        async with kept_alive(connection):
            yield ExecStream(connection, place.pod)

    async def _why_not(self, url: yarl.URL, status: int) -> ApiError:
        """Ask once more, in a way that shows the server's words: the library drops them."""
        try:
            async with self._http.get(url, headers=_HANDSHAKE) as answer:
                if answer.status >= 400:
                    return _completed(refusal(answer, await answer.read()))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnreachableError(f"no answer from {self._server}: {error}") from error
        return ApiError(status, "", f"{self._server} does not take a WebSocket: is there a proxy between?")


def _completed(error: ApiError) -> ApiError:
    """Return a refusal with its reason: where only `create` is missing, Kubernetes gives none."""
    said = error.message.rstrip()
    if error.status != FORBIDDEN or not said.endswith("forbidden:"):
        return error
    return ApiError(error.status, error.reason, f'{said} you cannot create resource "pods/exec"')
