"""A MiniCluster of an API server for commands: frozen records, without any I/O."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING

from minicluster.document import stored_status
from minicluster.instance.records import BurstSummary
from minicluster.plan.constants import ConditionType, Phase, Reason

if TYPE_CHECKING:
    from minicluster.plan.objects.fields import Object

ENDING = "Ending"
"""The phase of a MiniCluster that is being deleted, as of one on this machine."""

_CONDITION_OF_PHASE: dict[str, ConditionType] = {
    Phase.INVALID: ConditionType.VALID,
    Phase.STARTING: ConditionType.RUNNING,
    Phase.RUNNING: ConditionType.RUNNING,
    Phase.RESIZING: ConditionType.RESIZING,
    Phase.SUSPENDED: ConditionType.SUSPENDED,
    Phase.SUCCEEDED: ConditionType.SUCCEEDED,
    Phase.FAILED: ConditionType.FAILED,
}
"""The condition whose message explains a phase."""


@dataclass(frozen=True, slots=True)
class ConditionSummary:
    """One condition."""

    type: str
    status: str
    reason: str
    message: str
    since: float | None
    """In seconds since 1970; None where the condition has no time."""


@dataclass(frozen=True, slots=True)
class EventSummary:
    """An Event."""

    type: str
    reason: str
    message: str
    count: int
    """How often it was reported."""
    last: float | None
    """When it was reported last, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Scaler:
    """A HorizontalPodAutoscaler of a MiniCluster."""

    name: str
    least: int
    """Its minReplicas."""
    most: int
    """Its maxReplicas."""
    desired: int | None
    """The size that it wants; None until it has read its metric."""
    conditions: tuple[ConditionSummary, ...]

    @property
    def troubles(self) -> tuple[str, ...]:
        """Return the conditions that keep it from following its metric."""
        wanted = {"AbleToScale", "ScalingActive"}
        return tuple(
            f"{each.type} {each.status}, {each.reason}: {each.message}"
            for each in self.conditions
            if each.type in wanted and each.status != "True"
        )


@dataclass(frozen=True, slots=True)
class CutSummary:
    """How brokers were cut by `spec.profile`: the content of `status.granularity`."""

    policy: str
    profile: str
    nodes: int
    groups: int
    brokers: int
    """Into how many each one of `spec.size` was cut."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The state of a MiniCluster. Sizes count brokers as the document has them."""

    namespace: str
    name: str
    uid: str
    phase: str
    """Empty until an operator has reconciled it."""
    size: int
    max_size: int | None
    """None where nothing limits growth yet."""
    ready_brokers: int
    """Counts pods, also where brokers were cut."""
    exit_code: int | None
    """None until the main command has ended."""
    queue_policy: str
    created: float
    conditions: tuple[ConditionSummary, ...]
    min_size: int
    last_dump: Object | None
    """The content of `status.lastDump`."""
    save: Object | None
    """The content of `status.save`; an operator of 0.1.0 writes none."""
    is_seen: bool
    """Whether the status is about the document as it is now."""
    is_outdated: bool
    """Whether it is about an earlier version, of a document that an operator of this cluster manages."""
    is_to_be_suspended: bool
    """Whether the document says so: spec.suspend."""
    waits_since: float | None = None
    """Since when its document waits for an operator, in seconds since 1970; None: it does not."""
    bursts: tuple[BurstSummary, ...] = ()
    """The content of `status.bursts`."""
    cut: CutSummary | None = None
    """None: each one of `spec.size` is one broker."""

    @property
    def parts(self) -> int:
        """Return how many brokers, and so pods, each one of `spec.size` is."""
        return self.cut.brokers if self.cut is not None else 1

    @property
    def min_brokers(self) -> int:
        """Return how many brokers are started before jobs are, as a lead counts them."""
        return self.min_size * self.parts

    def condition(self, type_: str) -> ConditionSummary | None:
        """Return a condition; None where the status does not have it."""
        return next((each for each in self.conditions if each.type == type_), None)

    @property
    def is_suspended_by_document(self) -> bool:
        """Whether it waits until the document is changed, and not in a queue such as Kueue's.

        One that is being resumed may be reported as suspended still.
        """
        condition = self.condition(ConditionType.SUSPENDED)
        reason = condition.reason if condition is not None else ""
        return self.is_to_be_suspended and self.phase == Phase.SUSPENDED and reason == Reason.SUSPENDED

    @property
    def stage(self) -> str:
        """What happens now, in one line: the phase, and the message of its condition."""
        condition = self.condition(self._phase_condition())
        return (
            f"{self.phase}: {condition.message}"
            if condition is not None and condition.message
            else self.phase
        )

    def _phase_condition(self) -> ConditionType:
        if self.phase in _CONDITION_OF_PHASE:
            return _CONDITION_OF_PHASE[self.phase]
        made = self.condition(ConditionType.RESOURCES_CREATED)
        if made is not None and made.status == "True":
            return ConditionType.PODS_SCHEDULED
        return ConditionType.RESOURCES_CREATED


def status_of(item: Object) -> Object:
    """Return the status of a MiniCluster, as far as this release can read it."""
    return stored_status.readable(item.get("status") or {}).content


def of(item: Object) -> Summary:
    """Return the summary of a MiniCluster."""
    metadata, spec, status = item["metadata"], item.get("spec") or {}, status_of(item)
    cut = _cut(status.get("granularity"))
    hosts = status.get("maximumSize", 0)  # counts pods
    is_seen = _is_seen(item, status)
    is_elsewhere = _is_elsewhere(item)
    return Summary(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        phase=ENDING if "deletionTimestamp" in metadata else status.get("phase", ""),
        size=spec.get("size", 0),
        max_size=hosts // (cut.brokers if cut else 1) or spec.get("maxSize") or None,
        ready_brokers=status.get("readyBrokers", 0),
        exit_code=status.get("exitCode"),
        queue_policy=status.get("queuePolicy", ""),
        created=seconds(metadata.get("creationTimestamp")) or 0.0,
        conditions=tuple(_condition(each) for each in status.get("conditions") or ()),
        min_size=spec.get("minSize") or 1,
        last_dump=status.get("lastDump"),
        save=status.get("save"),
        is_seen=is_seen,
        is_outdated=bool(status.get("phase")) and not is_seen and not is_elsewhere,
        is_to_be_suspended=bool(spec.get("suspend")),
        waits_since=waits_since(item),
        bursts=tuple(_burst(each) for each in status.get("bursts") or ()),
        cut=cut,
    )


def waits_since(item: Object) -> float | None:
    """Return since when a MiniCluster's document waits for an operator of this cluster; None: it does not.

    That is its last change, by the API server's clock in seconds since 1970.
    """
    if _is_elsewhere(item) or _is_seen(item, status_of(item)):
        return None
    metadata = item["metadata"]
    written = (each for each in metadata.get("managedFields") or () if each.get("subresource") != "status")
    times = [metadata.get("creationTimestamp"), *(each.get("time") for each in written)]
    return max((seconds(each) or 0.0 for each in times), default=0.0)


def _is_seen(item: Object, status: Object) -> bool:
    return bool(status.get("phase")) and status.get("observedGeneration", 0) >= item["metadata"]["generation"]


def _is_elsewhere(item: Object) -> bool:
    """Whether no operator of this cluster carries the document out (any more)."""
    return "deletionTimestamp" in item["metadata"] or bool((item.get("spec") or {}).get("managedBy"))


def scaler(item: Object) -> Scaler:
    """Return the summary of a HorizontalPodAutoscaler (autoscaling/v2)."""
    spec, status = item["spec"], item.get("status") or {}
    return Scaler(
        name=item["metadata"]["name"],
        least=spec.get("minReplicas", 1),
        most=spec["maxReplicas"],
        desired=status.get("desiredReplicas") if status.get("conditions") else None,
        conditions=tuple(_condition(each) for each in status.get("conditions") or ()),
    )


def summarize_event(event: Object) -> EventSummary:
    """Return the summary of an Event (events.k8s.io/v1); those of core/v1 have deprecated fields.

    Of these the last time is in whole seconds, and its eventTime is more exact.
    """
    series = event.get("series") or {}
    found = (series.get("lastObservedTime"), event.get("deprecatedLastTimestamp"), event.get("eventTime"))
    times = [seconds(each) or 0.0 for each in found if each]
    return EventSummary(
        type=event.get("type", ""),
        reason=event.get("reason", ""),
        message=event.get("note", ""),
        count=series.get("count") or event.get("deprecatedCount") or 1,
        last=max(times) if times else seconds(event["metadata"].get("creationTimestamp")),
    )


def seconds(text: str | None) -> float | None:
    """Return a time of Kubernetes (RFC 3339) in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp() if text else None


def _cut(stored: Object | None) -> CutSummary | None:
    """Return how brokers were cut; None where they were not, or a later release stored it in another way."""
    names = [each.name for each in fields(CutSummary)]
    if not stored or any(name not in stored for name in names) or stored["brokers"] < 1:
        return None
    return CutSummary(**{name: stored[name] for name in names})


def _burst(burst: Object) -> BurstSummary:
    return BurstSummary(
        **{each.name: burst[each.name] for each in fields(BurstSummary) if each.name in burst}
    )


def _condition(condition: Object) -> ConditionSummary:
    return ConditionSummary(
        type=condition["type"],
        status=condition["status"],
        reason=condition.get("reason", ""),
        message=condition.get("message", ""),
        since=seconds(condition.get("lastTransitionTime")),
    )
