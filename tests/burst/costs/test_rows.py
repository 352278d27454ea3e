"""What scopes have cost, and what is left of budgets."""

from __future__ import annotations

import pytest

from burst.costs.budgets import PeriodBudget
from burst.costs.rows import COST_COLUMNS, cost_rows, uses
from burst.ledger.spending import ScopeSpending
from burst.planning.money import MICRO
from burst.planning.records import EACH_USER

MONTH, WEEK = 1000.0, 2000.0
SPENDING = [
    ScopeSpending("all", 30 * MICRO, 12 * MICRO, {MONTH: 42 * MICRO, WEEK: 20 * MICRO}),
    ScopeSpending("cluster:physics/mc", 30 * MICRO, 12 * MICRO, {MONTH: 42 * MICRO, WEEK: 20 * MICRO}),
    ScopeSpending("cluster:uid-1", 30 * MICRO, 12 * MICRO, {MONTH: 42 * MICRO, WEEK: 20 * MICRO}),
    ScopeSpending("provider:far", 30 * MICRO, 12 * MICRO, {MONTH: 42 * MICRO, WEEK: 20 * MICRO}),
    ScopeSpending("user:alice", 20 * MICRO, 12 * MICRO, {MONTH: 32 * MICRO, WEEK: 19 * MICRO}),
    ScopeSpending("user:bob", 10 * MICRO, 0, {MONTH: 10 * MICRO, WEEK: MICRO}),
]
BUDGETS = [
    PeriodBudget("all", 500 * MICRO, "month", MONTH),
    PeriodBudget("all", 21 * MICRO, "week", WEEK),
    PeriodBudget("provider:near", 5 * MICRO, "none", 0.0),
    PeriodBudget("cluster:uid-1", 40 * MICRO, "month", MONTH, "cluster:physics/mc"),
    PeriodBudget(EACH_USER, 20 * MICRO, "week", WEEK),
]
NONE = [None] * 4


def shown(about: str = "") -> list[list[object]]:
    return [
        [row.encode("EUR")[column] for column in COST_COLUMNS[:-1]]
        for row in cost_rows(SPENDING, BUDGETS, about)
    ]


def test_each_scope_is_a_row_with_the_budget_of_which_the_least_is_left() -> None:
    assert shown() == [
        ["all", "30.00", "12.00", "21.00", "week", "95%", "1.00"],
        ["provider:far", "30.00", "12.00", *NONE],
        ["provider:near", "0.00", "0.00", "5.00", "none", "0%", "5.00"],
        ["cluster:physics/mc", "30.00", "12.00", "40.00", "month", "105%", "-2.00"],
        ["user:alice", "20.00", "12.00", "20.00", "week", "95%", "1.00"],
        ["user:bob", "10.00", "0.00", "20.00", "week", "5%", "19.00"],
    ]


@pytest.mark.parametrize(
    ("about", "scopes"),
    [
        ("all", ["all"]),
        ("provider", ["provider:far", "provider:near"]),
        ("cluster", ["cluster:physics/mc"]),
        ("user", ["user:alice", "user:bob"]),
    ],
)
def test_rows_may_be_about_one_kind(about: str, scopes: list[str]) -> None:
    assert [row[0] for row in shown(about)] == scopes


def test_without_bursts_all_have_cost_nothing() -> None:
    [row] = cost_rows([], [])
    assert row.encode("USD") == {
        "scope": "all",
        "charged": "0.00",
        "reserved": "0.00",
        "currency": "USD",
        **dict.fromkeys(("budget", "period", "used", "left")),
    }


def test_a_budget_without_money_is_used() -> None:
    [use] = uses([], [PeriodBudget("all", 0, "month", MONTH)])
    assert (use.portion, use.left) == (1.0, 0)
