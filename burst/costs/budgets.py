"""The budgets of a service and of documents, with their periods. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from burst.planning import money
from burst.planning.records import EACH_USER
from burst.settings import policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from burst.clusters.records import BurstingCluster
    from burst.settings.records import BurstSettings
    from minicluster.document.bursting import Period


class PeriodBudget(NamedTuple):
    """An amount that may be reserved and charged in a calendar period."""

    scope: str
    """As of a reservation, or EACH_USER."""
    amount: int
    period: Period
    since: float
    """When the present period began."""
    title: str = ""
    """The scope as people read it, where that is another one."""

    @property
    def shown(self) -> str:
        """The scope as people read it."""
        return self.title or self.scope


def of_service(settings: BurstSettings, now: float) -> Iterator[PeriodBudget]:
    """Yield the budgets of the settings; those of each user last."""
    for each in settings.budgets:
        yield PeriodBudget(each.scope, money.amount(each.amount), each.period, policy.begin(each.period, now))
    if user := settings.per_user:
        yield PeriodBudget(EACH_USER, money.amount(user.amount), user.period, policy.begin(user.period, now))


def of_documents(
    clusters: Iterable[BurstingCluster], settings: BurstSettings, now: float
) -> Iterator[PeriodBudget]:
    """Yield the budget of each document that has one in the service's currency.

    Its limit of each user is left out: it is about bursts of that MiniCluster, and users' money is not.
    """
    for cluster in clusters:
        found = cluster.document.spec.bursting
        if found is None or found.budget is None or found.budget.currency != settings.currency:
            continue
        period = found.budget.period
        amount, since = money.amount(found.budget.amount), policy.begin(period, now)
        title = f"cluster:{cluster.title}"
        yield PeriodBudget(f"cluster:{cluster.uid}", amount, period, since, title)
