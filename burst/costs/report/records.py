"""What a report is made from, all of it of the ledger; and the facts in it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from burst.lifecycle import metering
from burst.lifecycle.states import BurstState

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from burst.costs.rows import CostRow
    from burst.lifecycle.metering import NodeCount
    from burst.lifecycle.records import BurstRecord, ResourceRecord


class StateSpan(NamedTuple):
    """For how long a burst was in a state."""

    state: BurstState
    begin: float
    end: float


class ReportedBurst(NamedTuple):
    """A burst with what the ledger has of it."""

    burst: BurstRecord
    resources: Sequence[ResourceRecord] = ()
    counts: Sequence[NodeCount] = ()
    states: Sequence[tuple[float, BurstState]] = ()
    """When it has entered each, the oldest first; the first one is when it was asked for."""
    reserved_at: float | None = None
    """When its money was reserved; None: it was not."""
    charged: int | None = None
    """What it was charged; None: something of it is left."""

    def cost(self, now: float) -> int:
        """Return what it has cost until a time, as it is metered."""
        seen = [each for each in self.counts if each.at <= now]
        return metering.cost(self.burst, self.resources, seen, now)

    def total(self, now: float) -> int:
        """Return what it was charged, or has cost until now."""
        return self.cost(now) if self.charged is None else self.charged

    def end(self, now: float) -> float:
        """Return when nothing of it was left, or now."""
        return self.burst.state_since if self.burst.state is BurstState.DELETED else now

    def spans(self, now: float) -> Iterator[StateSpan]:
        """Yield the states that it was in, until now."""
        ends = [*(at for at, _ in self.states[1:]), self.end(now)]
        for (begin, state), end in zip(self.states, ends, strict=False):
            if state is not BurstState.DELETED and end > begin:
                yield StateSpan(state, begin, end)


@dataclass(frozen=True, slots=True)
class ReportData:
    """Bursts that were asked for since a time."""

    since: float
    """0: all that ever were."""
    now: float
    currency: str
    bursts: Sequence[ReportedBurst] = ()
    """The oldest first."""
    rows: Sequence[CostRow] = ()
    """What scopes have cost since then."""
    alarms: Sequence[str] = field(default=())

    @property
    def begin(self) -> float:
        """When its curves begin: with the first burst."""
        return min((each.burst.created for each in self.bursts), default=self.now)

    def titles(self) -> Mapping[str, str]:
        """Return by label how people know each burst's slot."""
        return {each.burst.label: f"{each.burst.cluster_name} {each.burst.slot}" for each in self.bursts}
