"""An API server whose pods' ports are ports of this machine: a relay with its followers, and a lead."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from aiohttp import WSMsgType, web
from aiohttp.test_utils import TestServer

from burst.joining.records import LeadRoute
from burst.joining.relay import TunnelRelay
from burst.joining.tunnel import reach_port
from burst.providers.kubernetes.tunnel.records import ReachTask
from tests.burst.providers.kubernetes.fake_api import kubeconfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

NAMESPACE = "science"
PORT = 8050
LABEL = "62dgmfw4gk"
REFUSAL = 'pods "relay" is forbidden: User "ada" cannot create resource "pods/portforward"'


@dataclass
class TwoClusters:
    """What there is; both pods are in one namespace of one server."""

    relay: TunnelRelay = field(default_factory=lambda: TunnelRelay(16))
    ports: dict[tuple[str, int], int] = field(default_factory=dict)
    """By pod and port: where it is on this machine."""
    followers: int = 0
    """The port at which followers come."""
    leads: list[asyncio.StreamWriter] = field(default_factory=list)
    """Connections that have reached the lead."""
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    is_forbidden: bool = False
    pods: tuple[str, ...] = ("relay", "lead")

    def list(self, request: web.Request) -> web.Response:
        """Answer which pods have some labels."""
        name = "lead" if request.query["labelSelector"] == "lead=yes" else "relay"
        items = [{"metadata": {"name": each}, "status": {"phase": "Running"}} for each in self.pods]
        found = [each for each in items if each["metadata"]["name"] == name]
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": found})

    async def forward(self, request: web.Request) -> web.StreamResponse:
        """Connect to a port as `pods/portforward` does."""
        if self.is_forbidden:
            return web.json_response({"kind": "Status", "message": REFUSAL}, status=403)
        port = int(request.query["ports"])
        socket = web.WebSocketResponse(protocols=["v4.channel.k8s.io"])
        await socket.prepare(request)
        self.sockets.append(socket)
        for channel in (0, 1):
            await socket.send_bytes(bytes([channel]) + port.to_bytes(2, "little"))
        try:
            target = self.ports[request.match_info["pod"], port]
            reader, writer = await asyncio.open_connection("127.0.0.1", target)
        except (KeyError, OSError):
            await socket.send_bytes(b"\x01an error occurred forwarding: connection refused")
            await socket.close()
            return socket
        back = asyncio.create_task(_back(reader, socket))
        try:
            async for message in socket:
                if message.type is WSMsgType.BINARY:
                    writer.write(message.data[1:])
        finally:
            writer.close()
        await back
        return socket

    async def on_lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer in capitals."""
        self.leads.append(writer)
        while data := await reader.read(1 << 16):
            writer.write(data.upper())
        writer.close()


async def _back(reader: asyncio.StreamReader, socket: web.WebSocketResponse) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 15):
            await socket.send_bytes(b"\0" + data)
    await socket.close()


@contextlib.asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[TwoClusters, ReachTask]]:
    """Serve them; return what a tunnel between them is."""
    found = TwoClusters()
    handlers: list[Any] = [found.relay.on_follower, found.relay.on_reach, found.on_lead]
    servers = [await asyncio.start_server(each, "127.0.0.1", 0) for each in handlers]
    ports = [each.sockets[0].getsockname()[1] for each in servers]
    found.followers = ports[0]
    found.ports = {("relay", reach_port(PORT)): ports[1], ("lead", PORT): ports[2]}
    application = web.Application()

    async def listed(request: web.Request) -> web.Response:
        return found.list(request)

    application.router.add_get(f"/api/v1/namespaces/{NAMESPACE}/pods", listed)
    application.router.add_get(f"/api/v1/namespaces/{NAMESPACE}/pods/{{pod}}/portforward", found.forward)
    async with TestServer(application) as server:
        path = str(kubeconfig(folder, str(server.make_url("")).rstrip("/")))
        yield found, task(path)
        for each in servers:
            each.close()
        for each in found.leads:
            each.transport.abort()


def task(path: str, until: float = 4_000_000_000.0) -> ReachTask:
    """Return the task of a tunnel by a kubeconfig."""
    route = LeadRoute(path, "", NAMESPACE, "lead=yes", PORT)
    return ReachTask(LABEL, "here", 2, 1.0, until, path, "", NAMESPACE, reach_port(PORT), route)
