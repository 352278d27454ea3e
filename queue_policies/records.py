"""What a policy sees and what it answers: immutable records, and protocols for the views it reads.

Times are seconds of the caller's clock. What a job asks for is opaque to policies: they hand it to a
`Sketch` of the cluster, which knows nodes, cores and properties (or just counts, in a simulator).

What is made for every job or decision is a NamedTuple, which is made several times as fast as a frozen
dataclass. Actions are dataclasses: a Grow never equals a Shrink.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Request(Hashable, Protocol):
    """What a job asks for. Equal requests fit or do not fit alike; `size` is its least number of units."""

    @property
    def size(self) -> int:
        """Units of the cluster (cores, slots or nodes) that the job needs at least."""


class SizedRequest(Request, Protocol):
    """What an elastic job asks for: the request of a job with `elastic` has this, for its least size."""

    def sized(self, size: int) -> Request:
        """The same for `size` units."""


class RunTime(Protocol):
    """How long a job takes at each size, as far as is known: told, noisy or learned."""

    def seconds(self, size: int) -> float:
        """From its start to its end, if it ran at this size all the time."""


@dataclass(frozen=True, slots=True)
class Elastic:
    """The sizes at which a job can run, in the cluster's units.

    All that it holds counts, a launcher too. A moldable job takes one of them when it starts, a malleable
    one may be resized while it runs.
    """

    min: int
    max: int
    malleable: bool = False


class QueuedJob(NamedTuple):
    """A job that waits. The order of the queue is priority descending, then id ascending.

    Ids rise with submission. Where the job is elastic, `request` is for its least size.
    """

    id: int
    priority: int
    request: Request
    submitted: float
    limit: float = math.inf  # run time limit in seconds
    user: int = 0
    elastic: Elastic | None = None  # None: rigid
    estimate: RunTime | None = None  # None: unknown

    @property
    def order(self) -> tuple[int, int]:
        """Sorts first what stands first in the queue."""
        return (-self.priority, self.id)


class RunningJob(NamedTuple):
    """A job that holds resources; `request` is for the size that it has now.

    `end` is when its time limit ends it, infinite without one. `acted` is when the last action on it (its
    start or a resize, with what that cost) ended or will end. It heeds orders when its program registered
    and is neither deregistered nor amid an order. Of its work the share `remaining` was left at the time
    `measured` (from when on it computes, where that is in the future). One that is `stopping` will return
    its units without any further action: it was preempted, or its work is done. One that `waits` has not
    begun: others are to shrink for it (`Start.after`).
    """

    id: int
    request: Request
    started: float
    end: float = math.inf
    elastic: Elastic | None = None
    priority: int = 0
    submitted: float = 0.0
    user: int = 0
    acted: float = -math.inf
    heeds: bool = True
    remaining: float | None = None  # None: unknown
    measured: float = 0.0
    estimate: RunTime | None = None  # None: unknown
    stopping: bool = False
    waits: bool = False

    @property
    def size(self) -> int:
        """The units that it holds."""
        return self.request.size

    @property
    def preemptible(self) -> bool:
        """Whether it can write a checkpoint now: not before it begins, while it stops, or amid a resize."""
        malleable = self.elastic is not None and self.elastic.malleable
        return not (self.stopping or self.waits) and (self.heeds or not malleable)

    @property
    def order(self) -> tuple[int, int]:
        """Compares with the order of queued jobs."""
        return (-self.priority, self.id)

    def left(self, now: float) -> float | None:
        """The share of its work that is left at `now`, by its estimate; None where that is unknown."""
        if self.remaining is None or self.estimate is None:
            return self.remaining
        done = max(0.0, now - self.measured) / self.estimate.seconds(self.request.size)
        return max(0.0, self.remaining - done)


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

    @property
    def free(self) -> int:
        """Free units that can be given to jobs."""

    def sketch(self) -> Sketch:
        """The present state, to try things on. Cheap."""


class Queue(Protocol):
    """The jobs that may start, in order."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[QueuedJob]: ...

    def __getitem__(self, job: int) -> QueuedJob: ...

    def __contains__(self, job: object) -> bool: ...

    def classes(self, most: float) -> Iterable[JobClass]:
        """The groups of jobs with equal request and elastic range that need at most so many units."""


class JobClass(Protocol):
    """Queued jobs that ask for the same, in the queue's order."""

    @property
    def head(self) -> QueuedJob:
        """The first of them."""

    def after(self, order: tuple[int, int], shorter: float = math.inf) -> QueuedJob | None:
        """The first behind this place whose limit is below `shorter` (infinite: any)."""


class Running(Protocol):
    """The jobs that hold resources, by id; in `RunningJobs` whoever runs a policy keeps them."""

    def __len__(self) -> int: ...

    def __getitem__(self, job: int) -> RunningJob: ...

    def __contains__(self, job: object) -> bool: ...

    def by_end(self) -> Sequence[RunningJob]:
        """By the ends of their time limits, then by id."""

    def by_order(self) -> Sequence[RunningJob]:
        """By priority descending, then id ascending, as the queue is ordered."""


class Happened(enum.Enum):
    """What can change between two decisions."""

    ARRIVED = enum.auto()  # a job came into the queue
    LEFT = enum.auto()  # a job left the queue without being started by the policy
    ENDED = enum.auto()  # a running job returned its resources
    RESIZED = enum.auto()  # a running job acknowledged an order: it has its new size
    REFUSED = enum.auto()  # it refused an order or did not answer: a start that waited for it is off
    REGISTERED = enum.auto()  # a running job began or ceased to heed orders
    WOKEN = enum.auto()  # the time came for which the policy asked
    CLUSTER = enum.auto()  # ranks went up, down, drained or undrained; or a time limit changed


class Change(NamedTuple):
    """One thing that happened since the last decision; `job` where it is about one."""

    what: Happened
    job: int | None = None


class State(NamedTuple):
    """Everything that a policy may know. The views are read-only and live for one decision.

    `preemption`: whether running jobs can be preempted here, as in the simulator.
    """

    queue: Queue
    running: Running
    cluster: Cluster
    changes: Sequence[Change]
    preemption: bool = False


@dataclass(frozen=True, slots=True)
class Start:
    """Start a queued job: at `size` where it is elastic (None: its least).

    `after` names running jobs of which a Shrink stands earlier in the same answer. Then the job starts when
    all of them acknowledged. Until then it shows among the running jobs at that size, and heeds nothing;
    what it will get is not free: neither what the shrinking jobs give up for it nor what it takes from the
    free units. Where one refuses or does not answer in time, the job is queued again, and the policy asked
    anew.
    """

    job: int
    size: int | None = None
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Grow:
    """Order a running job to grow to `size`, with units that are free now."""

    job: int
    size: int


@dataclass(frozen=True, slots=True)
class Shrink:
    """Order a running job to shrink to `size`; its program chooses what it gives back."""

    job: int
    size: int


@dataclass(frozen=True, slots=True)
class Preempt:
    """Have a running job write a checkpoint and stop; where `State.preemption` says that this can be.

    Its units are free when the checkpoint is written. It is then queued again, with the id that it has, and
    begins from there. Both are told, as an end and an arrival.
    """

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


Action = Start | Grow | Shrink | Preempt | Reserve | WakeAt
