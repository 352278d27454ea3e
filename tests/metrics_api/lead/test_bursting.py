"""What real leads tell an autoscaler while jobs wait for bursts, run there, and end: nothing of it.

The ranks of slots are brokers of this test, by their properties alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.settings import BurstingSettings, NodeResources
from metrics_api import names
from tests.lead.client import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lead.pods import Pods
    from tests.metrics_api.lead.reading import Reader

    Lead = Callable[..., tuple[Pods, Reader]]

QUEUES = """
[queues.default]
requires = ["local"]
[queues.burst]
requires = ["burst"]
[queues.burst-0]
requires = ["burst-0"]
"""
SLOTS = {
    "max_size": 4,
    "bursting": BurstingSettings(hostlist="mc-[0-5]"),
    "node": NodeResources(properties={"local": "0-3", "burst": "4-5", "burst-0": "4-5"}),
    "broker_toml": QUEUES,
}
OWN = ("--queue=default", "--requires=local")
BURST = ("--queue=burst-0", "--requires=burst-0")


def nodes(cluster: Pods, count: int, *options: str) -> str:
    """Submit a job that takes whole nodes, and does not end; its id."""
    return cluster.run("submit", f"-N{count}", "--exclusive", *options, "sleep", "inf")


def close_bursts(cluster: Pods) -> None:
    """Stop them once the start script has started all: these ranks are no slots for it."""
    until(lambda: "started" in cluster.run("queue", "status", "--queue=default"), "queues that are started")
    for queue in ("burst", "burst-0"):
        cluster.run("queue", "stop", f"--queue={queue}")


def test_an_autoscaler_sees_nothing_of_bursts(lead: Lead) -> None:
    """Jobs wait, run on the burst's nodes, and end; a backlog for own nodes moves the demand as ever."""
    cluster, reader = lead(2, **SLOTS)
    close_bursts(cluster)
    idle = reader.until(nodes_up=2, nodes_demanded=1)
    assert (idle["min_size"], idle["max_size"], idle["nodes_expected"], idle["nodes_free"]) == (1, 4, 4, 2)
    assert (idle["burst_nodes_expected"], idle["burst_nodes_up"]) == (2, 0)

    waiting = nodes(cluster, 2, "--queue=burst", "--requires=burst")
    going = nodes(cluster, 2, *BURST)
    seen = reader.until(burst_jobs_pending=2)
    assert (seen["nodes_demanded"], seen["jobs_pending"], seen["jobs_held"]) == (1, 0, 0)
    assert reader.value(names.QUEUE_JOBS_HELD, queue="burst-0") == 1

    cluster.run("queue", "start", "--queue=burst-0")
    until(lambda: reader.value(names.QUEUE_JOBS_HELD, queue="burst-0") == 0, "a queue that is started")
    assert reader.values()["nodes_demanded"] == 1  # it waits for nodes that are down

    cluster.start(4, 5)
    seen = reader.until(burst_jobs_running=1, burst_nodes_up=2, burst_nodes_allocated=2)
    assert (seen["nodes_demanded"], seen["nodes_up"], seen["nodes_allocated"]) == (1, 2, 0)

    backlog = [nodes(cluster, 1, *OWN) for _ in range(3)]
    seen = reader.until(nodes_demanded=3, jobs_running=2, jobs_pending=1)
    assert (seen["nodes_allocated"], seen["nodes_free"], seen["burst_jobs_running"]) == (2, 0, 1)

    cluster.run("cancel", *backlog)
    seen = reader.until(nodes_demanded=1, jobs_running=0, jobs_pending=0)
    assert seen["burst_nodes_allocated"] == 2
    cluster.run("cancel", going, waiting)
    assert reader.until(burst_jobs_pending=0, burst_jobs_running=0)["nodes_demanded"] == 1


def test_the_lead_s_status_is_about_its_own_brokers(lead: Lead) -> None:
    """A burst queue is stopped most of the time, and burst nodes leave: neither is a trouble."""
    cluster, _ = lead(2, **SLOTS)
    close_bursts(cluster)
    cluster.start(4)
    with cluster.lead_api.watch() as watch:
        watch.until(online="0-1,4", halted=[])
    cluster.end(4)
    with cluster.lead_api.watch() as watch:
        watch.until(online="0-1", halted=[], troubles=[])
    cluster.run("queue", "stop", "--queue=default")
    with cluster.lead_api.watch() as watch:
        watch.until(halted=["queue default: stopped"])
