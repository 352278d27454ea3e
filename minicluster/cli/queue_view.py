"""The demand of a cluster's queue, what runs there, and what waits and why, for `status` and `top`."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import typer

from minicluster.cli import shared_cores
from minicluster.cli.job_rows import columns, rows
from minicluster.cli.tables import age, show
from minicluster.instance.records import JobFilter, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from minicluster.cli.job_rows import JobRow
    from minicluster.instance.port import Instance
    from minicluster.instance.records import BurstSummary

    BurstReader = Callable[[], Sequence[BurstSummary]]

GROUP = "minicluster.onlookers"
"""Entry points of the queue client: a class that is called with an instance's links and the least size."""
SHOWN = 10
"""How many of the running jobs are shown, and of the pending ones; there may be 100,000."""
COLUMNS = ("id", "user", "queue", "name", "urgency", "tasks", "nodes", "time", "info")
_WHOLE = (
    *("nodes_demanded", "nodes_up", "nodes_free", "nodes_drained"),
    *("jobs_pending", "jobs_running", "jobs_held", "jobs_unsatisfiable"),
    *("burst_nodes_up", "burst_jobs_pending", "burst_jobs_running"),
)
"""Metrics that are shown, by their names without `flux_`; those of bursts where any are declared."""
_QUIET = {"nodes_drained", "jobs_held", "jobs_unsatisfiable"}
"""What users are not shown where it is 0."""


class Number(Protocol):
    """One of the metrics of docs/metrics.md."""

    name: str
    labels: dict[str, str]
    value: float


@runtime_checkable
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
    waiting: tuple[JobRow, ...] = ()
    """The first pending jobs, as rows."""
    taken: float = field(default_factory=time.time)
    """The time of the sample, in seconds since 1970."""
    running: tuple[JobRow, ...] = ()
    """The latest of the jobs that run, as rows."""
    sharing: Mapping[str, Any] = field(default_factory=dict)
    """What enforces CPU quotas, and experts' weights, where jobs share cores."""

    def whole(self, name: str) -> int:
        """Return the metric `flux_NAME` as an integer."""
        return int(self.numbers.get(f"flux_{name}", 0))

    def jobs(self, which: str) -> int:
        """Return how many jobs are `pending` or `running`, those in the queues of bursts included."""
        return self.whole(f"jobs_{which}") + self.whole(f"burst_jobs_{which}")

    @property
    def row(self) -> dict[str, Any]:
        """Return the fields to show, by the names of columns; what was not reported is left out."""
        found: dict[str, Any] = {name: self.whole(name) for name in _WHOLE if f"flux_{name}" in self.numbers}
        if (wait := self.numbers.get("flux_oldest_wait_seconds")) is not None:
            found["oldest_wait"] = round(wait, 1)
        return {**found, **self.sharing}


@dataclass(frozen=True, slots=True)
class JobTable:
    """Some jobs of a queue."""

    title: str
    jobs: Sequence[JobRow]
    columns: Sequence[str]
    more: int
    """How many there are besides."""


@contextlib.contextmanager
def watching(instance: Instance, minimum: int = 1) -> Iterator[SampleReader]:
    """Yield a reader of an instance's metrics; `minimum` is the least size of its cluster.

    An instance that nobody here has a link to may read its metrics itself.
    """
    if isinstance(instance, SampleReader):
        yield instance
        return
    (found,) = entry_points(group=GROUP)
    with found.load()(instance.links, minimum) as watcher:
        yield watcher


def view(instance: Instance, watcher: SampleReader, bursts: BurstReader = tuple) -> QueueView:
    """Return the present state of the queue; `bursts` returns the open ones."""
    numbers: dict[str, float] = {}
    states: dict[str, int] = {}
    for each in watcher.samples():
        if not each.labels:
            numbers[each.name] = each.value
        elif each.name == "flux_jobs":
            states[each.labels["state"]] = int(each.value)
    found = QueueView(numbers, states)
    pending = _first(instance, JobState.PENDING, bursts) if found.jobs("pending") else ()
    running = _first(instance, JobState.RUNNING, bursts) if found.jobs("running") else ()
    shown = tuple(map(_waiting, pending))
    return replace(found, waiting=shown, running=tuple(running), sharing=shared_cores.fields(instance))


def _first(instance: Instance, states: JobState, bursts: BurstReader) -> Sequence[JobRow]:
    return rows(instance, instance.jobs.find(JobFilter(states=states), limit=SHOWN), bursts)


def once(instance: Instance, minimum: int = 1, bursts: BurstReader = tuple) -> QueueView:
    """Return the present state of an instance's queue."""
    with watching(instance, minimum) as watcher:
        return view(instance, watcher, bursts)


def for_people(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a cluster and its queue for users: with units, without zeros that mean nothing."""
    found = {key: value for key, value in fields.items() if value or key not in _QUIET}
    if "oldest_wait" in found:
        found["oldest_wait"] = age(found["oldest_wait"])
    if not fields.get("jobs_pending"):
        found.pop("oldest_wait", None)
    return shared_cores.for_people(found)


def tables(found: QueueView) -> Iterator[JobTable]:
    """Yield what runs and what waits, where there is any."""
    for title, jobs, total in (
        ("running", found.running, found.jobs("running")),
        ("waiting", found.waiting, found.jobs("pending")),
    ):
        if jobs:
            yield JobTable(title, jobs, columns(jobs, COLUMNS), max(0, total - len(jobs)))


def show_jobs(found: Iterable[JobTable]) -> None:
    """Print tables of jobs, each below an empty line and its title."""
    for each in found:
        typer.echo(f"\n{each.title}:")
        show(each.jobs, each.columns, "table")
        if each.more:
            typer.echo(f"and {each.more} more")


def _waiting(job: JobRow) -> JobRow:
    """Return a pending job, whose time is that for which it waits."""
    return {**job, "time": age(time.time() - job["t_submit"]), "why": job["info"]}
