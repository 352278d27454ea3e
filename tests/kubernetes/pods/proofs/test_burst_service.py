"""`minicluster burst serve --on kubernetes`, with a user's rights: jobs run in pods of another cluster."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from minicluster.instance.records import JobFilter
from tests.devcluster import until
from tests.kubernetes import burst_services, inventory
from tests.kubernetes.burst_services import BURSTING, FLUX, SMALL, exposed, hosts, job, labelled
from tests.kubernetes.command_line import member
from tests.kubernetes.kept_instance import KeptInstance
from tests.kubernetes.live import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.devcluster import ControlPlane
    from tests.kubernetes.burst_services import Served
    from tests.kubernetes.live import Live

JOBS = ((1, 2), (1, 2), (2, 2), (2, 4))
"""Nodes and tasks, a core each: the only node here has one core, so none of them fits here."""


@pytest.fixture
def served(
    live: Live,
    nodes: ControlPlane,
    reached: None,
    remote: ControlPlane,
    remote_space: str,
    tmp_path: Path,
) -> Iterator[Served]:
    """A MiniCluster that bursts, and settings with a provider in the other cluster."""
    live.create(container=SMALL, size=1, flux=FLUX, bursting=BURSTING).joined(1)
    yield from burst_services.of(member(nodes, live.namespace, "edit"), remote, remote_space, tmp_path)


def test_jobs_run_in_another_cluster_and_leave_nothing_though_the_service_is_killed(
    served: Served, live: Live, nodes: ControlPlane, remote: ControlPlane
) -> None:
    """Undisturbed they do as docs/burst-on-kubernetes.md shows, which tests/kubernetes/pages types."""
    before = inventory.of(remote.api)
    assert served.burst("check", "research").strip() == "research: all is well"
    ids = [served.submit("--burstable", "-N", count, "-n", tasks, "-t", "2m") for count, tasks in JOBS]
    [planned] = json.loads(served.burst("plan", "--output", "json"))
    assert [sorted(each["jobs"]) for each in planned["bursts"]] == [sorted(ids)]
    begin = time.monotonic()
    served.start()
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    until(lambda: exposed(nodes), "the lead to be exposed", SECONDS)
    here = job(instance, served.submit("-n", 1))
    assert (here.ranks, hosts(instance, here.id)) == ("0", ["mc-0"])
    until(lambda: served.bursts()[0]["state"] in {"joining", "active"}, "the burst to be there", SECONDS)
    served.end(signal.SIGKILL)
    assert labelled(remote)
    served.start()

    ended = [job(instance, each) for each in ids]
    ran = time.monotonic() - begin
    assert [each.returncode for each in ended] == [0] * len(JOBS)
    assert [each.nnodes for each in ended] == [count for count, _ in JOBS]
    assert here.t_run < min(each.t_run for each in ended)
    [burst] = served.bursts()
    pods = {f"mcb-{burst['burst']}-{index}" for index in range(burst["nodes"])}
    for found, (count, tasks) in zip(ended, JOBS, strict=True):
        printed = hosts(instance, found.id)
        assert len(printed) == tasks
        assert len(set(printed)) == count
        assert set(printed) <= pods
        assert found.nodelist.startswith("burst-0-")
    assert sorted(each["id"] for each in burst["jobs"]) == sorted(ids)
    every = instance.ask(lambda connected: connected.jobs.find(JobFilter(), limit=0))
    assert {each.id for each in every if "probe" not in each.name} == {*ids, here.id}

    until(lambda: served.bursts()[0]["state"] == "deleted", "the burst to be deleted", SECONDS)
    until(lambda: not exposed(nodes), "the exposure to be taken back", SECONDS)
    gone = time.monotonic() - begin
    assert labelled(remote) == set()
    assert inventory.of(remote.api) - before == set()
    assert served.bursts()[0]["outcome"] == "succeeded"
    assert served.end(signal.SIGTERM) == 0
    assert "Traceback" not in served.log()
    usage = os.times()
    print(
        f"{live.image}: four jobs done {ran:.1f} s after the service's start, all gone after {gone:.1f} s;"
        f" an ordinary job waited {here.t_run - here.t_submit:.2f} s;"
        f" children's processor time {usage.children_user + usage.children_system:.1f} s"
    )
