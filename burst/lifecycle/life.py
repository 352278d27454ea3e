"""Everything that decides what is done next for a burst, and the ends that all bursts have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import durations
from burst.lifecycle import steps
from burst.lifecycle.records import ResourcePhase
from burst.lifecycle.states import BurstOutcome, BurstState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from burst.lifecycle.metering import NodeCount
    from burst.lifecycle.records import (
        AssignedJob,
        BurstObservation,
        BurstRecord,
        ResourceRecord,
        ResourceReport,
    )
    from burst.lifecycle.states import Timeouts
    from burst.lifecycle.steps import BurstStep

NOT_THERE = (ResourcePhase.ABSENT, ResourcePhase.BROKEN, ResourcePhase.GOING)
"""The phases of a resource that a burst has lost."""


class Life(NamedTuple):
    """Everything that decides what is done next."""

    burst: BurstRecord
    resources: Sequence[ResourceRecord]
    """In the order in which they are made."""
    jobs: Sequence[AssignedJob]
    observed: BurstObservation
    now: float
    timeouts: Timeouts
    counts: Sequence[NodeCount] = ()
    """How many of its nodes were there, the oldest first."""

    @property
    def ranks(self) -> frozenset[int]:
        """The ranks of the slot that it has."""
        return frozenset(range(self.burst.nodes))

    @property
    def is_late(self) -> bool:
        """Whether the state's deadline is over."""
        limit = self.timeouts.of(self.burst.state)
        return limit is not None and self.now - self.burst.state_since >= limit

    def status(self, resource: ResourceRecord) -> ResourceReport | None:
        """Return what the provider reports of a resource."""
        return self.observed.resources.get(resource.key.name)


def lost(
    life: Life,
    resource: ResourceRecord,
    phases: Sequence[ResourcePhase],
    state: BurstState = BurstState.DELETING,
) -> Iterator[BurstStep]:
    """Yield the end of a burst whose resource is in one of these phases."""
    status = life.status(resource)
    if status is not None and status.phase in phases:
        why = f": {status.reason}" if status.reason else ""
        what = f"{resource.key.kind} {resource.key.name} is {status.phase.value}{why}"
        yield steps.Enter(state, BurstOutcome.FAILED, what, asks_brokers=status.phase is ResourcePhase.BROKEN)


def orphaned(life: Life) -> Iterator[BurstStep]:
    """Yield the end of a burst whose MiniCluster is gone: nobody has jobs for it any more."""
    if life.observed.is_orphan:
        yield steps.Enter(BurstState.DELETING, BurstOutcome.FAILED, "its MiniCluster is gone")


def given_up(life: Life, reason: str) -> Iterator[BurstStep]:
    """Yield the end of a burst that somebody stopped, or that is late, before it has jobs."""
    if life.burst.stopping:
        yield steps.Enter(BurstState.DELETING, BurstOutcome.STOPPED, "somebody stopped it")
    if life.is_late:
        late = reason.format(limit(life))
        yield steps.Enter(BurstState.DELETING, BurstOutcome.FAILED, late, asks_brokers=True)


def limit(life: Life) -> str:
    """Return how long a burst may be in its state, in words."""
    return durations.encode(life.timeouts.of(life.burst.state) or 0.0)


def uncounted(life: Life) -> Iterator[BurstStep]:
    """Yield the wait for the provider to list all nodes: those that it never listed would cost nothing."""
    listed = life.counts[-1].nodes if life.counts else 0
    if listed < life.burst.nodes:
        yield steps.Wait(f"its provider lists {listed} of {life.burst.nodes} nodes")
