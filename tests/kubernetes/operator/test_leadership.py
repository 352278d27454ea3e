"""The election on a real API server: a Lease, two contenders, and what happens to them."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.kube_client.access import Access
from minicluster.kube_client.client import ApiClient
from minicluster.kube_client.errors import LeadershipLostError
from minicluster.kube_client.leadership import Leadership
from minicluster.operator.settings import LEASE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from tests.devcluster import Api, ControlPlane
    from tests.devcluster.existing import ExistingCluster

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


class Field:
    """A namespace in which contenders meet; each has a connection of its own."""

    def __init__(self, cluster: ControlPlane | ExistingCluster, namespace: str) -> None:
        self.access = Access(kubeconfig=str(cluster.kubeconfig))
        self.api: Api = cluster.api
        self.namespace = namespace
        self.path = f"{LEASES.format(namespace)}/{LEASE}"

    @contextlib.asynccontextmanager
    async def contender(self, name: str) -> AsyncIterator[Leadership]:
        """Return a contender."""
        async with ApiClient(self.access) as client:
            yield Leadership(client, self.namespace, name, name=LEASE)

    @contextlib.asynccontextmanager
    async def pair(self) -> AsyncIterator[tuple[Leadership, Leadership]]:
        """Return a leader, and a standby that is not yet looking."""
        async with self.contender("a") as leader, self.contender("b") as standby:
            await leader.acquire()
            yield leader, standby

    @property
    def spec(self) -> dict[str, Any]:
        """Return what the Lease says."""
        return dict(self.api.get(self.path)["spec"])


@pytest.fixture
def field(kube: ControlPlane | ExistingCluster, namespace: str) -> Field:
    """A namespace for an election."""
    return Field(kube, namespace)


@contextlib.asynccontextmanager
async def doing(what: Coroutine[Any, Any, Any]) -> AsyncIterator[asyncio.Task[Any]]:
    """Have something go on meanwhile; cancelled at the end, as by kill -9."""
    task = asyncio.ensure_future(what)
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(probe: Callable[[], bool], seconds: float = 30) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(seconds):
        while not probe():
            await asyncio.sleep(0.05)


def test_lease_of_a_leader(field: Field) -> None:
    """The server takes the Lease as it is written, and keeps its times to the microsecond."""

    async def main() -> None:
        async with field.contender("a") as leader:
            await leader.acquire()

    asyncio.run(main())
    spec = field.spec
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == ("a", 12, 0)
    assert MICRO_TIME.fullmatch(spec["renewTime"])
    assert spec["acquireTime"] == spec["renewTime"]


def test_renewal(field: Field) -> None:
    """A leader's renewals arrive, and nothing else of the Lease changes."""

    async def main() -> tuple[dict[str, Any], dict[str, Any]]:
        async with field.contender("a") as leader:
            await leader.acquire()
            before = field.spec
            async with doing(leader.keep()):
                await until(lambda: field.spec != before)
            return before, field.spec

    before, after = asyncio.run(main())
    assert {key for key in after if after[key] != before[key]} == {"renewTime"}


def test_clean_stop(field: Field) -> None:
    """A standby leads within 3 s of a clean stop."""

    async def main() -> None:
        async with field.pair() as (leader, standby), doing(standby.acquire()) as waiting:
            async with doing(leader.keep()):
                await until(lambda: standby.holder == "a")
                assert not waiting.done()
            await leader.release()
            await asyncio.wait_for(waiting, 3)
            with pytest.raises(LeadershipLostError):
                leader.may_write()

    asyncio.run(main())
    assert (field.spec["holderIdentity"], field.spec["leaseTransitions"]) == ("b", 1)


def test_crash(field: Field) -> None:
    """A standby leads within 20 s of a crash, and not before the leader knows that its time is over."""

    async def main() -> float:
        async with field.pair() as (leader, standby), doing(standby.acquire()) as waiting:
            async with doing(leader.keep()):
                await until(lambda: standby.holder == "a")
            crash = time.monotonic()
            await until(lambda: waiting.done() or not leader.leads)
            assert not waiting.done()
            await asyncio.wait_for(waiting, 20 - (time.monotonic() - crash))
            return time.monotonic() - crash

    assert 8 < asyncio.run(main()) < 20


def test_lease_edited_by_a_user(field: Field) -> None:
    """A leader that a person replaced in the Lease stops at its next renewal, and names the new holder."""

    async def main() -> None:
        async with field.contender("a") as leader:
            await leader.acquire()
            field.api.merge(field.path, {"spec": {"holderIdentity": "mallory"}})
            with pytest.raises(LeadershipLostError, match="mallory holds it"):
                await asyncio.wait_for(leader.keep(), 5)

    asyncio.run(main())


@pytest.mark.parametrize(
    "change",
    [{"metadata": {"labels": {"team": "hpc"}}}, {"spec": {"holderIdentity": None}}, None],
    ids=["label", "nobody", "deleted"],
)
def test_lease_that_nobody_took(field: Field, change: dict[str, Any] | None) -> None:
    """A leader holds its Lease again after whatever a person did to it, if nobody else took it."""

    async def main() -> None:
        async with field.contender("a") as leader:
            await leader.acquire()
            before = field.spec["renewTime"]
            if change is None:
                field.api.delete(field.path)
            else:
                field.api.merge(field.path, change)
            async with doing(leader.keep()) as keeping:
                await until(lambda: field.api.exists(field.path) and _renewed(field.spec, before))
                assert not keeping.done()

    asyncio.run(main())
    labels = field.api.get(field.path)["metadata"].get("labels", {})
    assert labels == ((change or {}).get("metadata") or {}).get("labels", {})


def _renewed(spec: dict[str, Any], before: str) -> bool:
    return spec.get("holderIdentity") == "a" and spec["renewTime"] > before


def test_restart_of_the_api_server(plane: ControlPlane, namespace: str) -> None:
    """A leader leads on when the API server was away for less than its deadline; the standby does not."""
    field = Field(plane, namespace)

    async def main() -> tuple[bool, bool, bool]:
        async with (
            field.pair() as (leader, standby),
            doing(leader.keep()) as keeping,
            doing(standby.acquire()) as waiting,
        ):
            await until(lambda: standby.holder == "a")
            await asyncio.to_thread(plane.apiserver.stop)
            await until(lambda: bool(leader.trouble))
            await asyncio.to_thread(plane.apiserver.start)
            before = field.spec["renewTime"]
            await until(lambda: field.spec["renewTime"] != before or keeping.done())
            return leader.leads, keeping.done(), waiting.done()

    assert asyncio.run(main()) == (True, False, False)


def test_no_rights(plane: ControlPlane, namespace: str, caplog: pytest.LogCaptureFixture) -> None:
    """An operator that may not read Leases says so, naming verb and Lease, and goes on trying."""
    nobody = Access(kubeconfig=str(plane.user("nobody", []).kubeconfig))

    async def main() -> bool:
        async with ApiClient(nobody) as client:
            leader = Leadership(client, namespace, "a", name=LEASE)
            async with doing(leader.acquire()) as waiting:
                await until(lambda: bool(leader.trouble))
                return waiting.done()

    assert not asyncio.run(main())
    assert re.search(
        rf"cannot get the Lease {namespace}/{LEASE}: 403 Forbidden: .* must allow get, create, update on l",
        caplog.text,
    )
