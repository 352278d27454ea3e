"""The demand of a cluster's queue, and its pending jobs with their reasons, for `status` and `top`."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

import typer

from minicluster.cli.job_words import written
from minicluster.cli.tables import age, show
from minicluster.instance.records import JobFilter, JobState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job, QueueStatus, Resources

GROUP = "minicluster.onlookers"
"""Entry points of the queue client: a class that is called with an instance's links and the least size."""
SHOWN = 10
"""How many of the pending jobs are shown; there may be 100,000."""
WAITING_COLUMNS = ("id", "tasks", "nodes", "time", "queue", "name", "why")


class Number(Protocol):
    """One of the metrics of docs/metrics.md."""

    name: str
    labels: dict[str, str]
    value: float


class SampleReader(Protocol):
    """Reads the metrics of a queue."""

    def samples(self) -> Sequence[Number]:
        """Return their present values."""
        ...


@dataclass(frozen=True, slots=True)
class QueueView:
    """The state of a queue at one moment."""

    numbers: Mapping[str, float]
    """The metrics without labels, by name."""
    states: Mapping[str, int]
    """The numbers of jobs, by state."""
    waiting: tuple[dict[str, Any], ...] = ()
    """The first pending jobs, as rows."""
    taken: float = field(default_factory=time.time)
    """The time of the sample, in seconds since 1970."""

    def whole(self, name: str) -> int:
        """Return the metric `flux_NAME` as an integer."""
        return int(self.numbers.get(f"flux_{name}", 0))

    @property
    def row(self) -> dict[str, Any]:
        """Return the fields to show, by the names of columns."""
        return {
            "nodes_demanded": self.whole("nodes_demanded"),
            "nodes_up": self.whole("nodes_up"),
            "nodes_free": self.whole("nodes_free"),
            "nodes_drained": self.whole("nodes_drained"),
            "jobs_pending": self.whole("jobs_pending"),
            "jobs_running": self.whole("jobs_running"),
            "jobs_held": self.whole("jobs_held"),
            "jobs_unsatisfiable": self.whole("jobs_unsatisfiable"),
            "oldest_wait": round(self.numbers.get("flux_oldest_wait_seconds", 0.0), 1),
        }


@contextlib.contextmanager
def watching(instance: Instance, minimum: int = 1) -> Iterator[SampleReader]:
    """Yield a reader of an instance's metrics; `minimum` is the least size of its cluster."""
    (found,) = entry_points(group=GROUP)
    with found.load()(instance.links, minimum) as watcher:
        yield watcher


def view(instance: Instance, watcher: SampleReader) -> QueueView:
    """Return the present state of the queue."""
    numbers: dict[str, float] = {}
    states: dict[str, int] = {}
    for each in watcher.samples():
        if not each.labels:
            numbers[each.name] = each.value
        elif each.name == "flux_jobs":
            states[each.labels["state"]] = int(each.value)
    waiting: tuple[dict[str, Any], ...] = ()
    if numbers.get("flux_jobs_pending"):
        found = instance.jobs.find(JobFilter(states=JobState.PENDING), limit=SHOWN)
        resources, queues = instance.nodes.resources(), instance.queues.all()
        waiting = tuple(_waiting(job, why(job, resources, queues)) for job in found)
    return QueueView(numbers, states, waiting)


def once(instance: Instance, minimum: int = 1) -> QueueView:
    """Return the present state of an instance's queue."""
    with watching(instance, minimum) as watcher:
        return view(instance, watcher)


def why(job: Job, resources: Resources, queues: Sequence[QueueStatus]) -> str:
    """Return what a pending job waits for."""
    if job.state is JobState.DEPEND:
        return f"depends on {', '.join(job.dependencies) or 'other jobs'}"
    if job.urgency == 0:
        return "held: its urgency is 0"
    stopped = next((each for each in queues if each.name in {job.queue, ""} and not each.started), None)
    if stopped is not None:
        which = f"queue {stopped.name}" if stopped.name else "the queue"
        return f"{which} is stopped" + (f": {stopped.stop_reason}" if stopped.stop_reason else "")
    greatest = resources.all.nodes
    if job.nnodes > greatest:
        return f"asks for {job.nnodes} nodes, there will never be more than {greatest}"
    annotation = job.annotations.get("sched")
    reason = annotation.get("reason_pending") if isinstance(annotation, dict) else None
    free, up = resources.free.cores, resources.up
    nodes = "1 node" if up.nodes == 1 else f"{up.nodes} nodes"
    return str(reason or f"waits for resources: {free} of {up.cores} cores on {nodes} are free")


def show_waiting(found: QueueView) -> None:
    """Print the pending jobs, if there are any, below an empty line."""
    if not found.waiting:
        return
    more = found.whole("jobs_pending") - len(found.waiting)
    typer.echo("\nwaiting:")
    show(found.waiting, WAITING_COLUMNS, "table")
    if more > 0:
        typer.echo(f"and {more} more")


def _waiting(job: Job, reason: str) -> dict[str, Any]:
    return {
        "id": written(job.id),
        "name": job.name,
        "queue": job.queue,
        "tasks": job.ntasks,
        "nodes": job.nnodes or None,
        "time": age(time.time() - job.t_submit),
        "why": reason,
    }
