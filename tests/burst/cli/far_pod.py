"""An API server that plays the pod of a burst service: commands in it are run here, with its environment."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests import forked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NAMESPACE = "minicluster-system"
STDOUT, STDERR, STATUS = 1, 2, 3


def pod(
    name: str = "minicluster-burst-1", release: str = "minicluster-burst", **metadata: str
) -> dict[str, Any]:
    """Return a pod of a service, which runs."""
    labels = {"app.kubernetes.io/name": "minicluster-burst", "app.kubernetes.io/instance": release}
    state = {"name": "burst-service", "state": {"running": {}}}
    about = {"name": name, "namespace": NAMESPACE, "labels": labels, **metadata}
    return {"metadata": about, "status": {"phase": "Running", "containerStatuses": [state]}}


@dataclass
class FarPod:
    """The server, and what was asked of it."""

    environment: Mapping[str, str]
    kubeconfig: Path
    pods: list[dict[str, Any]] = field(default_factory=lambda: [pod()])
    commands: list[list[str]] = field(default_factory=list)
    selectors: list[str] = field(default_factory=list)
    forbidden: bool = False

    async def list_pods(self, request: web.Request) -> web.Response:
        """Answer a listing of the namespace."""
        self.selectors.append(request.query["labelSelector"])
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": self.pods})

    async def execute(self, request: web.Request) -> web.StreamResponse:
        """Run a command, and end with its exit code."""
        if self.forbidden:
            message = 'pods "minicluster-burst-1" is forbidden: User "u" cannot create resource "pods/exec"'
            return web.json_response({"kind": "Status", "message": message}, status=403)
        socket = web.WebSocketResponse(protocols=["v5.channel.k8s.io"], max_msg_size=0)
        await socket.prepare(request)
        self.commands.append(request.query.getall("command"))
        program, *words = self.commands[-1]
        assert (program, request.query["container"]) == ("minicluster", "burst-service")
        done = await asyncio.to_thread(forked.completed, words, self.environment)
        for channel, data in ((STDOUT, done.stdout.encode()), (STDERR, done.stderr.encode())):
            for start in range(0, len(data), 7):  # characters are cut
                await socket.send_bytes(bytes([channel]) + data[start : start + 7])
        await socket.send_bytes(bytes([STATUS]) + json.dumps(_status(done.returncode)).encode())
        await socket.close()
        return socket


def _status(code: int) -> dict[str, Any]:
    if not code:
        return {"status": "Success"}
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}


@contextlib.contextmanager
def serving(folder: Path, environment: Mapping[str, str]) -> Iterator[FarPod]:
    """Serve in a thread; the kubeconfig is in the folder."""
    found = FarPod(environment, folder / "kubeconfig")
    application = web.Application()
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    application.router.add_get(pods, found.list_pods)
    application.router.add_get(f"{pods}/{{name}}/exec", found.execute)
    ready, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with TestServer(application) as server:
            found.kubeconfig.write_text(yaml.safe_dump(_kubeconfig(str(server.make_url("")))))
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=[serve()])
    thread.start()
    assert ready.wait(20)
    try:
        yield found
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


def _kubeconfig(url: str) -> dict[str, Any]:
    context = {"name": "lab", "context": {"cluster": "lab", "user": "u"}}
    return {
        "current-context": "lab",
        "contexts": [context],
        "clusters": [{"name": "lab", "cluster": {"server": url.rstrip("/")}}],
        "users": [{"name": "u", "user": {}}],
    }
