"""What a policy reads and returns: immutable records, and protocols for its views of queue and cluster.

Times are seconds of the caller's clock. A job's request is opaque to policies: they pass it to a `Sketch`, a
scratch copy of the cluster. That knows nodes, cores and properties, or just counts, in a simulator.

Records that are made for every job or decision are NamedTuples, which are made several times as fast as a
frozen dataclass. Actions are dataclasses: a Grow never equals a Shrink.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from queue_policies.placement.records import Profile
    from queue_policies.sharing import CoreSharing, JobEnd, SharingConsent, Usage

Memory = None | bool | int | float | str | tuple["Memory", ...]
"""What a policy may remember: JSON that nobody can change. Numbers are finite; `memory.restored` reads it."""


class Request(Hashable, Protocol):
    """The resources that a job requests. Of equal requests, both fit or neither does."""

    @property
    def size(self) -> int:
        """Units of the cluster (cores, slots or nodes) that the job needs at least."""


class SizedRequest(Request, Protocol):
    """The request of an elastic job, for its least size."""

    def sized(self, size: int) -> Request:
        """Return the same request for `size` units."""


class RunTime(Protocol):
    """An estimate of how long a job takes at each size: exact, noisy or learned."""

    def seconds(self, size: int) -> float:
        """Return the seconds from its start to its end, if it ran at this size all the time."""


@dataclass(frozen=True, slots=True)
class Elastic:
    """The sizes at which a job can run, in the cluster's units.

    All units that it holds count, those of a launcher too. The size of a moldable job is chosen when it
    starts; a malleable one may also be resized while it runs.
    """

    min: int
    max: int
    malleable: bool = False


def _profile(request: Request) -> Profile | None:
    shape = getattr(request, "shape", None)  # requests that only count units have none
    return None if shape is None else shape.profile


class QueuedJob(NamedTuple):
    """A job that waits. The order of the queue is priority descending, then id ascending."""

    id: int
    """Ids rise with submission."""
    priority: int
    request: Request
    """For an elastic job, that of its least size."""
    submitted: float
    limit: float = math.inf
    """The run time limit, in seconds."""
    user: int = 0
    elastic: Elastic | None = None
    """None: the job is rigid."""
    estimate: RunTime | None = None
    """None: unknown."""
    usage: Usage | None = None
    """From earlier runs of its program that had their cores alone. None: unknown."""
    consent: SharingConsent | None = None

    @property
    def profile(self) -> Profile | None:
        """What its tasks are like; None: unknown."""
        return _profile(self.request)

    @property
    def order(self) -> tuple[int, int]:
        """The sort key of the queue's order."""
        return (-self.priority, self.id)


class RunningJob(NamedTuple):
    """A job that holds resources."""

    id: int
    request: Request
    """For the size that it has now."""
    started: float
    end: float = math.inf
    """When its time limit ends it, infinite without one."""
    elastic: Elastic | None = None
    priority: int = 0
    submitted: float = 0.0
    user: int = 0
    acted: float = -math.inf
    """When the last action on it ended or will end: its start or a resize, with the time that this costs."""
    heeds: bool = True
    """Whether it accepts orders: its program is registered, and has no order under way."""
    remaining: float | None = None
    """The share of its work that was left at the time `measured`. None: unknown."""
    measured: float = 0.0
    """A time in the future is when it begins to compute."""
    estimate: RunTime | None = None
    """None: unknown."""
    stopping: bool = False
    """Whether it will return its units without a further action: it was preempted, or its work is done."""
    waits: bool = False
    """Whether it has not begun, as others have to shrink for it (`Start.after`)."""
    usage: Usage | None = None
    """What it uses; None: not measured yet."""
    quota: float = 1.0
    """The fraction of the time of the cores that it runs on which it may use: a guest, of its host's."""
    host: int | None = None
    """The job on whose cores it runs as a guest. It holds no units of its own until that one ends."""
    guests: tuple[int, ...] = ()
    """The jobs that run on its cores as guests."""
    consent: SharingConsent | None = None

    @property
    def size(self) -> int:
        """The units that it holds."""
        return self.request.size

    @property
    def profile(self) -> Profile | None:
        """What its tasks are like; None: unknown."""
        return _profile(self.request)

    @property
    def preemptible(self) -> bool:
        """Whether it can write a checkpoint now: not before it begins, while it stops, or amid a resize."""
        malleable = self.elastic is not None and self.elastic.malleable
        return not (self.stopping or self.waits) and (self.heeds or not malleable)

    @property
    def order(self) -> tuple[int, int]:
        """The sort key of the queue's order, comparable with that of queued jobs."""
        return (-self.priority, self.id)

    def left(self, now: float) -> float | None:
        """Return the share of its work that is left at `now`, by its estimate; None: unknown."""
        if self.remaining is None or self.estimate is None:
            return self.remaining
        done = max(0.0, now - self.measured) / self.estimate.seconds(self.request.size)
        return max(0.0, self.remaining - done)


class Sketch(Protocol):
    """A scratch copy of the cluster, on which a policy tries allocations. Placing is deterministic."""

    @property
    def free(self) -> int:
        """Free units; if there are none, no request fits."""

    def fits(self, request: Request) -> bool:
        """Return whether `request` could be placed now."""

    def take(self, job: int, request: Request) -> bool:
        """Place `request` for the job and return True, or change nothing and return False."""

    def holds(self, job: int) -> bool:
        """Return whether the job was placed here."""

    def give(self, job: int) -> None:
        """Release a job's resources, whether it really runs or was placed here."""

    def mirror(self, other: Sketch, job: int) -> None:
        """Give the job the resources that it has in `other`, which must be free here."""

    def copy(self) -> Sketch:
        """Return an independent copy."""


class Cluster(Protocol):
    """The resources of an instance. Those that are up and not drained can be given to jobs."""

    @property
    def total(self) -> int:
        """All units, used or not."""

    @property
    def free(self) -> int:
        """Free units that can be given to jobs."""

    def sketch(self) -> Sketch:
        """Return a scratch copy of the present state, at little cost."""


class Queue(Protocol):
    """The jobs that may start, in order."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[QueuedJob]: ...

    def __getitem__(self, job: int) -> QueuedJob: ...

    def __contains__(self, job: object) -> bool: ...

    def classes(self, most: float) -> Iterable[JobClass]:
        """Return the classes of jobs with equal request and elastic range that need at most `most` units."""


class JobClass(Protocol):
    """Queued jobs with equal requests, in the queue's order."""

    @property
    def head(self) -> QueuedJob:
        """The first of them."""

    def after(self, order: tuple[int, int], shorter: float = math.inf) -> QueuedJob | None:
        """Return the first job behind `order` whose limit is below `shorter` (infinite: any), or None."""


class Running(Protocol):
    """The jobs that hold resources, by id. `RunningJobs` implements it."""

    def __len__(self) -> int: ...

    def __getitem__(self, job: int) -> RunningJob: ...

    def __contains__(self, job: object) -> bool: ...

    def by_end(self) -> Iterator[RunningJob]:
        """Iterate over the jobs by the ends of their time limits, then by id."""

    def by_order(self) -> Sequence[RunningJob]:
        """Return the jobs in the queue's order: priority descending, then id ascending."""


class Happened(enum.Enum):
    """What can change between two decisions."""

    ARRIVED = enum.auto()  # a job came into the queue
    LEFT = enum.auto()  # a job left the queue without being started by the policy
    ENDED = enum.auto()  # a running job returned its resources
    RESIZED = enum.auto()  # a running job acknowledged an order: it has its new size
    REFUSED = enum.auto()  # it refused an order or did not answer: a start that waited for it is canceled
    REGISTERED = enum.auto()  # a running job accepts orders now, or does so no more
    WOKEN = enum.auto()  # the time came for which the policy asked
    CLUSTER = enum.auto()  # ranks went up, down, drained or undrained; or a time limit changed
    MEASURED = enum.auto()  # a running job's usage was measured anew
    DEGRADED = enum.auto()  # a running job that has guests does much less than its quota explains


class Change(NamedTuple):
    """One event since the last decision."""

    what: Happened
    job: int | None = None
    """None: it is about no job."""


class State(NamedTuple):
    """Everything that a policy may know. The views are read-only, and valid for one decision."""

    queue: Queue
    running: Running
    cluster: Cluster
    changes: Sequence[Change]
    """Since the last decision."""
    preemption: bool = False
    """Whether running jobs can be preempted here, as in the simulator."""
    ends: Sequence[JobEnd] = ()
    """One for each ENDED of the changes whose end is known."""
    memory: Memory = None
    """What the policy's last `Remember` had. None: nothing yet, or lost."""
    sharing: CoreSharing | None = None
    """None: jobs cannot share cores here."""


@dataclass(frozen=True, slots=True)
class Start:
    """Start a queued job.

    With `after`, it starts when all these jobs have acknowledged their order to shrink. Until then it is
    among the running jobs at that size, and accepts no orders. Its units are not free: neither those that the
    shrinking jobs give up for it, nor those that it takes from the free ones. If one refuses or does not
    answer in time, the job is queued again, and the policy is asked again.
    """

    job: int
    size: int | None = None
    """The size of an elastic job; None: its least."""
    after: tuple[int, ...] = ()
    """Running jobs, each with a Shrink earlier in the same answer."""
    on: int | None = None
    """The running job on whose cores it starts as a guest, and takes no free units. See `CpuQuota`."""
    fraction: float = 0.0
    """A guest's quota: the fraction of the time of its host's cores that it may use."""

    def __repr__(self) -> str:  # plug-ins of 0.1.0 print what they know
        guest = "" if self.on is None else f", on={self.on!r}, fraction={self.fraction!r}"
        return f"Start(job={self.job!r}, size={self.size!r}, after={self.after!r}{guest})"


@dataclass(frozen=True, slots=True)
class Grow:
    """Order a running job to grow to `size`, with units that are free now."""

    job: int
    size: int


@dataclass(frozen=True, slots=True)
class Shrink:
    """Order a running job to shrink to `size`. Its program chooses which units it returns."""

    job: int
    size: int


@dataclass(frozen=True, slots=True)
class Preempt:
    """Have a running job write a checkpoint and stop. Only valid with `State.preemption`.

    Its units are free when the checkpoint is written. The job is then queued again with its id, and later
    continues from the checkpoint. The changes contain both, as an end and an arrival.
    """

    job: int


@dataclass(frozen=True, slots=True)
class Reserve:
    """Report to the user when a queued job is expected to start."""

    job: int
    at: float


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Decide again at this time, even if nothing happens."""

    time: float


@dataclass(frozen=True, slots=True)
class CpuQuota:
    """Let a job use at most this fraction of the time of the cores that it runs on; 1 lifts its quota.

    It runs, or starts earlier in the same answer. The quotas of a host and its guests sum to at most 1, so a
    host's quota is lowered before a guest starts.

    When a guest ends, the instance lifts its host's quota. When a host ends, its guest keeps
    as many of the cores as it asked for, and its quota is lifted; the rest is free. A policy that wants it
    otherwise answers so at that change.
    """

    job: int
    fraction: float


@dataclass(frozen=True, slots=True)
class Remember:
    """Have this memory in the next states: the last one of an answer counts. It is recorded and dumped."""

    memory: Memory
    note: str = ""
    """A sentence for the log: what was not as expected of the memory so far."""


Action = Start | Grow | Shrink | Preempt | Reserve | WakeAt | CpuQuota | Remember
