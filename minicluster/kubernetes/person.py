"""The client of a person at a command line: what is asked with their own rights, under a name of its own."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, urlencode

import aiohttp
import yarl

from minicluster.kubernetes.client import APPLY, REQUEST_SECONDS, Client, hang_up, refusal
from minicluster.kubernetes.errors import ApiError, KubernetesError, UnreachableError
from minicluster.kubernetes.exec_stream import FAREWELL_SECONDS, PROTOCOL, ExecStream, kept_alive
from minicluster.kubernetes.resources import PODS, RESOURCES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from minicluster.kubernetes.access import Access
    from minicluster.kubernetes.resources import Resource
    from minicluster.plan.fields import Object

FORBIDDEN = 403
TOO_MANY = 429
EXPLAINED = frozenset({400, 401, FORBIDDEN, 404})
"""Refusals that the API server explains to whoever asks again."""
MANAGER = "minicluster-cli"
"""The field manager of what people apply with this program; the operator's is another."""

NO_UPGRADE = "upgrade request required"
"""What the API server says to a request without an upgrade that it would have taken with one."""


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
                try:
                    async for chunk in answer.content.iter_any():
                        yield chunk
                finally:
                    hang_up(answer)
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
        }
        url = self._exec_url(place, {**query, "command": list(command)})
        try:
            connection = await self._http.ws_connect(
                url,
                protocols=[PROTOCOL],
                max_msg_size=0,
                timeout=aiohttp.ClientWSTimeout(ws_close=FAREWELL_SECONDS),
            )
        except aiohttp.WSServerHandshakeError as error:
            harmless = self._exec_url(place, {**query, "command": ["true"]})
            raise await self._why_not(harmless, place.pod, error.status) from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnreachableError(
                f"no answer from {self._server}: {error or type(error).__name__}"
            ) from error
        async with kept_alive(connection):
            yield ExecStream(connection, place.pod)

    def _exec_url(self, place: Place, query: Mapping[str, str | list[str]]) -> yarl.URL:
        path = PODS.path(place.namespace, place.pod, "exec")
        return yarl.URL(f"{self._server}{path}?{urlencode(query, doseq=True, quote_via=quote)}", encoded=True)

    async def _why_not(self, url: yarl.URL, pod: str, status: int) -> KubernetesError:
        """Ask for the server's words, which the library drops; without an upgrade, so that nothing is run."""
        if status == TOO_MANY or status >= 500:
            what = f"no command can be run in pod {pod} now (answer {status}): try again"
            return ApiError(status, "", what)
        if status in EXPLAINED:
            try:
                async with self._http.get(url) as answer:
                    said = refusal(answer, await answer.read())
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                raise UnreachableError(f"no answer from {self._server}: {error}") from error
            if said.status >= 400 and NO_UPGRADE not in said.message.lower():
                return _completed(said)
        what = f"{self._server} does not take a WebSocket (answer {status})"
        return UnreachableError(f"{what}: try again, or is there a proxy between?")


def _completed(error: ApiError) -> ApiError:
    """Return a refusal with its reason: where only `create` is missing, Kubernetes gives none."""
    said = error.message.rstrip()
    if error.status != FORBIDDEN or not said.endswith("forbidden:"):
        return error
    return ApiError(error.status, error.reason, f'{said} you cannot create resource "pods/exec"')
