"""The burst service's chart beside the operator's: jobs of a MiniCluster run in pods of another cluster."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from broker_config.formats import jobid
from minicluster.instance.records import JobFilter
from tests import inside
from tests.devcluster import ControlPlane, until
from tests.devcluster.release import NAMESPACE, Release
from tests.kubernetes import burst_release, burst_services, inventory, script_pods
from tests.kubernetes.burst_release import KUBECONFIG, BurstRelease
from tests.kubernetes.burst_services import BURSTING, FLUX, SMALL
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.kept_instance import KeptInstance
from tests.kubernetes.live import SECONDS, Live

pytestmark = pytest.mark.timeout(900)
JOBS = ((1, 2), (1, 2), (2, 2), (2, 4))
"""Nodes and tasks, a core each: the only node here has one core, so none of them fits here."""


@pytest.fixture
def far(release: Release, nodes: ControlPlane, remote: ControlPlane) -> ControlPlane:
    """Another cluster, with two nodes; the networks of the two route to each other."""
    nodes.reach(remote)
    return remote


@pytest.fixture
def far_space(far: ControlPlane) -> Iterator[str]:
    """A namespace there."""
    with script_pods.space(far.api) as name:
        yield name


@pytest.fixture
def service(
    release: Release,
    nodes: ControlPlane,
    far: ControlPlane,
    far_space: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[BurstRelease]:
    """The chart, with a provider in the other cluster."""
    settings = {
        "kubeconfig": KUBECONFIG,
        "namespace": far_space,
        "offers": [{"machine": "small", "cores": 2, "requests": {"cpu": "500m"}}],
    }
    provider = {"name": "research", "kind": "kubernetes", "settings": settings}
    with burst_release.prepared(nodes, far, tmp_path_factory.mktemp("burst")) as found:
        found.install({"providers": [provider]}, far)
        yield found


def submitted(user: CommandLine, *words: object) -> int:
    """Submit a job; return its id."""
    done = user("submit", "mc", "--burstable", "-t", "2m", *words, "--", "sh", "-c", "hostname; sleep 2")
    assert done.returncode == 0, done.stderr
    return jobid.parse(done.stdout.strip())


def asked(service: BurstRelease, user: CommandLine, *words: str) -> Any:
    """Return what a command about this service's bursts prints, which runs in its pod."""
    where = ["--on", "service", "--kubeconfig", str(service.nodes.kubeconfig), "--context", "test"]
    options = [*where, "--namespace", NAMESPACE, "--output", "json"]
    done = inside.completed(["burst", *words, *options], user.environment())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def shown(live: Live) -> list[dict[str, Any]]:
    """Return the bursts in the MiniCluster's status."""
    found: list[dict[str, Any]] = live.status.get("bursts") or []
    return found


def named(plane: ControlPlane, part: str) -> set[str]:
    """Return what there is in a cluster, of all kinds, with this in its name."""
    return {each for each in inventory.of(plane.api) if part in each}


def test_jobs_run_in_another_cluster_once_each_though_the_service_is_killed_amid_it(
    service: BurstRelease, minicluster: CommandLine, live: Live, nodes: ControlPlane, far: ControlPlane
) -> None:
    before = inventory.of(far.api)
    live.create(container=SMALL, size=1, flux=FLUX, bursting=BURSTING).joined(1)
    begin = time.monotonic()
    ids = [
        submitted(minicluster, "--burstable", "-N", count, "-n", tasks, "-t", "2m") for count, tasks in JOBS
    ]
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    try:
        until(lambda: shown(live) and named(far, "mcb-"), "the burst to be made", SECONDS)
        killed = service.kill()
        jobs = [burst_services.job(instance, each) for each in ids]
        ran = time.monotonic() - begin
        until(lambda: not shown(live) and not named(far, "mcb-"), "the burst to be deleted", SECONDS)
        until(lambda: not named(nodes, "-bursts-"), "the exposure to be taken back", SECONDS)
    except TimeoutError as error:
        raise AssertionError(f"{error}: {service.picture()}") from error
    gone = time.monotonic() - begin

    assert [each.returncode for each in jobs] == [0] * len(JOBS)
    hosts = set()
    for job, (count, tasks) in zip(jobs, JOBS, strict=True):
        names = burst_services.hosts(instance, job.id)
        assert (len(names), len(set(names))) == (tasks, count)
        assert job.nodelist.startswith("burst-0-")
        hosts |= set(names)
    assert {each.rpartition("-")[0][:4] for each in hosts} == {"mcb-"}
    every = instance.ask(lambda connected: connected.jobs.find(JobFilter(), limit=0))
    assert {each.id for each in every if "probe" not in each.name} == set(ids)
    assert inventory.of(far.api) - before == set()
    rows = asked(service, minicluster, "list", "--all")
    assert {(each["provider"], each["outcome"], each["is_final"]) for each in rows} == {
        ("research", "succeeded", True)
    }
    costs = asked(service, minicluster, "cost", "--by", "all")
    assert [(each["scope"], each["reserved"]) for each in costs] == [("all", "0.00")]
    [pod] = service.pods()
    assert pod["metadata"]["name"] != killed
    for word in ("Traceback", "orbidden", "defect"):
        assert word not in service.log()
    lease = nodes.api.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{burst_release.NAME}")
    assert lease["spec"]["holderIdentity"].startswith(pod["metadata"]["name"])
    print(f"four jobs done after {ran:.1f} s, all gone after {gone:.1f} s; service killed: {killed}")
