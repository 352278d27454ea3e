"""Every metric: its name, unit, meaning and labels.

docs/metrics.md is tested against this table, and so are the names in the chart, files/metrics.yaml, which
templates/user-roles.yaml reads.
Totals have no label but `state`. The same metrics by queue begin with `flux_queue_`, by group with
`flux_group_`, so that no sum counts a job or a node twice. All are gauges.

Totals, and the metrics by group, are about the MiniCluster's own nodes, and jobs for these: they are what its
size should follow. What begins with `flux_burst_` is about the hosts and queues of its bursts. It is there
where the document declares any (`flux.bursting`).
"""

from __future__ import annotations

from dataclasses import dataclass

QUEUE, GROUP, STATE = "queue", "group", "state"
ANONYMOUS_QUEUE = "default"
"""The label of the one queue of an instance without named queues."""


@dataclass(frozen=True)
class Metric:
    """A row of the table."""

    name: str
    unit: str
    meaning: str
    labels: tuple[str, ...] = ()
    adds: bool = True
    """Whether values of several queues, groups or MiniClusters may be added up."""


NODES_DEMANDED = "flux_nodes_demanded"
NODES_DEMANDED_FLOOR = "flux_nodes_demanded_floor"
NODES_DEMANDED_CEILING = "flux_nodes_demanded_ceiling"
NODES_EXPECTED = "flux_nodes_expected"
NODES_UP = "flux_nodes_up"
NODES_FREE = "flux_nodes_free"
NODES_ALLOCATED = "flux_nodes_allocated"
NODES_DRAINED = "flux_nodes_drained"
CORES_EXPECTED = "flux_cores_expected"
CORES_UP = "flux_cores_up"
CORES_FREE = "flux_cores_free"
CORES_ALLOCATED = "flux_cores_allocated"
CORES_DRAINED = "flux_cores_drained"
JOBS = "flux_jobs"
JOBS_PENDING = "flux_jobs_pending"
JOBS_RUNNING = "flux_jobs_running"
JOBS_HELD = "flux_jobs_held"
JOBS_UNSATISFIABLE = "flux_jobs_unsatisfiable"
OLDEST_WAIT = "flux_oldest_wait_seconds"
DEMAND_CORE_SECONDS = "flux_demand_core_seconds"
MIN_SIZE = "flux_min_size"
MAX_SIZE = "flux_max_size"
QUEUE_NODES_DEMANDED = "flux_queue_nodes_demanded"
QUEUE_JOBS = "flux_queue_jobs"
QUEUE_JOBS_PENDING = "flux_queue_jobs_pending"
QUEUE_JOBS_RUNNING = "flux_queue_jobs_running"
QUEUE_JOBS_HELD = "flux_queue_jobs_held"
QUEUE_JOBS_UNSATISFIABLE = "flux_queue_jobs_unsatisfiable"
QUEUE_OLDEST_WAIT = "flux_queue_oldest_wait_seconds"
QUEUE_DEMAND_CORE_SECONDS = "flux_queue_demand_core_seconds"
GROUP_NODES_ALLOCATED = "flux_group_nodes_allocated"
GROUP_JOBS_PENDING = "flux_group_jobs_pending"
GROUP_JOBS_RUNNING = "flux_group_jobs_running"
GROUP_OLDEST_WAIT = "flux_group_oldest_wait_seconds"
GROUP_DEMAND_CORE_SECONDS = "flux_group_demand_core_seconds"
BURST_NODES_EXPECTED = "flux_burst_nodes_expected"
BURST_NODES_UP = "flux_burst_nodes_up"
BURST_NODES_ALLOCATED = "flux_burst_nodes_allocated"
BURST_JOBS_PENDING = "flux_burst_jobs_pending"
BURST_JOBS_RUNNING = "flux_burst_jobs_running"

METRICS = (
    Metric(
        NODES_DEMANDED,
        "nodes",
        "Nodes in use plus those that the pending jobs that could run would need besides, at least the least"
        " size, at most the greatest.",
    ),
    Metric(NODES_DEMANDED_FLOOR, "nodes", "The same where every elastic job has its least size."),
    Metric(NODES_DEMANDED_CEILING, "nodes", "The same where every elastic job has its greatest size."),
    Metric(NODES_EXPECTED, "nodes", "Nodes that the instance is configured for, there or not."),
    Metric(NODES_UP, "nodes", "Nodes whose broker is there."),
    Metric(NODES_FREE, "nodes", "Nodes that are up, not drained, and on which no job has anything."),
    Metric(NODES_ALLOCATED, "nodes", "Nodes on which a job has something."),
    Metric(NODES_DRAINED, "nodes", "Nodes that get no new jobs, up or not."),
    Metric(CORES_EXPECTED, "cores", "Cores of the nodes that the instance is configured for."),
    Metric(CORES_UP, "cores", "Cores of the nodes that are up."),
    Metric(CORES_FREE, "cores", "Cores that no job has, on nodes that are up and not drained."),
    Metric(CORES_ALLOCATED, "cores", "Cores that jobs have."),
    Metric(CORES_DRAINED, "cores", "Cores of the nodes that are drained."),
    Metric(JOBS, "jobs", "Jobs by state (RFC 21).", (STATE,)),
    Metric(JOBS_PENDING, "jobs", "Jobs that have not started: states depend, priority and sched."),
    Metric(JOBS_RUNNING, "jobs", "Jobs that run or are being cleaned up: states run and cleanup."),
    Metric(JOBS_HELD, "jobs", "Pending jobs of urgency 0 or in a queue that is stopped: not in the demand."),
    Metric(
        JOBS_UNSATISFIABLE,
        "jobs",
        "Pending jobs that could not run even on all nodes of the greatest size: not in the demand.",
    ),
    Metric(
        OLDEST_WAIT,
        "seconds",
        "How long the first of the jobs that could run has waited for resources.",
        adds=False,
    ),
    Metric(
        DEMAND_CORE_SECONDS,
        "core-seconds",
        "Cores times time limit, summed over the pending jobs that could run and have a time limit.",
    ),
    Metric(MIN_SIZE, "nodes", "The least size of the MiniCluster: no demand is below it."),
    Metric(MAX_SIZE, "nodes", "The greatest size of the MiniCluster: no demand is above it."),
    Metric(
        QUEUE_NODES_DEMANDED, "nodes", "Nodes that this queue's jobs alone demand; 0 without any.", (QUEUE,)
    ),
    Metric(QUEUE_JOBS, "jobs", "This queue's jobs by state.", (QUEUE, STATE)),
    Metric(QUEUE_JOBS_PENDING, "jobs", "This queue's jobs that have not started.", (QUEUE,)),
    Metric(QUEUE_JOBS_RUNNING, "jobs", "This queue's jobs that run or are being cleaned up.", (QUEUE,)),
    Metric(QUEUE_JOBS_HELD, "jobs", "This queue's pending jobs that are held.", (QUEUE,)),
    Metric(QUEUE_JOBS_UNSATISFIABLE, "jobs", "This queue's pending jobs that can never fit.", (QUEUE,)),
    Metric(QUEUE_OLDEST_WAIT, "seconds", "The oldest wait in this queue.", (QUEUE,), adds=False),
    Metric(
        QUEUE_DEMAND_CORE_SECONDS,
        "core-seconds",
        "This queue's part of the demand in core-seconds.",
        (QUEUE,),
    ),
    Metric(GROUP_NODES_ALLOCATED, "nodes", "Nodes on which a job of this group has something.", (GROUP,)),
    Metric(GROUP_JOBS_PENDING, "jobs", "This group's jobs that have not started.", (GROUP,)),
    Metric(GROUP_JOBS_RUNNING, "jobs", "This group's jobs that have resources.", (GROUP,)),
    Metric(GROUP_OLDEST_WAIT, "seconds", "The oldest wait in this group.", (GROUP,), adds=False),
    Metric(
        GROUP_DEMAND_CORE_SECONDS,
        "core-seconds",
        "This group's part of the demand in core-seconds.",
        (GROUP,),
    ),
    Metric(BURST_NODES_EXPECTED, "nodes", "Hosts of bursts that are declared, there or not."),
    Metric(BURST_NODES_UP, "nodes", "Those of them whose broker is there."),
    Metric(BURST_NODES_ALLOCATED, "nodes", "Those of them on which a job has something."),
    Metric(BURST_JOBS_PENDING, "jobs", "Jobs in the queues of bursts that have not started."),
    Metric(BURST_JOBS_RUNNING, "jobs", "Jobs in these queues that run or are being cleaned up."),
)
BY_NAME = {metric.name: metric for metric in METRICS}
ADDS = {metric.name: metric.adds for metric in METRICS}
OF_BURSTS = frozenset(
    (BURST_NODES_EXPECTED, BURST_NODES_UP, BURST_NODES_ALLOCATED, BURST_JOBS_PENDING, BURST_JOBS_RUNNING)
)
"""The metrics of bursts: an instance without hosts for them has none of these."""
