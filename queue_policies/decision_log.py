"""Decisions as records: the state that a policy saw, the time, and its actions. They can be decided again.

Each is one JSON object. Of a request and of the cluster only numbers of units are recorded. So a policy must
return the same actions again only if nodes do not matter: for slots of one core, or whole equal nodes.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from queue_policies import memory
from queue_policies.counting import CountingCluster, Units
from queue_policies.queue import IndexedQueue
from queue_policies.records import (
    Action,
    Change,
    CpuQuota,
    Elastic,
    Grow,
    Happened,
    Preempt,
    QueuedJob,
    Remember,
    Reserve,
    RunningJob,
    Shrink,
    Start,
    State,
    WakeAt,
)
from queue_policies.running import RunningJobs
from queue_policies.sharing import CoreSharing, JobEnd, SharingConsent, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from queue_policies.policy import Policy
    from queue_policies.records import Sketch

JSON = dict[str, Any]
_ACTIONS = {
    each.__name__: each for each in (Start, Grow, Shrink, Preempt, Reserve, WakeAt, CpuQuota, Remember)
}


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision as it was recorded."""

    policy: str
    state: State
    now: float
    actions: Sequence[Action]


@dataclass(frozen=True, slots=True)
class Difference:
    """A decision for which the policy returns other actions now."""

    number: int
    """Counted from 1."""
    recorded: Sequence[Action]
    answered: Sequence[Action]
    """What the policy returns now."""


@dataclass(frozen=True, slots=True)
class TimeTable:
    """The run times of an estimate, by size."""

    by_size: dict[int, float]

    def seconds(self, size: int) -> float:
        """Return the seconds from start to end at this size, which must be one of the job's."""
        return self.by_size[size]


def encode(policy: str, state: State, now: float, actions: Sequence[Action]) -> str:
    """Return a decision as a line of JSON."""
    sketch = state.cluster.sketch()
    rigid = state.sharing is not None  # what a rigid job takes matters to nobody else
    record = {
        "policy": policy,
        "now": now,
        "total": state.cluster.total,
        "free": state.cluster.free,
        "preemption": state.preemption,
        "changes": [[change.what.name, change.job] for change in state.changes],
        "queue": [_queued(job, rigid) for job in state.queue],
        "running": [
            _running(job, rigid) | {"held": _allocated(job.id, sketch)} for job in state.running.by_order()
        ],
        **_of_sharing(state),
        "actions": [_recorded(action) for action in actions],
    }
    return json.dumps(_finite(record), separators=(",", ":"))


def decode(line: str) -> Decision:
    """Read a decision from a line. Raises ValueError, KeyError or TypeError if it is none."""
    record = json.loads(line)
    cluster = CountingCluster(record["total"])
    for job in record["running"]:
        cluster.hold(job["id"], job.pop("held"))
    running = RunningJobs(_running_job(each) for each in record["running"])
    cluster.free = record["free"]
    state = State(
        IndexedQueue(_queued_job(each) for each in record["queue"]),
        running,
        cluster,
        [Change(Happened[what], job) for what, job in record["changes"]],
        record["preemption"],
        tuple(JobEnd(**_end(each)) for each in record.get("ends", ())),
        memory.restored(record.get("memory")),
        CoreSharing(**record["sharing"]) if "sharing" in record else None,
    )
    return Decision(record["policy"], state, record["now"], [_action(each) for each in record["actions"]])


def differences(policy: Policy, lines: Iterable[str]) -> Iterator[Difference]:
    """Have a policy decide all records again; yield those for which its actions differ."""
    for number, line in enumerate(lines, 1):
        decision = decode(line)
        answered = policy.decide(decision.state, decision.now)
        if list(answered) != list(decision.actions):
            yield Difference(number, decision.actions, answered)


def _of_sharing(state: State) -> JSON:
    """Return what a state has only where jobs share cores or a policy remembers."""
    found: JSON = {}
    if state.ends:
        found["ends"] = [each._asdict() for each in state.ends]
    if state.memory is not None:
        found["memory"] = state.memory
    return found if state.sharing is None else found | {"sharing": state.sharing._asdict()}


def _end(record: JSON) -> JSON:
    quotas = tuple((since, fraction) for since, fraction in record["quotas"])
    return record | {"limit": float(record["limit"]), "quotas": quotas}


def _recorded(action: Action) -> JSON:
    """Return an action without what is as it would be if it were not given, of what is not always there."""
    record = {"do": type(action).__name__, **asdict(action)}
    if isinstance(action, Start) and action.on is None:
        del record["on"], record["fraction"]
    return record


def _finite(value: Any) -> Any:
    """Return the value with infinities as text, as JSON has none."""
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def _allocated(job: int, sketch: Sketch) -> int:
    """Return the units that the job holds: more than its size while it grows, fewer if ranks are down."""
    free = sketch.free
    sketch.give(job)
    return sketch.free - free


def _queued(job: QueuedJob, rigid: bool) -> JSON:
    return {
        "id": job.id,
        "priority": job.priority,
        "size": job.request.size,
        "submitted": job.submitted,
        "limit": job.limit,
        "user": job.user,
        "elastic": None if job.elastic is None else asdict(job.elastic),
        "estimate": _times(job, rigid),
        **_sharing(job),
    }


def _running(job: RunningJob, rigid: bool) -> JSON:
    return {
        "id": job.id,
        "size": job.size,
        "started": job.started,
        "end": job.end,
        "elastic": None if job.elastic is None else asdict(job.elastic),
        "priority": job.priority,
        "submitted": job.submitted,
        "user": job.user,
        "acted": job.acted,
        "heeds": job.heeds,
        "remaining": job.remaining,
        "measured": job.measured,
        "estimate": _times(job, rigid),
        "stopping": job.stopping,
        "waits": job.waits,
        **_sharing(job),
    }


def _sharing(job: QueuedJob | RunningJob) -> JSON:
    """Return what a job has only where cores are shared."""
    found: JSON = {}
    if job.usage is not None:
        found["usage"] = job.usage._asdict()
    if job.consent is not None:
        found["consent"] = job.consent.value
    if isinstance(job, RunningJob):
        given = {"quota": (job.quota, 1.0), "host": (job.host, None), "guests": (job.guests, ())}
        found |= {key: value for key, (value, default) in given.items() if value != default}
    return found


def _times(job: QueuedJob | RunningJob, rigid: bool) -> JSON | None:
    elastic, estimate, size = job.elastic, job.estimate, job.request.size
    if estimate is None or (elastic is None and not rigid):
        return None
    sizes = range(elastic.min, elastic.max + 1) if elastic else (size,)
    return {str(each): estimate.seconds(each) for each in sizes}


def _queued_job(record: JSON) -> QueuedJob:
    fields = {**_records(record), "limit": float(record["limit"])}
    return QueuedJob(**fields)


def _running_job(record: JSON) -> RunningJob:
    fields = {**_records(record), "end": float(record["end"]), "acted": float(record["acted"])}
    return RunningJob(**fields)


def _records(record: JSON) -> JSON:
    elastic, estimate = record["elastic"], record["estimate"]
    return {
        **{key: value for key, value in record.items() if key != "size"},
        "request": Units(record["size"]),
        "elastic": None if elastic is None else Elastic(**elastic),
        "estimate": None if estimate is None else TimeTable({int(k): v for k, v in estimate.items()}),
        **_shared(record),
    }


def _shared(record: JSON) -> JSON:
    found: JSON = {}
    if "usage" in record:
        found["usage"] = Usage(**record["usage"])
    if "consent" in record:
        found["consent"] = SharingConsent(record["consent"])
    return found | ({"guests": tuple(record["guests"])} if "guests" in record else {})


def _action(record: JSON) -> Action:
    fields = dict(record)
    kind = _ACTIONS[fields.pop("do")]
    if "after" in fields:
        fields["after"] = tuple(fields["after"])
    if "memory" in fields:
        fields["memory"] = memory.restored(fields["memory"])
    action: Action = kind(**fields)
    return action
