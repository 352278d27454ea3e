"""What the service answers, as frozen records. Times are seconds since 1970, and None before."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from minicluster.client.errors import BadAnswer
from minicluster.instance.records import JobException

if TYPE_CHECKING:
    from collections.abc import Mapping

    from _typeshed import DataclassInstance

    R = TypeVar("R", bound=DataclassInstance)

COMPLETED = "COMPLETED"
CANCELED = "CANCELED"


@dataclass(frozen=True, slots=True)
class JobBurst:
    """The burst in whose queue a job is: nodes of another cluster that were made for jobs."""

    id: str
    slot: str
    """Whose hosts it has: the name of its queue as well."""
    provider: str
    state: str


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job at one moment."""

    id: str
    """In F58 (RFC 19)."""
    number: str
    """The same in decimals."""
    cluster: str
    state: str
    """DEPEND, PRIORITY, SCHED, RUN, CLEANUP or INACTIVE (RFC 21)."""
    t_submit: float
    owner: str | None = None
    """The user's id; None: it was submitted inside the instance."""
    owner_name: str | None = None
    """The user's name; None where he was deleted, too."""
    name: str = ""
    result: str | None = None
    """COMPLETED, FAILED, CANCELED or TIMEOUT; None before the end."""
    returncode: int | None = None
    """Exit code, or the negative number of a signal."""
    queue: str = ""
    bank: str = ""
    urgency: int = 16
    priority: int | None = None
    nnodes: int = 0
    ntasks: int = 0
    ncores: int = 0
    duration: float = 0.0
    """The time limit in seconds; 0: none."""
    expiration: float = 0.0
    t_run: float | None = None
    t_cleanup: float | None = None
    t_inactive: float | None = None
    nodelist: str = ""
    """A hostlist (RFC 29)."""
    exception: JobException | None = None
    dependencies: tuple[str, ...] = ()
    annotations: Mapping[str, Any] = field(default_factory=dict)
    restart_of: str | None = None
    """The job of which it is a restart."""
    burst: JobBurst | None = None
    """The open burst in whose queue it is; None: in none, or it is in a listing."""

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self.state == "INACTIVE"

    @property
    def outcome(self) -> str:
        """How it ended, in words."""
        note = self.exception.note if self.exception is not None else ""
        if self.result == COMPLETED:
            return "completed"
        if self.result == CANCELED:
            return f"was canceled: {note}" if note else "was canceled"
        if self.result == "TIMEOUT":
            return f"was ended by its time limit of {self.duration:g} s"
        if not self.ended:
            return f"has not ended: {self.state}"
        return f"failed: {note}" if note else f"failed with exit code {self.returncode}"


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An entry of a job's eventlog (RFC 18, names RFC 21)."""

    timestamp: float
    name: str
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """A cluster that one may use."""

    name: str
    namespace: str = ""
    tenancy: str = ""
    """shared: all jobs run as one account. own: it is one user's."""
    owner: str | None = None
    state: str = ""
    """ready, or away: its instance cannot be reached now."""
    reason: str = ""
    """Why it is away."""


@dataclass(frozen=True, slots=True)
class Drained:
    """Why a node gets no new work."""

    timestamp: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node."""

    host: str
    rank: int
    state: str
    """Of its broker: full, partial, degraded, lost or offline."""
    allocated: bool = False
    """Whether a job has resources of it."""
    drained: Drained | None = None
    slot: str = ""
    """Of which slot for bursts it is a host; empty: the cluster's own."""


@dataclass(frozen=True, slots=True)
class ResourceAmount:
    """Some of a cluster's resources."""

    nodes: int = 0
    cores: int = 0
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class NodesAmounts:
    """How much there is of several nodes."""

    all: ResourceAmount
    up: ResourceAmount
    free: ResourceAmount
    allocated: ResourceAmount


@dataclass(frozen=True, slots=True)
class NodesRecord:
    """The nodes of a cluster, and the resources of its own ones."""

    nodes: tuple[NodeRecord, ...]
    own: NodesAmounts
    bursts: Mapping[str, NodesAmounts] = field(default_factory=dict)
    """What jobs in the queues of bursts may get, by queue."""


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """A queue."""

    name: str
    enabled: bool
    """Whether it takes jobs."""
    started: bool
    """Whether it starts jobs."""
    disable_reason: str = ""
    stop_reason: str = ""


@dataclass(frozen=True, slots=True)
class JobCounts:
    """How many jobs are in which state."""

    pending: int = 0
    running: int = 0
    inactive: int = 0


@dataclass(frozen=True, slots=True)
class CancelResult:
    """What became of one job of many that were to be cancelled."""

    id: str
    status: int
    """202: it was; 404 or 409: why not is in the detail."""
    detail: str = ""


_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "None": (type(None),),
}


def read(kind: type[R], found: Any, **converted: Any) -> R:
    """Return a record of an answer's fields; those that it does not know are left out.

    `converted` has the fields that are more than a text or a number. Raises BadAnswer.
    """
    if not isinstance(found, dict):
        raise BadAnswer(f"an answer has something else in place of a {kind.__name__}")
    values = {}
    for each in fields(kind):
        if each.name in converted:
            values[each.name] = converted[each.name]
        elif each.name in found:
            values[each.name] = _checked(kind, each.name, str(each.type), found[each.name])
        elif each.default is MISSING and each.default_factory is MISSING:
            raise BadAnswer(f"an answer has a {kind.__name__} without {each.name}")
    return kind(**values)


def _checked(kind: type, name: str, annotation: str, value: Any) -> Any:
    allowed = tuple(each for word in annotation.split(" | ") for each in _TYPES.get(word, (object,)))
    is_right = isinstance(value, allowed) and ("bool" in annotation or not isinstance(value, bool))
    if is_right or object in allowed:
        return value
    raise BadAnswer(f"an answer has a {kind.__name__} whose {name} is no {annotation}")


def job_record(found: Any) -> JobStatus:
    """Return a job. Raises BadAnswer."""
    more = found if isinstance(found, dict) else {}
    exception, burst = more.get("exception"), more.get("burst")
    return read(
        JobStatus,
        found,
        exception=None if exception is None else read(JobException, exception),
        burst=None if burst is None else read(JobBurst, burst),
        dependencies=tuple(map(str, more.get("dependencies") or ())),
        annotations=more.get("annotations") or {},
    )


def nodes_record(found: Any) -> NodesRecord:
    """Return nodes and resources. Raises BadAnswer."""
    nodes = tuple(_node(each) for each in member(found, "nodes"))
    bursts = found.get("bursts") or {}
    if not isinstance(bursts, dict):
        raise BadAnswer("an answer has something else in place of the resources of bursts")
    return NodesRecord(
        nodes, _amounts(member(found, "resources")), {name: _amounts(each) for name, each in bursts.items()}
    )


def _amounts(found: Any) -> NodesAmounts:
    parts = ("all", "up", "free", "allocated")
    return NodesAmounts(**{name: read(ResourceAmount, member(found, name)) for name in parts})


def _node(found: Any) -> NodeRecord:
    drained = found.get("drained") if isinstance(found, dict) else None
    return read(NodeRecord, found, drained=None if drained is None else read(Drained, drained))


def member(found: Any, name: str) -> Any:
    """Return a member of an answer. Raises BadAnswer."""
    if not isinstance(found, dict) or name not in found:
        raise BadAnswer(f"an answer is without {name}: is this the service?")
    return found[name]
