"""`expose: tunnel`: the networks of two clusters are remote, and jobs run in the other one all the same."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import pytest

from minicluster.instance.records import JobFilter
from minicluster.local import processes
from tests.devcluster import until
from tests.kubernetes import burst_services, inventory
from tests.kubernetes.burst_services import BURSTING, FLUX, SMALL, hosts, job, labelled
from tests.kubernetes.command_line import member
from tests.kubernetes.kept_instance import KeptInstance
from tests.kubernetes.live import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.devcluster import ControlPlane
    from tests.kubernetes.burst_services import Served
    from tests.kubernetes.live import Live


@pytest.fixture
def served(
    live: Live, nodes: ControlPlane, remote: ControlPlane, remote_space: str, tmp_path: Path
) -> Iterator[Served]:
    """A MiniCluster that bursts by a tunnel, and settings with a provider in the other cluster."""
    bursting = {**BURSTING, "expose": "tunnel"}
    live.create(container=SMALL, size=1, flux=FLUX, bursting=bursting).joined(1)
    yield from burst_services.of(member(nodes, live.namespace, "edit"), remote, remote_space, tmp_path)
    for pid in reaches(tmp_path):
        processes.send(pid, signal.SIGKILL)


def reaches(folder: Path) -> set[int]:
    """Return the processes of tunnels that a service with this folder has started."""
    return {pid for path in folder.glob("state/tunnels/*/*") for pid in processes.marked(path)}


def test_jobs_run_where_no_route_leads_and_outlive_the_service(
    served: Served, live: Live, nodes: ControlPlane, remote: ControlPlane
) -> None:
    """The service is killed while a job runs there; the next one finds the tunnel, and ends it."""
    before = inventory.of(remote.api)
    assert served.burst("check", "research").strip() == "research: all is well"
    words = ("--burstable", "-N", 2, "-n", 2, "-t", "2m")
    ids = [
        served.submit(*words, script="hostname; sleep 15"),
        served.submit(*words),
    ]
    served.start()
    instance = KeptInstance(nodes.kubeconfig, live.namespace, live.name)
    until(
        lambda: instance.ask(lambda connected: connected.jobs.get(ids[0])).t_run,
        "the first job to run",
        SECONDS,
    )
    [reach] = reaches(served.folder)
    served.end(signal.SIGKILL)
    killed = time.time()
    served.start()

    ended = [job(instance, each) for each in ids]
    [burst] = served.bursts()
    pods = {f"mcb-{burst['burst']}-0", f"mcb-{burst['burst']}-1"}
    assert [each.returncode for each in ended] == [0, 0]
    assert ended[0].t_run < killed < ended[0].t_inactive
    for found in ended:
        assert set(hosts(instance, found.id)) == pods
    assert reaches(served.folder) == {reach}
    every = instance.ask(lambda connected: connected.jobs.find(JobFilter(), limit=0))
    assert {each.id for each in every if "probe" not in each.name} == set(ids)

    until(lambda: served.bursts()[0]["state"] == "deleted", "the burst to be deleted", SECONDS)
    assert reaches(served.folder) == set()
    assert list(served.folder.glob("state/tunnels/*/*")) == []
    assert labelled(remote) == set()
    assert inventory.of(remote.api) - before == set()
    assert served.bursts()[0]["outcome"] == "succeeded"
    assert json.loads(served.burst("list", "--output", "json")) == []
    assert served.end(signal.SIGTERM) == 0
    assert "Traceback" not in served.log()
