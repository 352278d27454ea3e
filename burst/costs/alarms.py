"""What an administrator must know of bursts and their money. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from burst.planning import money

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from burst.costs.rows import BudgetUse
    from burst.costs.running import RunningBurst
    from burst.lifecycle.records import BurstRecord

NEARLY = 0.8
"""A budget of which this part is used is reported."""
UNASKED_SECONDS = 900.0
"""So many seconds after its last listing, or the start of the service, a provider is reported."""


class AlarmKind(StrEnum):
    """What an alarm is about."""

    STUCK = "stuck"
    """A burst is being deleted for too long, and costs."""
    BUDGET_NEARLY = "budget-nearly-used"
    BUDGET_USED = "budget-used"
    BEYOND = "beyond-reserved"
    """A burst has cost more than was reserved for it at worst."""
    UNASKED = "provider-not-asked"
    """A provider was not asked what is there, or did not answer, for too long."""


class CostAlarm(NamedTuple):
    """One of them: its kind and its subject are the same for as long as it lasts."""

    kind: AlarmKind
    subject: str
    text: str


def of_bursts(
    running: Iterable[RunningBurst], is_stuck: Callable[[BurstRecord], bool], currency: str, now: float
) -> Iterator[CostAlarm]:
    """Yield those of open bursts."""
    for each in running:
        burst = each.burst
        if is_stuck(burst):
            cost, span = f"{money.rounded(each.hourly)} {currency} an hour", _minutes(now - burst.state_since)
            text = f"burst {burst.label} at {burst.provider} is not deleted after {span}, and costs {cost}"
            yield CostAlarm(AlarmKind.STUCK, burst.label, text)
        if beyond := each.beyond(now):
            cost = f"{money.rounded(beyond)} {currency}"
            text = f"burst {burst.label} at {burst.provider} has cost {cost} beyond what was reserved for it"
            yield CostAlarm(AlarmKind.BEYOND, burst.label, text)


def of_budgets(uses: Iterable[BudgetUse], currency: str) -> Iterator[CostAlarm]:
    """Yield those of budgets."""
    for use in uses:
        if use.portion < NEARLY or not use.budget.amount:  # without money nothing of it bursts
            continue
        kind = AlarmKind.BUDGET_USED if use.left <= 0 else AlarmKind.BUDGET_NEARLY
        amount = f"{money.encode(use.budget.amount)} {currency}"
        period = "" if use.budget.period == "none" else f" of this {use.budget.period}"
        text = f"budget {use.scope}: {use.portion:.0%} of the {amount}{period} are charged or reserved"
        yield CostAlarm(kind, f"{use.scope} {use.budget.period}", text)


def of_providers(asked: Mapping[str, float], now: float) -> Iterator[CostAlarm]:
    """Yield those of providers, by when each last listed what is there."""
    for name, at in asked.items():
        if now - at >= UNASKED_SECONDS:
            span = _minutes(now - at)
            text = f"provider {name} has not listed for {span} what is there: what is left over is not seen"
            yield CostAlarm(AlarmKind.UNASKED, name, text)


def _minutes(seconds: float) -> str:
    return f"{int(seconds // 60)} minutes"
