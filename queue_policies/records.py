"""What a policy sees and what it answers: frozen records, and protocols for the views it reads.

Times are seconds of the caller's clock. What a job asks for is opaque to policies: they hand it to a
`Sketch` of the cluster, which knows nodes, cores and properties (or just counts, in a simulator).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class Request(Hashable, Protocol):
    """What a job asks for. Equal requests fit or do not fit alike; `size` is its least number of units."""

    @property
    def size(self) -> int:
        """Units of the cluster (cores, slots or nodes) that the job needs at least."""


@dataclass(frozen=True, slots=True)
class Elastic:
    """The sizes at which a moldable or malleable job can run, in the cluster's units."""

    min: int
    max: int


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job that waits. The order of the queue is priority descending, then id ascending."""

    id: int
    priority: int
    request: Request
    submitted: float
    limit: float = math.inf  # run time limit in seconds
    user: int = 0
    elastic: Elastic | None = None  # None: rigid

    @property
    def order(self) -> tuple[int, int]:
        """Sorts first what stands first in the queue."""
        return (-self.priority, self.id)


@dataclass(frozen=True, slots=True)
class RunningJob:
    """A job that holds resources. `end` is when its time limit ends it, infinite without one."""

    id: int
    request: Request
    started: float
    end: float = math.inf


class Sketch(Protocol):
    """A scratch copy of the cluster on which a policy tries things. Placing is deterministic."""

    @property
    def free(self) -> int:
        """Free units; none means that nothing at all fits."""

    def fits(self, request: Request) -> bool:
        """Whether `request` could be placed now."""

    def take(self, job: int, request: Request) -> bool:
        """Place `request` for the job and return True, or change nothing and return False."""

    def holds(self, job: int) -> bool:
        """Whether the job was placed here."""

    def give(self, job: int) -> None:
        """Return what a job holds, whether it runs in reality or was placed here."""

    def mirror(self, other: Sketch, job: int) -> None:
        """Take exactly what the job was given in `other`, which must be free here."""

    def copy(self) -> Sketch:
        """An independent copy of this state."""


class Cluster(Protocol):
    """The resources of an instance: those that are up and not drained can be given to jobs."""

    @property
    def total(self) -> int:
        """All units, used or not."""

    def sketch(self) -> Sketch:
        """The present state, to try things on. Cheap."""


class Queue(Protocol):
    """The jobs that may start, in order."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[QueuedJob]: ...

    def __getitem__(self, job: int) -> QueuedJob: ...

    def __contains__(self, job: object) -> bool: ...

    def classes(self) -> Iterable[Sequence[QueuedJob]]:
        """The jobs grouped by equal request and elastic range; each group in the queue's order."""


class Happened(enum.Enum):
    """What can change between two decisions."""

    ARRIVED = enum.auto()  # a job came into the queue
    LEFT = enum.auto()  # a job left the queue without being started by the policy
    ENDED = enum.auto()  # a running job returned its resources
    CLUSTER = enum.auto()  # ranks went up, down, drained or undrained; or a time limit changed


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that happened since the last decision; `job` where it is about one."""

    what: Happened
    job: int | None = None


@dataclass(frozen=True, slots=True)
class State:
    """Everything that a policy may know. The views are read-only and live for one decision."""

    queue: Queue
    running: Mapping[int, RunningJob]
    cluster: Cluster
    changes: Sequence[Change]


@dataclass(frozen=True, slots=True)
class Start:
    """Start a queued job now."""

    job: int


@dataclass(frozen=True, slots=True)
class Reserve:
    """Tell the user when a queued job is expected to start."""

    job: int
    at: float


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Decide again at this time, even if nothing happens."""

    time: float


Action = Start | Reserve | WakeAt
