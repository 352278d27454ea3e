"""The states of a burst, their order as data, and how it went."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class BurstState(StrEnum):
    """Where a burst is in its life."""

    REQUESTED = "requested"
    """Nothing is reserved."""
    PLANNED = "planned"
    """It has its slot and its money, and its resources have names."""
    PROVISIONING = "provisioning"
    """Resources are made, one after the other."""
    JOINING = "joining"
    """All resources are there; brokers join, and a job is tried on each rank."""
    ACTIVE = "active"
    """Its jobs are in its queue, which is started."""
    DRAINING = "draining"
    """Jobs that wait are moved back, and those that run may end."""
    DELETING = "deleting"
    """Resources are deleted, until listings of the provider have nothing of it any more."""
    DELETED = "deleted"


class BurstOutcome(StrEnum):
    """How a burst went."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    EXPIRED = "expired"
    """Its time was over while jobs ran, or waited."""
    STOPPED = "stopped"
    """Somebody stopped it."""
    NOT_POSSIBLE = "not-possible"
    """It had no slot, or no money; nothing of it was ever made."""


_S = BurstState
TRANSITIONS: Mapping[BurstState, frozenset[BurstState]] = {
    _S.REQUESTED: frozenset({_S.PLANNED, _S.DELETED}),
    _S.PLANNED: frozenset({_S.PROVISIONING, _S.DELETING}),
    _S.PROVISIONING: frozenset({_S.JOINING, _S.DELETING}),
    _S.JOINING: frozenset({_S.ACTIVE, _S.DELETING}),
    _S.ACTIVE: frozenset({_S.DRAINING, _S.DELETING}),
    _S.DRAINING: frozenset({_S.DELETING}),
    _S.DELETING: frozenset({_S.DELETED}),
    _S.DELETED: frozenset(),
}
"""Which states may follow each one. Without resources there is nothing to delete: so from the first one alone
a burst ends at once."""
OPEN = frozenset(_S) - {_S.DELETED}


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The deadlines of states, and other spans of a burst's life, in seconds."""

    requested: float = 60.0
    planned: float = 60.0
    provisioning: float = 600.0
    joining: float = 300.0
    draining: float = 300.0
    idle: float = 300.0
    """For how long nothing runs and nothing waits before it is drained."""
    lost: float = 60.0
    """For how long all its ranks do not answer before it is given up: more than their fence takes."""
    verified: float = 30.0
    """Between the two listings that have nothing of it: they lag."""
    conclusion: float = 600.0
    """How long a lead that does not answer is waited for, to know what became of its jobs."""
    retry: float = 2.0
    """Before a call is tried again, the first time; twice as long each further time."""
    last_retry: float = 60.0
    stuck: float = 3600.0
    """After so long in `deleting` it is reported as stuck."""

    def of(self, state: BurstState) -> float | None:
        """Return how long a burst may be in a state; None: for ever, or until something else ends it."""
        return {
            BurstState.REQUESTED: self.requested,
            BurstState.PLANNED: self.planned,
            BurstState.PROVISIONING: self.provisioning,
            BurstState.JOINING: self.joining,
            BurstState.DRAINING: self.draining,
        }.get(state)
