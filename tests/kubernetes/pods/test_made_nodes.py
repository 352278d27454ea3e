"""A burst on nodes that its cloud makes for it: they join, brokers run there, and nothing is left."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from burst.lifecycle.records import ResourcePhase
from burst.providers.eks.provider import opened
from burst.providers.gke.provider import opened as opened_gke
from burst.providers.gke.settings import GkeSettings
from burst.providers.node_pools.settings import PoolMachine
from burst.providers.provider import WantedBurst
from burst.rehearsal.cloud import RehearsedCloud
from burst.rehearsal.eks_account import EksAccount, cloud
from burst.rehearsal.google_cloud import RehearsedGoogle
from minicluster.instance.records import JobRequest
from tests.devcluster import until
from tests.kubernetes import inventory
from tests.kubernetes.booted import BootedNodes, NodeMarks
from tests.kubernetes.kept_instance import GONE, KeptInstance
from tests.kubernetes.live import SECONDS, Live
from tests.kubernetes.pods.test_bursts import join

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from burst.providers.provider import BurstProvider
    from burst.rehearsal.cloud import CloudGroup
    from minicluster.instance.port import Instance
    from tests.devcluster import ControlPlane

FLUX = {"container": {"disable": True}, "bursting": {"clusters": [{"name": "burst-0", "size": 1}]}}
LABEL = "62dgmfw4gk"
GKE_NO_SCHEDULE = 1
"""As GKE's client writes it."""
MACHINE = PoolMachine.model_validate(
    {"machine": "c7i.large", "cores": 1, "price": "0.36", "priceDate": "2026-11-01", "requests": {"cpu": "1"}}
)


class SoldNodes(NamedTuple):
    """A provider whose cloud is rehearsed, and makes nodes of a test cluster."""

    provider: BurstProvider
    cloud: RehearsedCloud
    booted: BootedNodes
    machine: str


@contextmanager
def eks(plane: ControlPlane, namespace: str, folder: Path, joined: Callable[..., Any]) -> Iterator[SoldNodes]:
    """Sell node groups of EKS."""

    def marks(group: CloudGroup) -> NodeMarks:
        wanted: Any = group.detail
        [taint] = wanted["taints"]
        assert taint["effect"] == "NO_SCHEDULE"
        labels = tuple(f"{key}={value}" for key, value in wanted["labels"].items())
        return NodeMarks(labels, (f"{taint['key']}={taint['value']}:NoSchedule",))

    found = cloud(time.time, [MACHINE])
    found.coming, found.going = 1.0, 1.0
    with EksAccount(found, folder) as account, BootedNodes(plane, found, marks) as booted:
        settings = account.settings([MACHINE], kubeconfig=str(plane.kubeconfig), namespace=namespace)
        context = SimpleNamespace(join=joined, state=folder, tunnel_pods=None)
        yield SoldNodes(opened("eks", settings, context, account.server.url), found, booted, MACHINE.machine)


@contextmanager
def gke(plane: ControlPlane, namespace: str, folder: Path, joined: Callable[..., Any]) -> Iterator[SoldNodes]:
    """Sell node pools of GKE."""

    def marks(group: CloudGroup) -> NodeMarks:
        wanted: Any = group.detail
        config = wanted["nodePool"]["config"]
        [taint] = config["taints"]
        assert taint["effect"] == GKE_NO_SCHEDULE
        labels = tuple(f"{key}={value}" for key, value in config["labels"].items())
        return NodeMarks(labels, (f"{taint['key']}={taint['value']}:NoSchedule",))

    row = {**MACHINE.model_dump(by_alias=True, exclude_unset=True), "machine": "c2-standard-8"}
    found = RehearsedCloud(time.time, {row["machine"]: 360_000}, coming=1.0, going=1.0)
    with RehearsedGoogle(found, folder) as google, BootedNodes(plane, found, marks) as booted:
        settings = GkeSettings.model_validate(
            {
                **google.settings,
                "location": "us-central1-a",
                "cluster": "far",
                "kubeconfig": str(plane.kubeconfig),
                "namespace": namespace,
                "machines": [row],
            }
        )
        context = SimpleNamespace(join=joined, state=folder, tunnel_pods=None)
        yield SoldNodes(opened_gke("gke", settings, context), found, booted, row["machine"])


CLOUDS: dict[str, Callable[..., AbstractContextManager[SoldNodes]]] = {"eks": eks, "gke": gke}


def run(instance: KeptInstance) -> str:
    """Run a job on the burst's node, and return what it has printed."""

    def submit(connected: Instance) -> str:
        request = JobRequest(("hostname",), tasks=1, nodes=1, environment={"PATH": "/usr/bin:/bin"}, cwd="/")
        connected.queues.start("burst-0")
        jobid = connected.jobs.submit(replace(request, queue="burst-0"))
        job = connected.jobs.wait(jobid, SECONDS)
        assert job.returncode == 0, job
        return b"".join(chunk.data for chunk in connected.jobs.output(jobid)).decode()

    return instance.ask(submit)


@pytest.mark.usefixtures("nodes_operator")
@pytest.mark.parametrize("name", CLOUDS)
def test_a_burst_runs_on_a_node_that_was_made_for_it_and_leaves_nothing(
    nodes: ControlPlane, space: str, tmp_path: Path, name: str
) -> None:
    live = Live(nodes.api, space)
    live.create(size=1, flux=FLUX).joined(1)
    before = inventory.of(nodes.api)
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    with CLOUDS[name](nodes, space, tmp_path, lambda _wanted: join(live, nodes, nodes)) as sold:
        provider, booted = sold.provider, sold.booted
        wanted = WantedBurst(LABEL, "here", 1, sold.machine, False, time.time() + 900, "uid", "burst-0")
        assert list(provider.problems()) == []
        keys = pool, pods = provider.resources(wanted)
        for key in keys:
            provider.create(key, "token", wanted)
            until(lambda key=key: provider.get(key, wanted).phase is ResourcePhase.READY, key.name, SECONDS)
        [node] = booted.there()
        assert running_on(nodes, node) == {(space, f"mcb-{LABEL}-0")}

        def up() -> set[str]:
            try:
                return set(instance.ask(lambda connected: connected.nodes.resources()).up.hosts)
            except GONE:
                return set()

        until(lambda: "burst-0-0" in up(), "the burst's node to be up", SECONDS)
        assert run(instance).split() == [f"mcb-{LABEL}-0"]

        for key in (pods, pool):
            provider.delete(key, wanted)
            until(lambda key=key: provider.get(key, wanted).phase is ResourcePhase.ABSENT, key.name, SECONDS)
        assert list(provider.owned("here")) == []
        until(lambda: not booted.there(), "the node to be gone", SECONDS)
        assert sold.cloud.there() == []
    assert {each for each in inventory.of(nodes.api) - before if "mcb-" in each} == set()


def running_on(plane: ControlPlane, node: str) -> set[tuple[str, str]]:
    """Return the pods on a node: namespace, and name without what makes it unique."""
    found = plane.api.items("/api/v1/pods", fieldSelector=f"spec.nodeName={node}")
    return {(each["metadata"]["namespace"], each["metadata"]["name"].rpartition("-")[0]) for each in found}
