"""Columns of pictures: within the picture, and in proportion."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.page import charts

VALUES = st.lists(
    st.floats(0, 1e9, allow_nan=False, allow_subnormal=False).map(lambda value: ("x", value)), max_size=100
)


@given(VALUES)
def test_columns_stand_side_by_side_within_the_picture(values: list[tuple[str, float]]) -> None:
    found = charts.columns(values)
    assert len(found) == len(values)
    for each in found:
        x, width = float(each.x[:-1]), float(each.width[:-1])
        assert x >= 0
        assert x + width <= 100.01
        assert charts.TOP - 0.1 <= float(each.y) <= charts.BASE
        assert float(each.y) + float(each.height) == pytest.approx(charts.BASE, abs=0.2)
    edges = [(float(each.x[:-1]), float(each.width[:-1])) for each in found]
    assert all(x + width <= then[0] + 0.011 for (x, width), then in pairwise(edges))


def test_the_highest_column_is_as_high_as_the_picture() -> None:
    found = charts.columns([("a", 1.0), ("b", 4.0), ("c", 0.0)])
    assert [each.height for each in found] == ["32.5", "130.0", "0.0"]


@pytest.mark.parametrize(
    ("count", "values", "labels"),
    [
        pytest.param(7, 7, 3, id="a week"),
        pytest.param(30, 1, 6, id="a month"),
        pytest.param(90, 1, 6, id="90"),
    ],
)
def test_texts_fit_side_by_side(count: int, values: int, labels: int) -> None:
    found = charts.columns([(str(number), 2.0) for number in range(count)])
    assert sum(each.has_value for each in found) == values
    assert sum(each.has_label for each in found) == labels


def test_a_picture_of_nothing_has_no_values() -> None:
    assert not any(each.has_value for each in charts.columns([("a", 0.0)] * 30))
    assert charts.columns([]) == []


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.25, "0.25"), (12.345, "12.3"), (123.4, "123"), (12345.6, "12,346")]
)
def test_hours_are_short(value: float, text: str) -> None:
    assert charts.hours(value) == text


@pytest.mark.parametrize(("value", "whole", "text"), [(1, 4, "25.00%"), (9, 4, "100.00%"), (1, 0, "0.00%")])
def test_a_fraction_is_a_hundred_percent_at_most(value: float, whole: float, text: str) -> None:
    assert charts.fraction(value, whole) == text
