"""What leads tell is checked, whoever made the answer; and nothing is lost by adding up and sharing."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics_api.adapter import samples
from metrics_api.adapter.samples import Reading, ReadingError, parse, split_evenly
from metrics_api.answers.samples import MetricValue, quantity, total

GOOD = {"name": "flux_jobs", "labels": {"state": "run"}, "value": 3}


def answer(*found: Any, **others: Any) -> bytes:
    """Return an answer of a lead."""
    return json.dumps(
        {"sampled": "2026-01-01T12:00:00Z", "age": 0.5, "samples": list(found), **others}
    ).encode()


def test_a_good_answer() -> None:
    assert parse(answer(GOOD)) == Reading(0.5, (MetricValue("flux_jobs", {"state": "run"}, 3000),))


WRONG = {
    "no JSON": (b"<html>", "no JSON"),
    "deep": (b"[" * 100_000, "no JSON"),
    "list": (b"[]", "no object"),
    "without an age": (answer(GOOD, age=None), "how old"),
    "age that is a word": (answer(GOOD, age="1"), "how old"),
    "age that is no number": (answer(GOOD, age=float("nan")), "how old"),
    "from the future": (answer(GOOD, age=-60), "how old"),
    "old": (answer(GOOD, age=7), "has numbers of 7 s ago only"),
    "no list": (answer(samples={}), "no list"),
    "too many": (answer(*[GOOD] * 10_001), "too long"),
    "no object": (answer(3), "no object"),
    "no name": (answer({**GOOD, "name": None}), "without a name"),
    "no labels": (answer({**GOOD, "labels": None}), "without labels"),
    "label of a number": (answer({**GOOD, "labels": {"state": 1}}), "label"),
    "long label": (answer({**GOOD, "labels": {"state": "x" * 1001}}), "too long"),
    "negative": (answer({**GOOD, "value": -1}), "no number for 'flux_jobs'"),
    "infinite": (answer({**GOOD, "value": float("inf")}), "no number"),
    "huge": (answer({**GOOD, "value": 1e300}), "no number"),
    "true": (answer({**GOOD, "value": True}), "no number"),
    "text": (answer({**GOOD, "value": "3"}), "no number"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_an_answer_is_reported(text: bytes, message: str) -> None:
    with pytest.raises(ReadingError, match=message):
        parse(text)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (7, "7"), (1.5, "1500m"), (1.1, "1100m"), (0.0001, "1m"), (2e11, "200000000000")],
)
def test_a_value_as_a_quantity(value: float, shown: str) -> None:
    """What is more than nothing does not become 0."""
    [sample] = parse(answer({**GOOD, "value": value})).samples
    assert quantity(sample.thousandths) == shown


@given(st.integers(0, 10**15), st.integers(1, 5000))
def test_parts_are_together_the_whole_and_differ_by_a_thousandth(whole: int, parts: int) -> None:
    found = split_evenly(whole, parts)
    assert (len(found), sum(found)) == (parts, whole)
    assert max(found) - min(found) <= 1


@given(st.lists(st.integers(0, 10**12), min_size=1))
def test_values_add_up_or_the_largest_counts(values: list[int]) -> None:
    found = [samples.MetricValue("x", {}, value) for value in values]
    assert total(found, adds=True) == sum(values)
    assert total(found, adds=False) == max(values)
