"""Scopes with what they cost and what is left of their budgets. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from burst.planning import money
from burst.planning.plan import ALL
from burst.planning.records import EACH_USER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from burst.costs.budgets import PeriodBudget
    from burst.ledger.spending import ScopeSpending

KINDS = (ALL, "provider", "cluster", "user")
"""What scopes are about, in the order in which they are shown."""
COST_COLUMNS = ("scope", "charged", "reserved", "budget", "period", "used", "left", "currency")


class BudgetUse(NamedTuple):
    """What is used of a budget in its present period, in micro-units."""

    budget: PeriodBudget
    scope: str
    """As people read it; of a budget of each user that user's."""
    used: int

    @property
    def portion(self) -> float:
        """What part of it is used; 1 of one that has no money."""
        return self.used / self.budget.amount if self.budget.amount else 1.0

    @property
    def left(self) -> int:
        """What is left of it; less than nothing where a burst has cost more than was reserved."""
        return self.budget.amount - self.used


class CostRow(NamedTuple):
    """A scope, in micro-units."""

    scope: str
    charged: int
    reserved: int
    use: BudgetUse | None
    """Of the budget of which the least is left; None: it has none."""

    def encode(self, currency: str, amount: Callable[[int], str] = money.encode) -> dict[str, Any]:
        """Return it as a row, with money as decimal text."""
        use = self.use
        return {
            "scope": self.scope,
            "charged": amount(self.charged),
            "reserved": amount(self.reserved),
            "budget": None if use is None else amount(use.budget.amount),
            "period": None if use is None else use.budget.period,
            "used": None if use is None else f"{use.portion:.0%}",
            "left": None if use is None else amount(use.left),
            "currency": currency,
        }


def kind(scope: str) -> str:
    """Return what a scope is about: one of KINDS."""
    return scope.partition(":")[0]


def uses(spending: Iterable[ScopeSpending], budgets: Iterable[PeriodBudget]) -> list[BudgetUse]:
    """Return what is used of each budget; of that of each user one for each who has used any."""
    known = {each.scope: each for each in spending}
    found = []
    for budget in budgets:
        if budget.scope == EACH_USER:
            scopes = [(scope, scope) for scope in known if kind(scope) == "user"]
        else:
            scopes = [(budget.scope, budget.shown)]
        for scope, shown in scopes:
            used = known[scope].used.get(budget.since, 0) if scope in known else 0
            found.append(BudgetUse(budget, shown, used))
    return found


def cost_rows(
    spending: Sequence[ScopeSpending], budgets: Sequence[PeriodBudget], about: str = ""
) -> list[CostRow]:
    """Return a row for each scope that has any money, or is about one of KINDS; the sum of all comes first.

    MiniClusters are shown by NAMESPACE/NAME: another one of a name later on is counted with it.
    """
    least: dict[str, BudgetUse] = {}
    for use in uses(spending, budgets):
        if use.scope not in least or use.left < least[use.scope].left:
            least[use.scope] = use
    shown = {each.scope: each for each in spending if not _is_uid(each.scope)}
    rows = []
    for scope in sorted({ALL, *shown, *least}, key=lambda scope: (KINDS.index(kind(scope)), scope)):
        if about in {"", kind(scope)}:
            money_of = (shown[scope].charged, shown[scope].reserved) if scope in shown else (0, 0)
            rows.append(CostRow(scope, *money_of, least.get(scope)))
    return rows


def _is_uid(scope: str) -> bool:
    """Return whether a scope is a MiniCluster by its uid: it has another one by its name."""
    return kind(scope) == "cluster" and "/" not in scope
