"""The two API servers that one suite of facts is held against: the real one, and the tests' in memory."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import pytest

from minicluster.kubernetes import client
from minicluster.kubernetes.access import Access
from minicluster.kubernetes.api import Api, Selection, WatchEvent
from minicluster.kubernetes.client import Client
from minicluster.kubernetes.errors import ApiError
from minicluster.kubernetes.resources import CONFIG_MAPS, JOBS, PODS
from tests.kubernetes import harness
from tests.operator import memory_jobs
from tests.operator.memory_api import MemoryApi

T = TypeVar("T")
Object = dict[str, Any]
SOMEBODY = "somebody"
SECONDS = 30.0
PAUSE = 0.02


class Server(Protocol):
    """An API server: as the operator has it, as somebody else has it, and what else a test does to it."""

    api: Api
    other: Api
    namespace: str

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
        version = str(self.api.store.version - 1)
        self.api.store.forget_history()
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

    api: Client
    other: Client
    namespace: str
    admin: harness.Api

    async def until(self, probe: Callable[[], Awaitable[T | None]]) -> T:
        async with asyncio.timeout(SECONDS):
            while not (found := await probe()):
                await asyncio.sleep(PAUSE)
        return found

    async def forgotten(self) -> str:
        return "1"

    async def end_namespace(self) -> None:
        self.admin.delete(f"/api/v1/namespaces/{self.namespace}")

    async def bookmark(self, selection: Selection, version: str) -> WatchEvent:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(client, "WATCH_SECONDS", 3)  # one comes shortly before the end, at the latest
            marks = (each async for each in self.api.watch(selection, version) if each.type == "BOOKMARK")
            return await anext(marks)

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
async def open_real(plane: harness.ControlPlane, namespace: str) -> AsyncIterator[Server]:
    """Log in to the real one."""
    access = Access(kubeconfig=str(plane.kubeconfig))
    async with Client(access) as ours, Client(access, manager=SOMEBODY) as theirs:
        yield RealServer(ours, theirs, namespace, plane.api)
        await _let_go(theirs, namespace)


async def _let_go(api: Client, namespace: str) -> None:
    """Take finalizers away: a namespace with one would never end."""
    for resource in (CONFIG_MAPS, JOBS):
        for item in (await api.list(Selection(resource, namespace))).items:
            if item["metadata"].get("finalizers"):
                with contextlib.suppress(ApiError):
                    nothing = {"metadata": {"finalizers": None}}
                    await api.patch(resource, namespace, item["metadata"]["name"], nothing)
