"""What a document asks for within the settings: selection, times, budgets by period, providers, caps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burst.lifecycle.states import Timeouts
from burst.planning.money import MICRO
from burst.planning.plan import scopes
from burst.planning.records import (
    EACH_USER,
    Budget,
    BudgetLimit,
    BurstSelection,
    Durations,
)
from burst.settings import policy as policies
from burst.settings.file import parse
from burst.settings.policy import ManagedCluster, ProviderChoice
from minicluster.document import BurstPolicy

if TYPE_CHECKING:
    from minicluster.document.bursting import Period

WAVES = ManagedCluster("uid-1", "physics", "waves")
NOW = datetime(2026, 3, 12, 15, 9, 26, tzinfo=UTC).timestamp()  # a Thursday
MONTH, WEEK, DAY = (datetime(2026, 3, day, tzinfo=UTC).timestamp() for day in (1, 9, 12))


def policy(**fields: Any) -> BurstPolicy:
    return BurstPolicy.model_validate(fields)


SELECTIONS = {
    "defaults": ({}, BurstSelection()),
    "of those that never fit alone": ({"waiting": False}, BurstSelection(after=None)),
    "at once": ({"afterSeconds": 0}, BurstSelection(after=0.0)),
    "all else": (
        {"neverFits": False, "users": ["ada"], "assumeSeconds": 60},
        BurstSelection(600.0, never_fits=False, users=frozenset({"ada"}), assume=60.0),
    ),
}


@pytest.mark.parametrize(("select", "expected"), SELECTIONS.values(), ids=SELECTIONS)
def test_which_jobs_burst(select: dict[str, Any], expected: BurstSelection) -> None:
    assert policies.selection(policy(select=select)) == expected


def test_without_anything_times_are_those_of_the_core() -> None:
    assert policies.durations(policy()) == Durations()
    assert policies.timeouts(policy()) == Timeouts()


def test_times_of_the_document_are_over_the_usual_ones() -> None:
    wanted = policy(
        maxSeconds=7200, drainTimeoutSeconds=0, idleSeconds=60, lostAfterSeconds=90, verifySeconds=10
    )
    usual = Durations(provisioning=1800.0)
    assert policies.durations(wanted, usual) == Durations(7200.0, 1800.0, draining=0.0)
    expected = Timeouts(provisioning=1800.0, draining=0.0, idle=60.0, lost=90.0, verified=10.0)
    assert policies.timeouts(wanted, Timeouts(provisioning=1800.0)) == expected


@pytest.mark.parametrize(
    ("period", "expected"), [("none", 0.0), ("day", DAY), ("week", WEEK), ("month", MONTH)]
)
def test_a_period_begins_with_the_calendars(period: Period, expected: float) -> None:
    assert policies.begin(period, NOW) == expected


@given(st.floats(0, 4e9), st.sampled_from(["day", "week", "month"]))
def test_a_period_has_a_time_and_begins_where_another_ended(now: float, period: Period) -> None:
    """The moment before is of the period before, and the beginning of its own."""
    since = policies.begin(period, now)
    assert since <= now < since + 31 * 86_400
    assert policies.begin(period, since) == since
    assert policies.begin(period, since - 1e-3) < since


SETTINGS = parse(
    """\
providers:
- {name: far, kind: k}
- {name: near, kind: k, namespaces: [physics, music]}
- {name: dear, kind: k, namespaces: [music]}
budgets:
- {scope: all, amount: "100", period: none}
- {scope: "provider:far", amount: "50.5", period: week}
- {scope: "cluster:physics/waves", amount: "9", period: day}
- {scope: "cluster:music/waves", amount: "1"}
perUser: {amount: "10"}
"""
).settings
OF_SERVICE = (
    BudgetLimit("all", 100 * MICRO, 0.0),
    BudgetLimit("provider:far", 50_500_000, WEEK),
    BudgetLimit("cluster:physics/waves", 9 * MICRO, DAY),
    BudgetLimit(EACH_USER, 10 * MICRO, MONTH),
)
LIMITS: dict[str, tuple[dict[str, Any], tuple[BudgetLimit, ...]]] = {
    "none of its own": ({}, OF_SERVICE),
    "its own": (
        {"budget": {"amount": "20"}},
        (*OF_SERVICE, BudgetLimit("cluster:uid-1", 20 * MICRO, MONTH)),
    ),
    "its users'": (
        {"budget": {"amount": "20", "period": "day", "perUser": "0.5"}},
        (
            *OF_SERVICE,
            BudgetLimit("cluster:uid-1", 20 * MICRO, DAY),
            BudgetLimit(EACH_USER, 500_000, DAY),
        ),
    ),
}


@pytest.mark.parametrize(("fields", "expected"), LIMITS.values(), ids=LIMITS)
def test_all_limits_are_kept_each_since_its_period(
    fields: dict[str, Any], expected: tuple[BudgetLimit, ...]
) -> None:
    assert policies.limits(policy(**fields), SETTINGS, WAVES, NOW) == expected


def test_each_limit_of_the_settings_is_about_a_scope_of_its_bursts() -> None:
    """Else it would be compared with nothing."""
    wanted = policy(budget={"amount": "1", "perUser": "1"})
    used = {*scopes(WAVES.uid, "far", WAVES.title), "user:ada"}
    found = policies.limits(wanted, SETTINGS, WAVES, NOW)
    assert all(any(limit.is_about(scope) for scope in used) for limit in found)
    assert not any(limit.is_about("cluster:uid-2") for limit in found)


def test_budgets_of_a_plan_have_what_was_spent() -> None:
    spent = [(limit, number) for number, limit in enumerate(OF_SERVICE)]
    assert policies.budgets(spent) == (
        Budget("all", 100 * MICRO, 0),
        Budget("provider:far", 50_500_000, 1),
        Budget("cluster:physics/waves", 9 * MICRO, 2),
    )


EACH = {
    "no limit": ([(OF_SERVICE[0], {"ada": 1})], (None, {})),
    "one": ([(BudgetLimit(EACH_USER, 10), {"ada": 3})], (10, {"ada": 3})),
    "two": (
        [(BudgetLimit(EACH_USER, 100), {"ada": 95, "bob": 7}), (BudgetLimit(EACH_USER, 10, DAY), {"bob": 4})],
        (10, {"ada": 5, "bob": 4}),
    ),
}


@pytest.mark.parametrize(("spent", "expected"), EACH.values(), ids=EACH)
def test_of_each_user_the_least_is_left(spent: Any, expected: tuple[int | None, dict[str, int]]) -> None:
    assert policies.each_user(spent) == expected


@given(
    st.lists(
        st.tuples(
            st.integers(0, 20), st.dictionaries(st.sampled_from(("ada", "bob", "cy")), st.integers(0, 30))
        ),
        min_size=1,
        max_size=3,
    )
)
def test_no_limit_of_a_user_is_exceeded(found: list[tuple[int, dict[str, int]]]) -> None:
    """What the plan takes for left is what the strictest limit leaves."""
    least, spent = policies.each_user([(BudgetLimit(EACH_USER, amount), used) for amount, used in found])
    assert least is not None
    for user in ("ada", "bob", "cy", "new"):
        left = min(amount - used.get(user, 0) for amount, used in found)
        assert least - spent.get(user, 0) == left


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, ""),
        ({"budget": {"amount": "1"}}, ""),
        (
            {"budget": {"amount": "1", "currency": "USD"}},
            (
                "spec.bursting.budget.currency is USD, but all prices of the burst service are in EUR: right"
                " would be an amount in EUR"
            ),
        ),
    ],
)
def test_amounts_of_another_currency_are_not_compared(fields: dict[str, Any], problem: str) -> None:
    assert policies.currency_problem(policy(**fields), SETTINGS) == problem


CHOICES = {
    "all that are allowed": (WAVES, [], ProviderChoice(("far", "near"))),
    "one": (WAVES, ["near"], ProviderChoice(("near",))),
    "one twice": (WAVES, ["near", "near"], ProviderChoice(("near",))),
    "unknown": (
        WAVES,
        ["near", "nar"],
        ProviderChoice(
            ("near",), ("spec.bursting.providers: no provider is called nar; allowed here: far, near",)
        ),
    ),
    "of another namespace": (
        WAVES,
        ["dear"],
        ProviderChoice(
            (), ("spec.bursting.providers: dear is not for namespace physics; allowed here: far, near",)
        ),
    ),
}


@pytest.mark.parametrize(("cluster", "names", "expected"), CHOICES.values(), ids=CHOICES)
def test_a_document_has_the_providers_that_it_may(
    cluster: ManagedCluster, names: list[str], expected: ProviderChoice
) -> None:
    assert policies.providers(policy(providers=names), SETTINGS, cluster) == expected


def test_where_none_is_allowed_that_is_reported() -> None:
    settings = parse("providers: [{name: dear, kind: k, namespaces: [music]}]").settings
    expected = ProviderChoice((), ("the burst service has no provider for namespace physics",))
    assert policies.providers(policy(), settings, WAVES) == expected
    named = policies.providers(policy(providers=["zzz"]), settings, WAVES)
    assert named.problems == ("spec.bursting.providers: no provider is called zzz; allowed here: none",)
