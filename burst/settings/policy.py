"""What a document asks for within the settings of a service, for planner, ledger and machine. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from burst.lifecycle.states import Timeouts
from burst.planning import money
from burst.planning.records import (
    EACH_USER,
    Budget,
    BudgetLimit,
    BurstSelection,
    Durations,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from burst.settings.records import BurstSettings, ProviderSettings
    from minicluster.document.bursting import BurstPolicy, Period

FIELD = "spec.bursting"


class ManagedCluster(NamedTuple):
    """A MiniCluster whose bursts a service manages."""

    uid: str
    namespace: str
    name: str

    @property
    def title(self) -> str:
        """NAMESPACE/NAME, as budgets of the settings have it."""
        return f"{self.namespace}/{self.name}"


class ProviderChoice(NamedTuple):
    """The providers that a MiniCluster may use, by name, and what is wrong with those that it names."""

    names: tuple[str, ...]
    problems: tuple[str, ...] = ()


def selection(policy: BurstPolicy) -> BurstSelection:
    """Return which jobs may burst."""
    select = policy.select
    return BurstSelection(
        after=float(select.after_seconds) if select.waiting else None,
        never_fits=select.never_fits,
        users=frozenset(select.users),
        assume=float(select.assume_seconds) or None,
    )


def durations(policy: BurstPolicy, usual: Durations | None = None) -> Durations:
    """Return how long a burst may take; what a document does not set is as usual."""
    return replace(
        usual or Durations(),
        window=float(policy.max_seconds),
        draining=float(policy.drain_timeout_seconds),
    )


def timeouts(policy: BurstPolicy, usual: Timeouts | None = None) -> Timeouts:
    """Return the deadlines of a burst's states; what a document does not set is as usual."""
    return replace(
        usual or Timeouts(),
        draining=float(policy.drain_timeout_seconds),
        idle=float(policy.idle_seconds),
        lost=float(policy.lost_after_seconds),
        verified=float(policy.verify_seconds),
    )


def begin(period: Period, now: float) -> float:
    """Return when the calendar period of a time began, in UTC, as seconds since 1970; 0 of `none`."""
    midnight = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if period == "none":
        return 0.0
    if period == "week":
        midnight -= timedelta(days=midnight.weekday())
    elif period == "month":
        midnight = midnight.replace(day=1)
    return midnight.timestamp()


def currency_problem(policy: BurstPolicy, settings: BurstSettings) -> str:
    """Return why the amounts of a document cannot be compared with prices; empty: they can.

    Then nothing of it may burst: no budget would be kept.
    """
    budget = policy.budget
    if budget is None or budget.currency == settings.currency:
        return ""
    return (
        f"{FIELD}.budget.currency is {budget.currency}, but all prices of the burst service are in"
        f" {settings.currency}: right would be an amount in {settings.currency}"
    )


def limits(
    policy: BurstPolicy, settings: BurstSettings, cluster: ManagedCluster, now: float
) -> tuple[BudgetLimit, ...]:
    """Return all limits of a MiniCluster's bursts: those of the service, and its own. Each is kept."""
    return (*_of_service(settings, cluster, now), *_of_document(policy, cluster, now))


def _of_service(settings: BurstSettings, cluster: ManagedCluster, now: float) -> Iterator[BudgetLimit]:
    for each in settings.budgets:
        if each.scope.startswith("cluster:") and each.scope != f"cluster:{cluster.title}":
            continue
        yield BudgetLimit(each.scope, money.amount(each.amount), begin(each.period, now))
    if user := settings.per_user:
        yield BudgetLimit(EACH_USER, money.amount(user.amount), begin(user.period, now))


def _of_document(policy: BurstPolicy, cluster: ManagedCluster, now: float) -> Iterator[BudgetLimit]:
    budget = policy.budget
    if budget is None:
        return
    since = begin(budget.period, now)
    yield BudgetLimit(f"cluster:{cluster.uid}", money.amount(budget.amount), since)
    if budget.per_user:
        yield BudgetLimit(EACH_USER, money.amount(budget.per_user), since)


def budgets(spent: Iterable[tuple[BudgetLimit, int]]) -> tuple[Budget, ...]:
    """Return the budgets of a plan: limits, each with what was spent since; those of users are left out."""
    return tuple(
        Budget(limit.scope, limit.amount, amount) for limit, amount in spent if limit.scope != EACH_USER
    )


def each_user(
    spent: Sequence[tuple[BudgetLimit, Mapping[str, int]]],
) -> tuple[int | None, dict[str, int]]:
    """Return what each user may cost in a plan, and has spent of it; None: it is not limited.

    Limits of several periods are one for a plan: of each user the one of which the least is left.
    """
    found = [(limit.amount, by_user) for limit, by_user in spent if limit.scope == EACH_USER]
    if not found:
        return None, {}
    least = min(amount for amount, _ in found)
    users = {user for _, by_user in found for user in by_user}
    left = {user: min(amount - by_user.get(user, 0) for amount, by_user in found) for user in users}
    return least, {user: least - amount for user, amount in left.items()}


def providers(policy: BurstPolicy, settings: BurstSettings, cluster: ManagedCluster) -> ProviderChoice:
    """Return the providers that a document may use: those that it names, or all, as far as it is allowed."""
    allowed = [each.name for each in settings.providers if _is_allowed(each, cluster)]
    if not policy.providers:
        none = f"the burst service has no provider for namespace {cluster.namespace}"
        return ProviderChoice(tuple(allowed), () if allowed else (none,))
    known = {each.name for each in settings.providers}
    there = ", ".join(allowed) or "none"
    problems = []
    for name in policy.providers:
        if name not in known:
            problems.append(f"{FIELD}.providers: no provider is called {name}; allowed here: {there}")
        elif name not in allowed:
            where = f"namespace {cluster.namespace}"
            problems.append(f"{FIELD}.providers: {name} is not for {where}; allowed here: {there}")
    names = tuple(dict.fromkeys(name for name in policy.providers if name in allowed))
    return ProviderChoice(names, tuple(problems))


def _is_allowed(provider: ProviderSettings, cluster: ManagedCluster) -> bool:
    return not provider.namespaces or cluster.namespace in provider.namespaces
