"""What a burst costs: how many of its nodes were there, from when to when, and its fee while anything was."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from burst.lifecycle.records import ResourcePhase
from burst.planning import money

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from burst.lifecycle.records import BurstObservation, BurstRecord, ResourceRecord, ResourceReport


class NodeCount(NamedTuple):
    """How many nodes of a burst there are, from a time on until the next one is known."""

    at: float
    nodes: int


def nodes_of(report: ResourceReport) -> int:
    """Return how many nodes of a resource are there and cost money, as its provider reports it."""
    if report.nodes is not None:
        return report.nodes
    return 0 if report.phase is ResourcePhase.ABSENT else report.key.nodes


def total(reports: Iterable[ResourceReport]) -> int:
    """Return how many nodes there are of all resources together."""
    return sum(map(nodes_of, reports))


def change(
    counts: Sequence[NodeCount],
    resources: Sequence[ResourceRecord],
    observed: BurstObservation,
    now: float,
    *,
    is_deleting: bool = False,
) -> NodeCount | None:
    """Return how many nodes there are if that is known and new, and since when.

    What is first seen of a resource is there since its provider made it, which is not before it was intended;
    any other change is dated when it is seen: both ways within the time between two observations. Of what is
    being deleted the listing alone is believed that it is gone.
    """
    begun = [each for each in resources if each.intent_at is not None and each.gone_at is None]
    if not begun:
        return of_listing(counts, observed.listed, now) if observed.is_listed else None
    reports = [observed.resources[each.key.name] for each in begun if each.key.name in observed.resources]
    if len(reports) < len(begun) or (is_deleting and any(map(_is_absent, reports))):
        return None
    noted, seen = _last(counts), total(reports)
    if seen == noted.nodes:
        return None
    since = _made(begun, observed, now, noted) if seen > noted.nodes else now
    return NodeCount(max(since, noted.at), seen)


def of_listing(counts: Sequence[NodeCount], listed: Sequence[ResourceReport], now: float) -> NodeCount | None:
    """Return the same from what the provider lists, where resources were noted as gone, or are not asked.

    What was made before it was noted as gone never was: it is counted from then on.
    """
    noted, seen = _last(counts), total(listed)
    if seen == noted.nodes:
        return None
    if seen < noted.nodes:
        return NodeCount(now, seen)
    first = min((each.since for each in listed if each.since and nodes_of(each)), default=noted.at or now)
    return NodeCount(max(min(first, now), noted.at), seen)


def _is_absent(report: ResourceReport) -> bool:
    return bool(report.key.nodes) and report.phase is ResourcePhase.ABSENT and not report.nodes


def _last(counts: Sequence[NodeCount]) -> NodeCount:
    return counts[-1] if counts else NodeCount(0.0, 0)


def _made(begun: Iterable[ResourceRecord], observed: BurstObservation, now: float, noted: NodeCount) -> float:
    """Return since when what is new is there: what was not noted as made may have been for some time.

    So may the first nodes of what was noted: listings of machines lag behind that of their pool.
    """
    for each in begun:
        report = observed.resources[each.key.name]
        is_new = each.made_at is None or not noted.nodes
        if is_new and report.since and nodes_of(report):
            return min(max(report.since, each.intent_at or 0.0), now)
    return now


def node_seconds(counts: Sequence[NodeCount], now: float) -> float:
    """Return for how long nodes were there until now, in seconds of one node."""
    ends = [*counts, NodeCount(now, 0)]
    return sum(one.nodes * max(min(other.at, now) - one.at, 0.0) for one, other in pairwise(ends))


def fee_seconds(
    burst: BurstRecord, resources: Sequence[ResourceRecord], counts: Sequence[NodeCount], now: float
) -> float:
    """Return for how long a burst had anything: from its first resource until a listing had nothing of it."""
    made = [each.made_at for each in resources if each.made_at is not None]
    last = _last(counts)
    is_there = burst.empty_since is None or last.nodes
    end = now if is_there else max(burst.empty_since or 0.0, last.at)
    return max(min(end, now) - min(made), 0.0) if made else 0.0


def cost(
    burst: BurstRecord, resources: Sequence[ResourceRecord], counts: Sequence[NodeCount], now: float
) -> int:
    """Return what a burst has cost until now, in micro-units, rounded up."""
    nodes = money.cost(burst.price, 1, node_seconds(counts, now))
    return nodes + money.cost(burst.fee, 1, fee_seconds(burst, resources, counts, now))


def hourly(burst: BurstRecord, counts: Sequence[NodeCount]) -> int:
    """Return what a burst costs an hour, as it is."""
    return burst.price * (counts[-1].nodes if counts else 0) + burst.fee
