"""What the ledger says of all bursts, as numbers; pure but for reading it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from burst.ledger import bursts, totals
from burst.lifecycle.states import OPEN, BurstState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy.ext.asyncio import AsyncConnection

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


@dataclass(frozen=True, slots=True)
class LedgerTotals:
    """What is read of the ledger, at one time."""

    open: tuple[BurstRecord, ...]
    charged: Mapping[str, int]
    """By scope."""
    reserved: Mapping[str, int]
    jobs: Mapping[str, int]


async def read(connection: AsyncConnection) -> LedgerTotals:
    """Read the ledger."""
    return LedgerTotals(
        tuple(await bursts.opened(connection)),
        await totals.amounts(connection, is_charged=True),
        await totals.amounts(connection, is_charged=False),
        await totals.job_results(connection),
    )


def figures(
    found: LedgerTotals,
    providers: Iterable[str],
    scopes: Iterable[str],
    is_stuck: Callable[[BurstRecord], bool],
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
    ordered = [state for state in BurstState if state in OPEN]
    return BurstFigures(
        {(str(state), name): states[str(state), name] for state in ordered for name in known},
        {name: nodes[name] for name in known},
        {**dict.fromkeys(known, 0), **charged},
        {scope: found.reserved.get(scope, 0) for scope in shown},
        found.jobs,
        sum(is_stuck(each) for each in found.open),
    )
