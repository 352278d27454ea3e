"""Amounts are exact, and what is reserved is never too little."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burst.errors import AmountInvalid
from burst.planning import money


@pytest.mark.parametrize(
    ("text", "micro"), [("50", 50_000_000), ("0.125", 125_000), ("0.000001", 1), ("12.50", 12_500_000)]
)
def test_amounts(text: str, micro: int) -> None:
    assert money.amount(text) == micro


@pytest.mark.parametrize("text", ["", "-1", "1e3", ".5", "1.", "1,5", "0.0000001", "12 EUR", "nan", "9" * 13])
def test_what_is_no_amount_is_refused_in_words(text: str) -> None:
    with pytest.raises(AmountInvalid) as error:
        money.amount(text)
    assert str(error.value) == (
        f"{text[:40]!r} is no amount; right would be 50 or 0.125, with at most 6 digits behind the point"
    )


@given(st.integers(0, 10**18 - 1))
def test_an_amount_that_is_shown_is_read_again(micro: int) -> None:
    assert money.amount(money.encode(micro)) == micro


def test_a_debt_is_shown() -> None:
    assert money.encode(-1_500_000) == "-1.50"


@given(st.integers(0, 10**9), st.integers(1, 10**4), st.integers(0, 10**6))
def test_a_cost_is_rounded_up(price: int, nodes: int, seconds: int) -> None:
    exact = Fraction(price * nodes * seconds, 3600)
    assert exact <= money.cost(price, nodes, seconds) < exact + 1


def test_a_part_of_a_second_counts() -> None:
    assert money.cost(3_600_000, 1, 0.001) == 1
    assert money.cost(3_600_000, 2, 1.5) == 3000


@given(st.integers(0, 10**12), st.dictionaries(st.text(max_size=3), st.integers(1, 10**6), min_size=1))
def test_portions_are_never_too_little(total: int, weights: dict[str, int]) -> None:
    found = money.portions(total, weights)
    assert found.keys() == weights.keys()
    assert total <= sum(found.values()) < total + len(weights) + 1


def test_nobody_has_no_portion() -> None:
    assert money.portions(5, {}) == {}


@pytest.mark.parametrize(
    ("micro", "shown"), [(0, "0.00"), (1, "0.01"), (8_400_203, "8.41"), (8_400_000, "8.40"), (-1, "0.00")]
)
def test_people_get_an_amount_rounded_up(micro: int, shown: str) -> None:
    assert money.rounded(micro) == shown
