"""The two API servers that one suite of facts is held against: the real one, and the tests' in memory.

And the objects that the facts are about, short to write.
"""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import pytest

from minicluster.kube_client import client
from minicluster.kube_client.access import Access
from minicluster.kube_client.api import Api, Selection, WatchEvent
from minicluster.kube_client.client import ApiClient
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import CONFIG_MAPS, JOBS, MINICLUSTERS, PODS, Resource
from tests import devcluster
from tests.operator import memory_jobs
from tests.operator.memory_api import MemoryApi

NOBODY = "00000000-0000-4000-8000-00000000ffff"
SERVERS = ("memory", "real")
T = TypeVar("T")
Object = dict[str, Any]
SOMEBODY = "somebody"
SECONDS = 120.0
POLL_INTERVAL = 0.02
"""Seconds."""


class Server(Protocol):
    """An API server, and what a test does to it."""

    @property
    def api(self) -> Api:
        """As the operator has it."""
        ...

    @property
    def other(self) -> Api:
        """Another user's client."""
        ...

    @property
    def namespace(self) -> str:
        """Where the test may make things."""
        ...

    async def until(self, probe: Callable[[], Awaitable[T | None]]) -> T:
        """Return what a probe finds, once the server's own controllers have worked."""
        ...

    async def forgotten(self) -> str:
        """Return a version that the server does not remember."""
        ...

    async def end_namespace(self) -> None:
        """Begin to delete the namespace; it does not end as long as a ConfigMap with a finalizer is in it."""
        ...

    async def bookmark(self, selection: Selection, version: str) -> WatchEvent:
        """Watch until a bookmark comes, and return it."""
        ...

    async def fail_pod(self, job: str, index: int, code: int) -> None:
        """End a pod of a Job with a code, and have the Job's controller see it."""
        ...


Opening = Callable[[], contextlib.AbstractAsyncContextManager[Server]]
Fact = Callable[[Server], Coroutine[Any, Any, None]]


def fact(check: Fact) -> Callable[[Opening], None]:
    """Make a test of a fact about every server."""

    @functools.wraps(check)
    def test(server: Opening) -> None:
        async def work() -> None:
            async with server() as opened:
                await check(opened)

        asyncio.run(work())

    return test


@dataclass
class MemoryServer:
    """The one in memory."""

    api: MemoryApi
    other: MemoryApi
    namespace: str = "science"

    async def until(self, probe: Callable[[], Awaitable[T | None]]) -> T:
        for job in self.api.store.find("Job"):
            memory_jobs.start_job(self.api.store, self.namespace, job["metadata"]["name"])
        self.api.store.collect_garbage()
        found = await probe()
        assert found
        return found

    async def forgotten(self) -> str:
        version = str(self.api.store.history.version - 1)
        self.api.store.history.forget()
        return version

    async def end_namespace(self) -> None:
        self.api.store.terminate_namespace(self.namespace)

    async def bookmark(self, selection: Selection, version: str) -> WatchEvent:
        asyncio.get_running_loop().call_later(0.01, self.api.bookmark)
        return await anext(each async for each in self.api.watch(selection, version))

    async def fail_pod(self, job: str, index: int, code: int) -> None:
        memory_jobs.end_pod(self.api.store, self.namespace, job, index, code)
        memory_jobs.fail_job(self.api.store, self.namespace, job, code)


@dataclass
class RealServer:
    """The real one."""

    api: ApiClient
    other: ApiClient
    namespace: str
    admin: devcluster.Api

    async def until(self, probe: Callable[[], Awaitable[T | None]]) -> T:
        async with asyncio.timeout(SECONDS):
            while not (found := await probe()):
                await asyncio.sleep(POLL_INTERVAL)
        return found

    async def forgotten(self) -> str:
        return "1"

    async def end_namespace(self) -> None:
        self.admin.delete(f"/api/v1/namespaces/{self.namespace}")

    async def bookmark(self, selection: Selection, version: str) -> WatchEvent:
        async def change_another() -> None:
            """Without it there would be no bookmark: as long as nothing changes, nothing is forgotten."""
            await asyncio.sleep(1)
            await self.api.create(settings(self, "another"))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(client, "WATCH_SECONDS", 8)  # one comes two seconds before the end, at the latest
            marks = (each async for each in self.api.watch(selection, version) if each.type == "BOOKMARK")
            found, _ = await asyncio.gather(anext(marks), change_another())
            return found

    async def fail_pod(self, job: str, index: int, code: int) -> None:
        about = f"batch.kubernetes.io/job-name={job},batch.kubernetes.io/job-completion-index={index}"
        (pod,) = (await self.api.list(Selection(PODS, self.namespace, about))).items
        name = pod["spec"]["containers"][0]["name"]
        state = {"terminated": {"exitCode": code, "reason": "Error", "finishedAt": "2026-03-14T15:09:26Z"}}
        ended = {
            "name": name,
            "state": state,
            "ready": False,
            "restartCount": 0,
            "image": "a",
            "imageID": "a",
        }
        status = {"status": {"phase": "Failed", "containerStatuses": [ended]}}
        await self.other.patch(PODS, self.namespace, pod["metadata"]["name"], status, "status")


@contextlib.asynccontextmanager
async def open_memory() -> AsyncIterator[Server]:
    """Make a server in memory."""
    api = MemoryApi()
    yield MemoryServer(api, api.as_manager(SOMEBODY))


@contextlib.asynccontextmanager
async def open_real(plane: devcluster.ControlPlane, namespace: str) -> AsyncIterator[Server]:
    """Log in to the real one."""
    access = Access(kubeconfig=str(plane.kubeconfig))
    async with ApiClient(access) as ours, ApiClient(access, manager=SOMEBODY) as theirs:
        yield RealServer(ours, theirs, namespace, plane.api)
        await _let_go(theirs, namespace)


async def _let_go(api: ApiClient, namespace: str) -> None:
    """Take finalizers away: a namespace with one would never end."""
    for resource in (CONFIG_MAPS, JOBS):
        for item in (await api.list(Selection(resource, namespace))).items:
            if item["metadata"].get("finalizers"):
                with contextlib.suppress(ApiError):
                    nothing = {"metadata": {"finalizers": None}}
                    await api.patch(resource, namespace, item["metadata"]["name"], nothing)


def opening(request: pytest.FixtureRequest) -> Opening:
    """Return how the server is opened that a fixture's parameter names: `memory`, `real`."""
    if request.param == "memory":
        return open_memory
    plane, namespace = (request.getfixturevalue(name) for name in ("plane", "namespace"))
    return functools.partial(open_real, plane, namespace)


def about(server: Server, name: str, **metadata: Any) -> Object:
    return {"name": name, "namespace": server.namespace, **metadata}


def settings(server: Server, name: str = "settings", data: Object | None = None, **metadata: Any) -> Object:
    """Return a ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": about(server, name, **metadata),
        "data": data or {"key": "value"},
    }


def service(server: Server, *ports: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": about(server, "mc"),
        "spec": {
            "clusterIP": "None",
            "selector": {"app": "mc"},
            "ports": [{"name": f"p{port}", "port": port, "protocol": "TCP"} for port in ports],
        },
    }


def minicluster(server: Server, name: str = "mc", **spec: Any) -> Object:
    return {
        "apiVersion": MINICLUSTERS.version,
        "kind": MINICLUSTERS.kind,
        "metadata": about(server, name),
        "spec": {"size": 2, "maxSize": 8, "containers": [{"image": "app"}], **spec},
    }


def job(server: Server, pods: int = 2, image: str = "app", **spec: Any) -> Object:
    """Return an indexed Job that fails with its lead; no node is such that its pods could run."""
    rules = [{"action": "FailJob", "onExitCodes": {"containerName": "mc", "operator": "In", "values": [3]}}]
    pod = {
        "restartPolicy": "Never",
        "nodeSelector": {"is-such": "that-pods-stay-pending"},
        "containers": [{"name": "mc", "image": image}],
    }
    return {
        "apiVersion": JOBS.version,
        "kind": "Job",
        "metadata": about(server, "mc"),
        "spec": {
            "completionMode": "Indexed",
            "completions": pods,
            "parallelism": pods,
            "podFailurePolicy": {"rules": rules},
            "podReplacementPolicy": "Failed",
            "template": {"metadata": {"labels": {"app": "mc"}}, "spec": pod},
            **spec,
        },
    }


def owner(item: Object, kind: str = MINICLUSTERS.kind, version: str = MINICLUSTERS.version) -> Object:
    """Return a reference to an owner that controls."""
    metadata = item["metadata"]
    known = {"apiVersion": version, "kind": kind, "name": metadata["name"], "uid": metadata["uid"]}
    return {**known, "controller": True, "blockOwnerDeletion": True}


async def read(server: Server, resource: Resource = CONFIG_MAPS, name: str = "settings") -> Object:
    return await server.api.read(resource, server.namespace, name)


async def refused(work: Awaitable[Any]) -> tuple[int, str]:
    """Return how the server refused something."""
    with pytest.raises(ApiError) as caught:
        await work
    return caught.value.status, caught.value.reason


async def gone(server: Server, resource: Resource, name: str) -> bool:
    try:
        await read(server, resource, name)
    except ApiError as error:
        return error.status == 404
    return False


async def watched_events(server: Server, selection: Selection, version: str, count: int) -> list[WatchEvent]:
    """Return the first events after a version, but for bookmarks."""
    events: list[WatchEvent] = []
    async with asyncio.timeout(SECONDS):
        stream = server.api.watch(selection, version)
        async for event in stream:
            if event.type != "BOOKMARK":
                events.append(event)
            if len(events) == count:
                await stream.aclose()  # type: ignore[attr-defined]
                return events
    raise AssertionError(f"the watch ended after {events}")


def names(events: list[WatchEvent]) -> list[tuple[str, str]]:
    return [(event.type, event.item["metadata"]["name"]) for event in events]


async def condition(server: Server, type_: str, status: str) -> Object | None:
    """Return a Job's condition, where it has one of that status."""
    conditions = (await read(server, JOBS, "mc")).get("status", {}).get("conditions") or ()
    wanted = (each for each in conditions if (each["type"], each["status"]) == (type_, status))
    return next(wanted, None)
