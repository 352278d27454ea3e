"""The part of the port that the service uses, over jobs in memory that nothing changes.

What is done to a job is noted, and the job stays as it is: so requests may come in any order.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from minicluster.instance.errors import JobNotFound
from minicluster.instance.records import (
    Broker,
    Event,
    Job,
    JobChange,
    JobState,
    OutputChunk,
    QueueResources,
    QueueStats,
    QueueStatus,
    Resources,
    ResourceSubset,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from minicluster.instance.records import JobFilter, Resubmission

HOST = "mc-0"
NODES = ResourceSubset((0,), (HOST,), 4, 0)
NONE = ResourceSubset()
FIRST_SUBMITTED = 1 << 40
"""The id of the first job that a request submits."""


class MemoryStream:
    """Items, and then the end, or a wait until it is closed."""

    def __init__(self, items: Iterable[Any], *, endless: bool = False) -> None:
        self._items = iter(items)
        self._endless = endless
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        for item in self._items:
            return item
        if self._endless:
            self._closed.wait()
        raise StopIteration

    def close(self) -> None:
        self._closed.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()


@dataclass
class MemoryInstance:
    """An instance with jobs; `done` has what was asked of it that changes something."""

    known: dict[int, Job] = field(default_factory=dict)
    done: list[tuple[Any, ...]] = field(default_factory=list)

    endless: bool = False
    """Whether output that is followed has no end, as that of a job that runs."""

    engine = "embedded"
    uri = "local:///memory"

    def __post_init__(self) -> None:
        self.jobs, self.bulk, self.overview = MemoryJobs(self), MemoryBulk(self), MemoryOverview(self)
        self.queues, self.nodes = MemoryQueues(self), MemoryNodes(self)
        self.life = self.links = MemoryLife()
        self._streams: list[MemoryStream] = []

    def stream(self, items: Iterable[Any], *, endless: bool = False) -> MemoryStream:
        self._streams.append(MemoryStream(items, endless=endless))
        return self._streams[-1]

    def job(self, jobid: int) -> Job:
        if jobid not in self.known:
            raise JobNotFound(jobid)
        return self.known[jobid]

    def close(self) -> None:
        for each in self._streams:
            each.close()


class MemoryLife:
    def attributes(self) -> Mapping[str, str]:
        return {"broker.starttime": "1.0"}

    def rpc(self, topic: str, payload: object = None) -> dict[str, Any]:
        return {"value": "1.0"} if topic == "attr.get" else {}


@dataclass
class MemoryJobs:
    here: MemoryInstance

    def get(self, jobid: int) -> Job:
        return self.here.job(jobid)

    def find(self, which: JobFilter, limit: int = 1000) -> list[Job]:
        return list(self.here.known.values())

    def wait(self, jobid: int, timeout: float | None = None) -> Job:
        return self.here.job(jobid)

    def jobspec(self, jobid: int) -> Mapping[str, Any]:
        system = {"duration": 0, "environment": {"TOKEN": "secret"}}
        attributes = {"system": system, "user": {"name": self.here.job(jobid).name}}
        return {"version": 1, "resources": [], "tasks": [], "attributes": attributes}

    def cancel(self, jobid: int, reason: str = "") -> None:
        self.here.done.append(("cancel", self.here.job(jobid).id))

    def kill(self, jobid: int, signum: int) -> None:
        self.here.done.append(("kill", self.here.job(jobid).id, signum))

    def set_urgency(self, jobid: int, urgency: int) -> int:
        self.here.done.append(("urgency", self.here.job(jobid).id, urgency))
        return 16

    def output(self, jobid: int, *, follow: bool = False, after: int = -1) -> MemoryStream:
        data = f"output of {self.here.job(jobid).name}\n".encode()
        chunks = [OutputChunk(jobid, 0, 0, "stdout", data)] if after < 0 else []
        return self.here.stream(chunks, endless=follow and self.here.endless)

    def events(self, jobid: int, *, follow: bool = False) -> MemoryStream:
        return self.here.stream([Event(self.here.job(jobid).id, 1.0, "submit", {"urgency": 16})])


@dataclass
class MemoryBulk:
    here: MemoryInstance

    def resubmit(self, jobs: Sequence[Resubmission]) -> list[int]:
        return [self._submitted(each) for each in jobs]

    def _submitted(self, job: Resubmission) -> int:
        self.here.done.append(("submit", job.jobspec, job.urgency))
        jobid = FIRST_SUBMITTED + len(self.here.done)
        self.here.known[jobid] = Job(jobid, JobState.SCHED)
        return jobid


@dataclass
class MemoryOverview:
    here: MemoryInstance

    def changes(self, since: float = 0.0) -> MemoryStream:
        history = [JobChange(job) for job in self.here.known.values()] if since else []
        return self.here.stream([*history, JobChange(None)], endless=True)

    def attributes(self, jobids: Iterable[int]) -> Mapping[int, Mapping[str, Any]]:
        return {each: {} for each in jobids if each in self.here.known}

    def why(self, jobid: int, _bursts: object = ()) -> str:
        return f"{self.here.job(jobid).name} waits"


@dataclass
class MemoryQueues:
    here: MemoryInstance

    def all(self) -> list[QueueStatus]:
        return [QueueStatus("", enabled=True, started=True)]

    def stats(self) -> QueueStats:
        return QueueStats(run=len(self.here.known))

    def stop(self, name: str = "", reason: str = "") -> None:
        self.here.done.append(("stop", name, reason))

    def start(self, name: str = "") -> None:
        self.here.done.append(("start", name))


@dataclass
class MemoryNodes:
    here: MemoryInstance

    def brokers(self) -> list[Broker]:
        return [Broker(0, HOST, "full")]

    def resources(self) -> Resources:
        return Resources(NODES, NODES, NONE, NODES, NONE, NONE, NONE)

    def by_queue(self) -> QueueResources:
        return QueueResources(self.resources())

    def drain(self, targets: str, reason: str = "") -> None:
        self.here.done.append(("drain", targets, reason))

    def undrain(self, targets: str) -> None:
        self.here.done.append(("undrain", targets))
