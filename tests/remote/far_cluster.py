"""An API server that plays one MiniCluster with its lead's pod, and what `pods/exec` does there."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from minicluster.kube_client.credentials import ApiCredentials
from minicluster.kube_client.pod_streams import PodContainer
from minicluster.kube_client.user_client import UserClient
from minicluster.remote.session import NamespaceSession
from tests.operator.field_sets import Object

CONTAINER = PodContainer("science", "mc-0-abcde", "flux")
Exec = Callable[["Command"], Awaitable[None]]


@dataclass
class Command:
    """A command that a client runs: what it sent, and what is sent to it."""

    request: web.Request
    socket: web.WebSocketResponse

    @property
    def words(self) -> list[str]:
        return self.request.query.getall("command")

    async def send_frame(self, channel: int, data: bytes) -> None:
        await self.socket.send_bytes(bytes([channel]) + data)

    async def end(self, code: int = 0) -> None:
        """Send the Status of a command that ended."""
        status: Object = {"status": "Success"}
        if code:
            causes = [{"reason": "ExitCode", "message": str(code)}]
            status = {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
        await self.send_frame(3, json.dumps(status).encode())

    async def receive_frame(self) -> tuple[int, bytes]:
        """Return the next message: its channel and its data."""
        message = await self.socket.receive_bytes(timeout=20)
        return message[0], message[1:]

    async def request_line(self) -> Any:
        """Return the next line of JSON on standard input."""
        channel, data = await self.receive_frame()
        assert channel == 0
        return json.loads(data)

    async def answer(self, **fields: Any) -> None:
        """Write a line of JSON to standard output."""
        await self.send_frame(1, json.dumps(fields).encode() + b"\n")

    def cut(self) -> None:
        """Break the connection off."""
        assert self.request.transport is not None
        self.request.transport.abort()


def cluster(phase: str = "Running", condition: str = "Running", message: str = "", **more: Any) -> Object:
    """Return a MiniCluster with this status."""
    stated = {"type": condition, "status": more.pop("holds", "True"), "reason": more.pop("reason", "X")}
    return {
        "metadata": {"name": "mc", "namespace": "science", "uid": "u", "generation": 1},
        "spec": {"size": 1, "suspend": stated["reason"] == "Suspended"},
        "status": {
            "phase": phase,
            "observedGeneration": 1,
            "conditions": [{**stated, "message": message}],
            **more,
        },
    }


def pod(name: str = CONTAINER.pod, rank: int = 0, state: Object | None = None, **metadata: Any) -> Object:
    """Return a broker pod; its runner runs unless `state` is another one."""
    labels = {
        "app.kubernetes.io/name": "minicluster",
        "app.kubernetes.io/instance": "mc",
        "app.kubernetes.io/component": "broker",
        "batch.kubernetes.io/job-completion-index": str(rank),
    }
    phase = "Running" if state is None else "Pending"
    status = {"name": "flux", "state": state or {"running": {}}, "restartCount": metadata.pop("restarts", 0)}
    return {
        "metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": labels, **metadata},
        "spec": {"nodeName": "n", "containers": [{"name": "flux"}, {"name": "other"}]},
        "status": {"phase": phase, "containerStatuses": [status]},
    }


@dataclass
class FarCluster:
    """What is there; a test may change it while it is asked."""

    cluster: Object = field(default_factory=cluster)
    pods: list[Object] = field(default_factory=lambda: [pod()])
    exec: Exec | None = None
    refusal: tuple[int, str] | None = None
    notices: list[str] = field(default_factory=list)
    log: Callable[[str], str] = lambda _: ""
    server: str = ""

    def connect(self) -> ApiCredentials:
        """Be the way in."""
        return ApiCredentials(server=self.server)

    @contextlib.asynccontextmanager
    async def session(self) -> AsyncIterator[NamespaceSession]:
        """Serve, and connect a user to it."""
        application = web.Application()
        scope = "/namespaces/science"
        application.router.add_get(f"/apis/flux-framework.org/v1alpha2{scope}/miniclusters/mc", self._cluster)
        application.router.add_get(f"/api/v1{scope}/pods", self._pods)
        application.router.add_get(f"/api/v1{scope}/pods/{CONTAINER.pod}/exec", self._exec)
        application.router.add_get(f"/api/v1{scope}/pods/{{name}}/log", self._log)
        async with TestServer(application) as server:
            self.server = str(server.make_url("")).rstrip("/")
            async with UserClient(self) as user:  # type: ignore[arg-type]
                yield NamespaceSession(user, "science", self.notices.append)

    async def _cluster(self, _: web.Request) -> web.Response:
        return web.json_response(self.cluster)

    async def _pods(self, _: web.Request) -> web.Response:
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": self.pods})

    async def _log(self, request: web.Request) -> web.Response:
        return web.Response(text=self.log(request.match_info["name"]))

    async def _exec(self, request: web.Request) -> web.StreamResponse:
        if self.refusal is not None:
            status, message = self.refusal
            return web.json_response({"kind": "Status", "message": message}, status=status)
        socket = web.WebSocketResponse(protocols=["v5.channel.k8s.io"], max_msg_size=0)
        await socket.prepare(request)
        assert self.exec is not None
        with contextlib.suppress(ConnectionError):
            await self.exec(Command(request, socket))
        await socket.close()
        return socket


def run(work: Awaitable[Any]) -> Any:
    """Run it, with a deadline."""

    async def limited() -> Any:
        async with asyncio.timeout(30):
            return await work

    return asyncio.run(limited())
