"""What the ledger says of all bursts, as numbers; pure but for reading it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from burst.costs import running
from burst.costs.rows import uses
from burst.ledger import spending, totals
from burst.lifecycle.states import OPEN, BurstState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncConnection

    from burst.costs.budgets import PeriodBudget
    from burst.costs.rows import BudgetUse
    from burst.costs.running import RunningBurst
    from burst.lifecycle.records import BurstRecord

_PROVIDER = "provider:"
_WITHOUT_NODES = frozenset({BurstState.REQUESTED, BurstState.PLANNED})


@dataclass(frozen=True, slots=True)
class BurstFigures:
    """Numbers at one time; money is in micro-units."""

    states: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """Open bursts by state and provider."""
    nodes: Mapping[str, int] = field(default_factory=dict)
    """Nodes that are made, used or deleted, by provider."""
    charged: Mapping[str, int] = field(default_factory=dict)
    """What deleted bursts have cost, by provider."""
    reserved: Mapping[str, int] = field(default_factory=dict)
    """What open bursts may cost at worst, by scope."""
    jobs: Mapping[str, int] = field(default_factory=dict)
    """Jobs of deleted bursts by what became of them."""
    stuck: int = 0
    """Bursts that are being deleted for too long."""
    stuck_cost: Mapping[str, int] = field(default_factory=dict)
    """What they cost an hour, by provider."""
    beyond: Mapping[str, int] = field(default_factory=dict)
    """What open bursts have cost beyond what was reserved, by provider."""
    used: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """What is charged and reserved of budgets in their present period, by scope and period."""


@dataclass(frozen=True, slots=True)
class LedgerTotals:
    """What is read of the ledger, at one time."""

    open: tuple[BurstRecord, ...]
    charged: Mapping[str, int]
    """By scope."""
    reserved: Mapping[str, int]
    jobs: Mapping[str, int]
    running: tuple[RunningBurst, ...] = ()
    """The open ones with their nodes."""
    uses: tuple[BudgetUse, ...] = ()


async def read(connection: AsyncConnection, budgets: Sequence[PeriodBudget] = ()) -> LedgerTotals:
    """Read the ledger."""
    opened = await running.read(connection)
    spent = await spending.by_scope(connection, 0.0, (each.since for each in budgets))
    return LedgerTotals(
        tuple(each.burst for each in opened),
        await totals.amounts(connection, is_charged=True),
        await totals.amounts(connection, is_charged=False),
        await totals.job_results(connection),
        tuple(opened),
        tuple(uses(spent, budgets)),
    )


def figures(
    found: LedgerTotals,
    providers: Iterable[str],
    scopes: Iterable[str],
    is_stuck: Callable[[BurstRecord], bool],
    now: float = 0.0,
) -> BurstFigures:
    """Return the numbers, also those that are 0: of each state and provider, and of each scope."""
    known = dict.fromkeys([*providers, *(each.provider for each in found.open)])
    states = Counter((str(each.state), each.provider) for each in found.open)
    nodes: Counter[str] = Counter()
    for burst in found.open:
        nodes[burst.provider] += 0 if burst.state in _WITHOUT_NODES else burst.nodes
    charged = {
        scope.removeprefix(_PROVIDER): amount
        for scope, amount in found.charged.items()
        if scope.startswith(_PROVIDER)
    }
    shown = dict.fromkeys([*scopes, *(f"{_PROVIDER}{name}" for name in known)])
    stuck_cost, beyond = Counter[str](), Counter[str]()
    for each in found.running:
        stuck_cost[each.burst.provider] += each.hourly if is_stuck(each.burst) else 0
        beyond[each.burst.provider] += each.beyond(now)
    ordered = [state for state in BurstState if state in OPEN]
    return BurstFigures(
        {(str(state), name): states[str(state), name] for state in ordered for name in known},
        {name: nodes[name] for name in known},
        {**dict.fromkeys(known, 0), **charged},
        {scope: found.reserved.get(scope, 0) for scope in shown},
        found.jobs,
        sum(is_stuck(each) for each in found.open),
        {name: stuck_cost[name] for name in known},
        {name: beyond[name] for name in known},
        {(each.scope, each.budget.period): each.used for each in found.uses},
    )
