"""docs/status.md lists every word that a status, an Event or a label may have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minicluster.plan import constants
from minicluster.plan.constants import Component, ConditionType, Phase, Reason
from minicluster.plan.status.events import NOTABLE

PAGE = (Path(__file__).parents[2] / "docs" / "status.md").read_text()
LABELS = [
    constants.LABEL_NAME,
    constants.LABEL_INSTANCE,
    constants.LABEL_COMPONENT,
    constants.LABEL_PART_OF,
    constants.LABEL_MANAGED_BY,
    constants.LABEL_SELECTOR,
]
WORDS = {word: number for number, word in enumerate(("eight", "nine", "ten", "eleven", "twelve"), 8)}
_ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| (\w+) \| (.+) \| (.*)\|$", re.MULTILINE)
TABLES = {
    title: _ROW.findall(section)
    for title, section in re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    if "| reason |" in section
}


@pytest.mark.parametrize("word", [*Reason, *Phase, *Component, *LABELS])
def test_word_is_documented(word):
    """Each reason, phase, component and label stands on the page."""
    assert f"`{word}`" in PAGE


@pytest.mark.parametrize("type_", ConditionType)
def test_condition_is_documented(type_):
    """Each condition has its section."""
    assert re.search(rf"^## .*\b{type_}\b", PAGE, re.MULTILINE)


@pytest.mark.parametrize("page", ["kubernetes.md", "tutorial-kubernetes.md"])
def test_a_page_that_shows_a_status_has_every_condition(page):
    """In their order; without those that only some documents have."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    tables = re.findall(r"^TYPE +STATUS .*\n((?:\w.*\n)+)", text, re.MULTILINE)
    shown = [[line.split()[0] for line in table.splitlines()] for table in tables]
    expected = [type_ for type_ in ConditionType if type_ not in constants.SELDOM]
    assert shown
    assert all(each == expected for each in shown)


def test_the_number_of_conditions_is_right():
    """Without spec.autoscaling, spec.bursting and brokers cut by a profile there is one less each."""
    [(number, with_autoscaling)] = re.findall(
        r"\band (\w+) conditions \((\w+) with `spec\.autoscaling`, and one more with `spec\.bursting`\)", PAGE
    )
    expected = (len(ConditionType) - 3, len(ConditionType) - 2)
    assert (WORDS[number], WORDS[with_autoscaling]) == expected, (
        "docs/status.md: `and N conditions (M with …)`"
    )


def test_each_condition_has_a_table_of_its_reasons():
    """A row has reason, status, Event, meaning, and what to do."""
    assert set(TABLES) == set(ConditionType)
    assert {row[1] for rows in TABLES.values() for row in rows} == {"True", "False", "Unknown"}


@pytest.mark.parametrize("type_", ConditionType)
def test_its_events_are_those_that_are_sent(type_):
    """The column Event has the type that `events` sends, or `no`."""
    shown = {reason: event for reason, _, event, *_ in TABLES.get(type_, ())}
    assert shown, f"docs/status.md has no section with a table for {type_}"
    assert shown == {reason: NOTABLE.get(reason, "no") for reason in shown}


def test_every_event_has_a_row():
    assert {reason for rows in TABLES.values() for reason, *_ in rows} >= set(NOTABLE)
