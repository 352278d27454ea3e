"""The burst service's chart with tunnels: no route leads from one cluster to the other, and jobs run there.

It is collected with `--prove-bursts` alone: see conftest.py.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from broker_config.formats import jobid
from minicluster.instance.records import JobFilter
from tests.devcluster import ControlPlane, Options, cluster, until
from tests.devcluster.release import NAMESPACE, Release
from tests.kubernetes import burst_release, burst_services, inventory, script_pods
from tests.kubernetes.burst_release import KUBECONFIG, BurstRelease
from tests.kubernetes.burst_services import BURSTING, FLUX, SMALL
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.kept_instance import KeptInstance
from tests.kubernetes.live import SECONDS, Live
from tests.kubernetes.pods.shipped.test_burst_release import named, shown

pytestmark = pytest.mark.timeout(900)
TUNNEL = "app.kubernetes.io/name=minicluster-burst-tunnel"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture
def apart(release: Release, nodes: ControlPlane) -> Iterator[ControlPlane]:
    """Another cluster, with two nodes; nothing passes between the networks of the two."""
    with cluster(Options(nodes=2)) as plane:
        yield plane


@pytest.fixture
def apart_space(apart: ControlPlane) -> Iterator[str]:
    """A namespace there."""
    with script_pods.space(apart.api) as name:
        yield name


@pytest.fixture
def service(
    nodes: ControlPlane, apart: ControlPlane, apart_space: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BurstRelease]:
    """The chart, with a provider in the other cluster, and with tunnels."""
    settings = {
        "kubeconfig": KUBECONFIG,
        "namespace": apart_space,
        "offers": [{"machine": "small", "cores": 2, "requests": {"cpu": "500m"}}],
    }
    provider = {"name": "research", "kind": "kubernetes", "settings": settings}
    with burst_release.prepared(nodes, apart, tmp_path_factory.mktemp("burst")) as found:
        found.install({"providers": [provider]}, apart, tunnels={"enabled": True})
        yield found


def submitted(user: CommandLine, script: str) -> int:
    """Submit a job of two nodes; return its id."""
    done = user("submit", "mc", "--burstable", "-N", 2, "-n", 2, "-t", "2m", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    return jobid.parse(done.stdout.strip())


def tunnels(nodes: ControlPlane) -> list[dict[str, Any]]:
    """Return the pods of tunnels."""
    return nodes.api.items(PODS, labelSelector=TUNNEL)


def picture(service: BurstRelease, live: Live) -> str:
    """Describe what there is for the message of a test that fails."""
    states = [json.dumps(each["status"]) for each in tunnels(service.nodes)]
    names = [each["metadata"]["name"] for each in tunnels(service.nodes)]
    logs = [service.nodes.api.send("GET", f"{PODS}/{each}/log")[1].decode() for each in names]
    return "\n".join([str(live.status), *states, *logs, service.picture()])


def test_jobs_run_where_no_route_leads_and_their_tunnel_outlives_the_services_pod(
    service: BurstRelease, minicluster: CommandLine, live: Live, nodes: ControlPlane, apart: ControlPlane
) -> None:
    """The service's pod is deleted while the first job runs: the next one finds the tunnel, and ends it."""
    before = inventory.of(apart.api)
    live.create(container=SMALL, size=1, flux=FLUX, bursting={**BURSTING, "expose": "tunnel"}).joined(1)
    begin = time.monotonic()
    ids = [submitted(minicluster, "hostname; sleep 15"), submitted(minicluster, "hostname; sleep 1")]
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    try:
        until(lambda: instance.ask(lambda it: it.jobs.get(ids[0])).t_run, "the first job to run", SECONDS)
        began = time.monotonic() - begin
        [tunnel] = tunnels(nodes)
        killed, when = service.kill(), time.time()
        until(service.helm.ready, "the next pod of the service", SECONDS)
        jobs = [burst_services.job(instance, each) for each in ids]
        [kept] = tunnels(nodes)
        ran = time.monotonic() - begin
        until(lambda: not shown(live) and not named(apart, "mcb-"), "the burst to be deleted", SECONDS)
        until(lambda: not named(nodes, "mcb-"), "the tunnel to be deleted", SECONDS)
        until(lambda: not named(nodes, "-bursts-"), "its pods to be admitted no longer", SECONDS)
    except TimeoutError as error:
        raise AssertionError(f"{error}: {picture(service, live)}") from error
    gone = time.monotonic() - begin

    assert [each.returncode for each in jobs] == [0, 0]
    assert jobs[0].t_run < when < jobs[0].t_inactive
    for each in jobs:
        names = burst_services.hosts(instance, each.id)
        assert (len(set(names)), {name[:4] for name in names}) == (2, {"mcb-"})
    every = instance.ask(lambda it: it.jobs.find(JobFilter(), limit=0))
    assert {each.id for each in every if "probe" not in each.name} == set(ids)
    assert (kept["metadata"]["uid"], restarts(kept)) == (tunnel["metadata"]["uid"], 0)
    assert "/serviceaccount" not in json.dumps(tunnel["spec"])
    assert tunnels(nodes) == []
    assert inventory.of(apart.api) - before == set()
    assert killed not in [each["metadata"]["name"] for each in service.pods()]
    for word in ("Traceback", "orbidden", "defect"):
        assert word not in service.log()
    print(
        f"{live.image}: the first job ran after {began:.1f} s, both were done after {ran:.1f} s,"
        f" all gone after {gone:.1f} s"
    )


def restarts(pod: dict[str, Any]) -> int:
    """Return how often its containers were begun anew."""
    return sum(each["restartCount"] for each in pod["status"]["containerStatuses"])
