"""All samples of a snapshot."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from broker_config.formats import job_states
from metrics_api import names
from metrics_api.numbers.bursting import divided
from metrics_api.numbers.demand import demand, demand_alone
from metrics_api.numbers.layout import layout
from metrics_api.numbers.records import Counts, Hold, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from metrics_api.numbers.records import AllocatedJob, NodeState, PendingGroup, Snapshot

_T = TypeVar("_T")


def samples(snapshot: Snapshot, now: float) -> list[Sample]:
    """Return all samples of a snapshot; `now` is the time in seconds, by the clock of its job events."""
    parts = divided(snapshot)
    local = _judged(parts.local)
    burst = _judged(parts.burst) if parts.burst else None
    return [
        *_demand(local),
        *_nodes(local),
        *_jobs(local),
        *_waits(local.pending, now),
        *(each for name, part in _queues(local) for each in _queue(part, name, demand_alone(part), now)),
        *(_burst_queues(burst, parts.queues, now) if burst else ()),
        *(each for group in _groups(local) for each in _group(*group, now)),
        *(_burst(burst) if burst else ()),
    ]


def _demand(snapshot: Snapshot) -> Iterator[Sample]:
    found = demand(snapshot)
    yield Sample(names.NODES_DEMANDED, found.nodes)
    yield Sample(names.NODES_DEMANDED_FLOOR, found.floor)
    yield Sample(names.NODES_DEMANDED_CEILING, found.ceiling)
    yield Sample(names.MIN_SIZE, snapshot.minimum)
    yield Sample(names.MAX_SIZE, snapshot.maximum)


def _nodes(snapshot: Snapshot) -> Iterator[Sample]:
    used: Counter[int] = Counter()
    for job in snapshot.running:
        for rank, cores, _ in job.allocation:
            used[rank] += cores
    up = [node for node in snapshot.nodes if node.up]
    open_to_jobs = [node for node in up if not node.drained]
    drained = [node for node in snapshot.nodes if node.drained]
    yield Sample(names.NODES_EXPECTED, len(snapshot.nodes))
    yield Sample(names.NODES_UP, len(up))
    yield Sample(names.NODES_FREE, sum(node.rank not in used for node in open_to_jobs))
    yield Sample(names.NODES_ALLOCATED, len(used))
    yield Sample(names.NODES_DRAINED, len(drained))
    yield Sample(names.CORES_EXPECTED, _cores(snapshot.nodes))
    yield Sample(names.CORES_UP, _cores(up))
    yield Sample(names.CORES_FREE, sum(max(0, node.cores - used[node.rank]) for node in open_to_jobs))
    yield Sample(names.CORES_ALLOCATED, sum(used.values()))
    yield Sample(names.CORES_DRAINED, _cores(drained))


def _cores(nodes: Iterable[NodeState]) -> int:
    return sum(node.cores for node in nodes)


def _judged(snapshot: Snapshot) -> Snapshot:
    """Mark the pending jobs that can never fit."""
    nodes = layout(snapshot.nodes[: snapshot.maximum])
    unfit = {request for request in {p.request for p in snapshot.pending} if not nodes.satisfiable(request)}
    pending = tuple(replace(p, hold=Hold.NEVER) if p.request in unfit else p for p in snapshot.pending)
    return replace(snapshot, pending=pending)


def _jobs(snapshot: Snapshot) -> Iterator[Sample]:
    states = snapshot.counts.states
    for state in job_states.STATES:
        yield Sample(names.JOBS, states.get(state, 0), {names.STATE: state})
    yield Sample(names.JOBS_PENDING, _sum(states, job_states.PENDING_STATES))
    yield Sample(names.JOBS_RUNNING, _sum(states, job_states.RUNNING_STATES))
    yield Sample(names.JOBS_HELD, _count(snapshot.pending, Hold.HELD))
    yield Sample(names.JOBS_UNSATISFIABLE, _count(snapshot.pending, Hold.NEVER))


def _sum(states: Mapping[str, int], of: Iterable[str]) -> int:
    return sum(states.get(state, 0) for state in of)


def _count(pending: Iterable[PendingGroup], hold: str) -> int:
    return sum(each.count for each in pending if each.hold == hold)


def _waits(pending: Iterable[PendingGroup], now: float) -> Iterator[Sample]:
    wait, work = _wait_and_work(pending, now)
    yield Sample(names.OLDEST_WAIT, wait)
    yield Sample(names.DEMAND_CORE_SECONDS, work)


def _wait_and_work(pending: Iterable[PendingGroup], now: float) -> tuple[float, float]:
    ready = [each for each in pending if each.hold == Hold.NONE]
    oldest = min((each.since for each in ready), default=now)
    # A wait is not negative, also after a clock was set back.
    return round(max(0.0, now - oldest), 3), round(sum(each.core_seconds for each in ready), 3)


def _queues(snapshot: Snapshot) -> Iterator[tuple[str, Snapshot]]:
    """Yield a snapshot for each queue, with its jobs and their counts."""
    pending = _divided(snapshot.pending, lambda each: each.queue)
    running = _divided(snapshot.running, lambda each: each.queue)
    counts = snapshot.counts
    for name in sorted({*pending, *running, *counts.queues} or {names.ANONYMOUS_QUEUE}):
        # Without named queues there is one, with the counts of the instance.
        states = counts.queues.get(name, {} if counts.queues else counts.states)
        theirs, at_work = tuple(pending.get(name, ())), tuple(running.get(name, ()))
        yield name, replace(snapshot, counts=Counts(states), pending=theirs, running=at_work)


def _divided(found: Iterable[_T], key: Callable[[_T], str]) -> dict[str, list[_T]]:
    parts: dict[str, list[_T]] = {}
    for each in found:
        parts.setdefault(key(each), []).append(each)
    return parts


def _queue(part: Snapshot, queue: str, demanded: int, now: float) -> Iterator[Sample]:
    label = {names.QUEUE: queue}
    states, pending = part.counts.states, part.pending
    wait, work = _wait_and_work(pending, now)
    yield Sample(names.QUEUE_NODES_DEMANDED, demanded, label)
    for state in job_states.STATES:
        yield Sample(names.QUEUE_JOBS, states.get(state, 0), {**label, names.STATE: state})
    yield Sample(names.QUEUE_JOBS_PENDING, _sum(states, job_states.PENDING_STATES), label)
    yield Sample(names.QUEUE_JOBS_RUNNING, _sum(states, job_states.RUNNING_STATES), label)
    yield Sample(names.QUEUE_JOBS_HELD, _count(pending, Hold.HELD), label)
    yield Sample(names.QUEUE_JOBS_UNSATISFIABLE, _count(pending, Hold.NEVER), label)
    yield Sample(names.QUEUE_OLDEST_WAIT, wait, label)
    yield Sample(names.QUEUE_DEMAND_CORE_SECONDS, work, label)


def _groups(snapshot: Snapshot) -> Iterator[tuple[str, list[PendingGroup], list[AllocatedJob]]]:
    pending = _divided(snapshot.pending, lambda each: each.group)
    running = _divided(snapshot.running, lambda each: each.group)
    for name in sorted({*pending, *running}):
        yield name, pending.get(name, []), running.get(name, [])


def _group(
    group: str, pending: list[PendingGroup], running: list[AllocatedJob], now: float
) -> Iterator[Sample]:
    label = {names.GROUP: group}
    wait, work = _wait_and_work(pending, now)
    nodes = {rank for job in running for rank, _, _ in job.allocation}
    yield Sample(names.GROUP_NODES_ALLOCATED, len(nodes), label)
    yield Sample(names.GROUP_JOBS_PENDING, sum(each.count for each in pending), label)
    yield Sample(names.GROUP_JOBS_RUNNING, len(running), label)
    yield Sample(names.GROUP_OLDEST_WAIT, wait, label)
    yield Sample(names.GROUP_DEMAND_CORE_SECONDS, work, label)


def _burst_queues(burst: Snapshot, queues: Collection[str], now: float) -> Iterator[Sample]:
    """Yield the samples of the queues of bursts, whose jobs demand none of the MiniCluster's own nodes."""
    for name, part in _queues(burst):
        if name in queues:
            yield from _queue(part, name, 0, now)


def _burst(burst: Snapshot) -> Iterator[Sample]:
    states = burst.counts.states
    yield Sample(names.BURST_NODES_EXPECTED, len(burst.nodes))
    yield Sample(names.BURST_NODES_UP, sum(node.up for node in burst.nodes))
    yield Sample(names.BURST_NODES_ALLOCATED, len({r for job in burst.running for r, _, _ in job.allocation}))
    yield Sample(names.BURST_JOBS_PENDING, _sum(states, job_states.PENDING_STATES))
    yield Sample(names.BURST_JOBS_RUNNING, _sum(states, job_states.RUNNING_STATES))
