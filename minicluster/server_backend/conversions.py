"""Between the client's records and those of an instance. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_config.formats.burst_names import BURST, BURSTABLE
from broker_config.formats.job_states import JobResult, JobState
from broker_config.formats.jobid import parse
from minicluster.instance.jobspec import jobspec
from minicluster.instance.records import (
    Broker,
    Drain,
    Job,
    QueueResources,
    QueueStats,
    QueueStatus,
    Resources,
    ResourceSubset,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from minicluster.client.records import (
        JobCounts,
        JobStatus,
        NodeRecord,
        NodesAmounts,
        NodesRecord,
        QueueRecord,
        ResourceAmount,
    )
    from minicluster.instance.records import JobFilter, JobRequest

NO_INPUT = {"input.stdin.type": "file", "input.stdin.path": "/dev/null"}
"""What `submit` sets for an empty standard input; a service takes no such option, and gives none besides."""
DEFAULT_QUEUE = "default"
"""What a service calls the only queue, where it has no name."""
_SINGLE = (
    JobState.DEPEND,
    JobState.PRIORITY,
    JobState.SCHED,
    JobState.RUN,
    JobState.CLEANUP,
    JobState.INACTIVE,
)


def fields_of(request: JobRequest) -> dict[str, Any]:
    """Return the fields with which a job is submitted; a whole jobspec where these do not suffice."""
    options = dict(request.shell_options)
    if {name: options.get(name) for name in NO_INPUT} == NO_INPUT:
        options = {name: value for name, value in options.items() if name not in NO_INPUT}
    if request.attributes or request.system.keys() - {BURSTABLE}:
        whole = jobspec(replace(request, shell_options=options), inherit=False)
        return {"jobspec": whole, "urgency": request.urgency}
    words = list(request.command)
    given: dict[str, Any] = {
        **({"script": request.script, "command": words[1:]} if request.script else {"command": words}),
        "tasks": request.tasks,
        "nodes": request.nodes,
        "cores_per_task": request.cores_per_task,
        "gpus_per_task": request.gpus_per_task,
        "exclusive": request.exclusive,
        "time_limit": request.duration,
        "urgency": request.urgency,
        "queue": request.queue,
        "name": request.name,
        "cwd": request.cwd,
        "dependencies": list(request.dependencies),
        "environment": dict(request.environment or {}),
        "shell_options": options,
        **request.system,
    }
    return {name: value for name, value in given.items() if value or name == "urgency"}


def job_of(status: JobStatus, userid: int) -> Job:
    """Return a job as an instance has it."""
    result = None if status.result is None else JobResult[status.result]
    return Job(
        id=parse(status.number),
        state=JobState[status.state],
        result=result,
        name=status.name,
        userid=userid,
        urgency=status.urgency,
        priority=status.priority,
        queue=status.queue,
        t_submit=status.t_submit,
        t_run=status.t_run or 0.0,
        t_cleanup=status.t_cleanup or 0.0,
        t_inactive=status.t_inactive or 0.0,
        nnodes=status.nnodes,
        ntasks=status.ntasks,
        ncores=status.ncores,
        duration=status.duration,
        expiration=status.expiration,
        nodelist=status.nodelist,
        waitstatus=_waitstatus(status.returncode),
        exception=status.exception,
        dependencies=status.dependencies,
        annotations=status.annotations,
        owner=status.owner_name or status.owner or "",
    )


def _waitstatus(returncode: int | None) -> int | None:
    """Return the wait status with this exit code or signal; None: the job had none, as it never ran."""
    if returncode is None or returncode <= -128:
        return None
    return returncode << 8 if returncode >= 0 else -returncode


def query_of(which: JobFilter) -> dict[str, Any]:
    """Return the query of a listing for a filter: what it cannot express is left to `fits`."""
    states = [str(each.name).lower() for each in _SINGLE if which.states is not None and each & which.states]
    results = [
        str(each.name).lower() for each in JobResult if which.results is not None and each & which.results
    ]
    return {"state": states, "result": results, "name": which.name, "queue": which.queue}


def fits(job: Job, which: JobFilter) -> bool:
    """Whether a job is among those of a filter, as far as a query cannot express it."""
    is_late = job.result is None or job.t_inactive > which.since
    return is_late and which.userid in {None, job.userid}


def in_order(jobs: Iterable[Job]) -> list[Job]:
    """Return jobs as listings have them: pending by priority, then running and inactive, latest first."""

    def key(job: Job) -> tuple[float, ...]:
        if job.state in JobState.PENDING:
            return 0, -float(job.priority or 0), job.id
        return (1, -job.t_run) if job.state in JobState.RUNNING else (2, -job.t_inactive)

    return sorted(jobs, key=key)


def brokers_of(found: NodesRecord) -> list[Broker]:
    """Return the brokers, by rank."""
    return sorted(
        (Broker(each.rank, each.host, each.state) for each in found.nodes), key=lambda each: each.rank
    )


def resources_of(found: NodesRecord) -> QueueResources:
    """Return the resources by queue. A service gives numbers: which nodes have free cores, it does not."""
    own = [each for each in found.nodes if not each.slot]
    bursts = {
        queue: [each for each in found.nodes if each.slot in _slots(queue, found)] for queue in found.bursts
    }
    return QueueResources(
        _resources(own, found.own),
        {queue: _resources(nodes, found.bursts[queue]) for queue, nodes in bursts.items()},
    )


def _slots(queue: str, found: NodesRecord) -> Container[str]:
    """Return the slots on whose hosts the jobs of a queue run."""
    return found.bursts.keys() if queue == BURST else (queue,)


def _resources(nodes: Sequence[NodeRecord], amounts: NodesAmounts) -> Resources:
    hosts = {each.rank: each.host for each in sorted(nodes, key=lambda each: each.rank)}
    drained = [each.rank for each in nodes if each.drained is not None]
    offline = [each.rank for each in nodes if each.state in {"offline", "lost"}]
    up = [rank for rank in hosts if rank not in {*drained, *offline}]
    busy = [each.rank for each in nodes if each.allocated]
    free = up[: amounts.free.nodes]
    down = [rank for rank in hosts if rank not in up]
    drains = tuple(
        Drain(str(each.rank), each.drained.timestamp, each.drained.reason)
        for each in nodes
        if each.drained is not None
    )
    return Resources(
        all=_subset(hosts, hosts, amounts.all),
        up=_subset(hosts, up, amounts.up),
        down=_subset(hosts, down),
        free=_subset(hosts, free, amounts.free),
        allocated=_subset(hosts, busy, amounts.allocated),
        drained=_subset(hosts, drained),
        offline=_subset(hosts, offline),
        drains=drains,
    )


def _subset(
    hosts: Mapping[int, str], ranks: Iterable[int], amount: ResourceAmount | None = None
) -> ResourceSubset:
    listed = tuple(ranks)
    cores, gpus = (amount.cores, amount.gpus) if amount is not None else (0, 0)
    return ResourceSubset(listed, tuple(hosts[rank] for rank in listed), cores, gpus)


def queue_of(found: QueueRecord, *, alone: bool) -> QueueStatus:
    """Return a queue; `alone`: it is the only one, which may have no name."""
    name = "" if alone and found.name == DEFAULT_QUEUE else found.name
    return QueueStatus(name, found.enabled, found.started, found.disable_reason, found.stop_reason)


def stats_of(found: JobCounts) -> QueueStats:
    """Return the numbers of jobs: pending and running ones are not distinguished further."""
    return QueueStats(
        sched=found.pending,
        run=found.running,
        inactive=found.inactive,
        total=found.pending + found.running + found.inactive,
    )
