"""Streams from a container: its log, the output of a command in it, and connections to its ports."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode

import aiohttp
import yarl

from minicluster.kube_client import port_forward
from minicluster.kube_client.connection import CLOSE_SECONDS, REQUEST_SECONDS, refusal
from minicluster.kube_client.errors import ApiError, ApiUnreachableError, KubernetesError
from minicluster.kube_client.exec_stream import PROTOCOL, ExecStream, kept_alive
from minicluster.kube_client.port_forward import PortStream
from minicluster.kube_client.resources import PODS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from minicluster.kube_client.connection import ServerConnection
    from minicluster.kube_client.port_forward import PodPort

FORBIDDEN = 403
TOO_MANY = 429
EXPLAINED = frozenset({400, 401, FORBIDDEN, 404})
"""Refusals whose reason the API server gives to a second request, without an upgrade."""

NO_UPGRADE = "upgrade request required"
"""The API server's message for a request without an upgrade that it would have accepted with one."""
_CANNOT = {
    "exec": "no command can be run in pod {}",
    "portforward": "no port of pod {} can be reached",
}


class PodContainer(NamedTuple):
    """A container of a pod."""

    namespace: str
    pod: str
    container: str


class PodStreams:
    """Logs, and commands in containers, with the rights of a connection's user."""

    def __init__(self, connection: ServerConnection) -> None:
        self._connection = connection

    async def log(self, namespace: str, pod: str, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Yield a container's log as it comes; `query` as the API server has it (container, follow)."""
        url = f"{PODS.path(namespace, pod, 'log')}?{urlencode(query)}"
        limits = aiohttp.ClientTimeout(total=None, sock_connect=REQUEST_SECONDS)
        async with self._connection.stream(url, limits, what=f"the log of {pod}") as content:
            async for chunk in content.iter_any():
                yield chunk

    @contextlib.asynccontextmanager
    async def execute(
        self, container: PodContainer, command: Sequence[str], *, terminal: bool = False
    ) -> AsyncIterator[ExecStream]:
        """Run a command in a container, with a terminal or with three streams; it ends with its input.

        Raises ApiError where that is refused, ApiUnreachableError.
        """
        query = {
            "container": container.container,
            "stdin": "true",
            "stdout": "true",
            "stderr": str(not terminal).lower(),
            "tty": str(terminal).lower(),
        }
        url = self._url("exec", container, {**query, "command": list(command)})
        harmless = self._url("exec", container, {**query, "command": ["true"]})
        async with self._upgraded(url, PROTOCOL, harmless, container.pod) as connection:
            yield ExecStream(connection, container.pod)

    @contextlib.asynccontextmanager
    async def forward(self, target: PodPort) -> AsyncIterator[PortStream]:
        """Connect to a port of a pod. That nobody listens there is only known when it is read.

        Raises ApiError where that is refused, ApiUnreachableError.
        """
        url = self._url("portforward", target, {"ports": str(target.port)})
        async with self._upgraded(url, port_forward.PROTOCOL, url, target.pod) as connection:
            yield PortStream(connection, target)

    @contextlib.asynccontextmanager
    async def _upgraded(
        self, url: yarl.URL, protocol: str, harmless: yarl.URL, pod: str
    ) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        """Give a WebSocket; where it is refused, the reason is read at the harmless URL."""
        try:
            connection = await self._connection.http.ws_connect(
                url,
                protocols=[protocol],
                max_msg_size=0,
                timeout=aiohttp.ClientWSTimeout(ws_close=CLOSE_SECONDS),
            )
        except aiohttp.WSServerHandshakeError as error:
            raise await self._why_not(harmless, pod, error.status) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiUnreachableError(
                f"no answer from {self._connection.server}: {error or type(error).__name__}"
            ) from error
        async with kept_alive(connection):
            yield connection

    def _url(
        self, subresource: str, pod: PodContainer | PodPort, query: Mapping[str, str | list[str]]
    ) -> yarl.URL:
        path = PODS.path(pod.namespace, pod.pod, subresource)
        return yarl.URL(
            f"{self._connection.server}{path}?{urlencode(query, doseq=True, quote_via=quote)}", encoded=True
        )

    async def _why_not(self, url: yarl.URL, pod: str, status: int) -> KubernetesError:
        """Return the error with the server's message, which the library drops.

        It is read by a request without an upgrade, so that nothing is run.
        """
        subresource = url.path.rpartition("/")[2]
        if status == TOO_MANY or status >= 500:
            cannot = _CANNOT[subresource].format(pod)
            return ApiError(status, "", f"{cannot} now (answer {status}): try again")
        if status in EXPLAINED:
            try:
                async with self._connection.http.get(url) as answer:
                    refused = refusal(answer, await answer.read())
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise ApiUnreachableError(f"no answer from {self._connection.server}: {error}") from error
            if refused.status >= 400 and NO_UPGRADE not in refused.message.lower():
                return _completed(refused, subresource)
        what = f"{self._connection.server} does not take a WebSocket (answer {status})"
        return ApiUnreachableError(f"{what}: try again, or is there a proxy between?")


def _completed(error: ApiError, subresource: str) -> ApiError:
    """Return a refusal with its reason: where only `create` is missing, Kubernetes gives none."""
    message = error.message.rstrip()
    if error.status != FORBIDDEN or not message.endswith("forbidden:"):
        return error
    return ApiError(error.status, error.reason, f'{message} you cannot create resource "pods/{subresource}"')
