"""A burst on another cluster: its brokers join the lead through a NodePort, run a job, and go."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from base64 import b64decode
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from burst.errors import RetryLater
from burst.joining import exposure
from burst.joining.exposure import ExposureSettings
from burst.joining.records import JoinSettings
from burst.lifecycle.records import ResourcePhase
from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.kubernetes.settings import KubernetesSettings
from burst.providers.provider import WantedBurst
from minicluster.document import MiniCluster
from minicluster.instance.records import JobRequest
from minicluster.kube_client.access import Access
from minicluster.kube_client.client import ApiClient
from minicluster.plan.objects import names
from tests.devcluster import network, until
from tests.kubernetes import inventory
from tests.kubernetes.kept_instance import GONE, KeptInstance
from tests.kubernetes.live import SECONDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from minicluster.instance.port import Instance
    from tests.devcluster import ControlPlane
    from tests.kubernetes.live import Live

T = TypeVar("T")

SLOT = {"name": "burst-0", "size": 2}
HOSTS = {"burst-0-0", "burst-0-1"}
LABEL = "62dgmfw4gk"


def visit(plane: ControlPlane, work: Callable[[ApiClient], Awaitable[T]]) -> T:
    """Return what comes of requests to a cluster."""

    async def visited() -> T:
        async with ApiClient(Access(str(plane.kubeconfig), "test")) as client:
            return await work(client)

    return asyncio.run(visited())


def join(live: Live, nodes: ControlPlane, remote: ControlPlane) -> JoinSettings:
    """Return how the lead is joined, which is exposed to the other cluster alone."""
    found = MiniCluster.model_validate(live.item)
    assert remote.rack is not None
    settings = ExposureSettings(source_ranges=(remote.rack.network.pods,))
    address = visit(nodes, lambda client: exposure.expose(client, found, settings))
    if address is None:
        raise RetryLater("the lead has no address yet")
    secret = nodes.api.get(f"/api/v1/namespaces/{live.namespace}/secrets/{names.curve_secret(found)}")
    certificate = b64decode(secret["data"]["curve.cert"]).decode()
    return JoinSettings(found, "burst-0", address.address, address.port, certificate)


def provider(
    live: Live, nodes: ControlPlane, remote: ControlPlane, namespace: str, **more: Any
) -> KubernetesProvider:
    """Return the provider of that namespace, with more settings."""
    settings = KubernetesSettings.model_validate(
        {
            "kubeconfig": str(remote.kubeconfig),
            "namespace": namespace,
            "offers": [{"machine": "small", "cores": 1}],
            **more,
        }
    )
    return KubernetesProvider("far", settings, lambda _wanted: join(live, nodes, remote))


def run(instance: KeptInstance) -> str:
    """Run a job on the burst's nodes, and return what it has printed."""

    def submit(connected: Instance) -> str:
        request = JobRequest(("hostname",), tasks=2, nodes=2, environment={"PATH": "/usr/bin:/bin"}, cwd="/")
        if "burst-0" in [each.name for each in connected.queues.all()]:
            connected.queues.start("burst-0")
            request = replace(request, queue="burst-0")
        else:
            request = replace(request, system={"constraints": {"hostlist": ["burst-0-[0-1]"]}})
        jobid = connected.jobs.submit(request)
        job = connected.jobs.wait(jobid, SECONDS)
        assert job.returncode == 0, job
        return b"".join(chunk.data for chunk in connected.jobs.output(jobid)).decode()

    return instance.ask(submit)


@pytest.mark.usefixtures("reached")
def test_brokers_of_a_burst_join_from_another_cluster_and_leave_nothing(
    live: Live, nodes: ControlPlane, remote: ControlPlane, remote_space: str
) -> None:
    flux = {"container": {"disable": True}, "bursting": {"clusters": [SLOT]}}
    live.create(size=1, flux=flux).joined(1)
    before = inventory.of(remote.api)
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    burst = provider(live, nodes, remote, remote_space)
    wanted = WantedBurst(LABEL, "here", 2, "small", False, time.time() + 900, "uid", "burst-0")
    [key] = burst.resources(wanted)
    assert list(burst.problems()) == []
    burst.create(key, "token", wanted)
    until(lambda: burst.get(key, wanted).phase is ResourcePhase.READY, "the burst's pods to run", SECONDS)

    def up() -> set[str]:
        try:
            return set(instance.ask(lambda connected: connected.nodes.resources()).up.hosts)
        except GONE:
            return set()

    until(lambda: up() >= HOSTS, "the burst's nodes to be up", SECONDS)
    printed = set(run(instance).split())
    assert printed == {f"mcb-{LABEL}-0", f"mcb-{LABEL}-1"}

    burst.delete(key, wanted)
    until(lambda: burst.get(key, wanted).phase is ResourcePhase.ABSENT, "the burst to be gone", SECONDS)
    assert list(burst.owned("here")) == []
    assert {each for each in inventory.of(remote.api) - before if "mcb-" in each} == set()
    until(lambda: not up() & HOSTS, "the burst's nodes to be down", SECONDS)

    found = MiniCluster.model_validate(live.item)
    visit(nodes, lambda client: exposure.unexpose(client, found))
    exposed = f"/api/v1/namespaces/{live.namespace}/services/{exposure.exposure_name(found)}"
    assert not nodes.api.exists(exposed)


def test_brokers_of_a_burst_wait_while_the_networks_are_apart(
    live: Live, nodes: ControlPlane, remote: ControlPlane, remote_space: str
) -> None:
    """Their pods run, and none of them joins: that is no error of the provider's."""
    flux = {"container": {"disable": True}, "bursting": {"clusters": [SLOT]}}
    live.create(size=1, flux=flux).joined(1)
    burst = provider(live, nodes, remote, remote_space)
    wanted = WantedBurst(LABEL, "here", 1, "small", False, time.time() + 900, "uid", "burst-0")
    [key] = burst.resources(wanted)
    burst.create(key, "token", wanted)
    until(lambda: burst.get(key, wanted).phase is ResourcePhase.READY, "the burst's pod to run", SECONDS)
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    assert not set(instance.ask(lambda connected: connected.nodes.resources()).up.hosts) & HOSTS
    burst.delete(key, wanted)
    until(lambda: burst.get(key, wanted).phase is ResourcePhase.ABSENT, "the burst to be gone", SECONDS)


def test_two_clusters_reach_each_other_only_while_they_are_let(
    nodes: ControlPlane, remote: ControlPlane
) -> None:
    assert nodes.rack is not None
    ends = [(nodes.nodes[0], remote.nodes[0]), (remote.nodes[0], nodes.nodes[0])]

    def dials() -> list[str]:
        return [dial(source.pid, target.address) for source, target in ends]

    assert dials() == ["lost", "lost"]
    nodes.reach(remote)
    try:
        assert dials() == ["refused", "refused"]
    finally:
        nodes.part(remote)
    assert dials() == ["lost", "lost"]


def dial(pid: int, address: str) -> str:
    """Try a port at which nobody listens, from the network of a process; return how that ends."""
    program = (
        "import socket, sys\n"
        "try: socket.create_connection((sys.argv[1], 1), 1)\n"
        "except ConnectionRefusedError: print('refused')\n"
        "except TimeoutError: print('lost')\n"
    )
    argv = [*network.inside(pid), sys.executable, "-I", "-S", "-c", program, address]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()
