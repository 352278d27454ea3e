"""docs/status.md lists every word that a status, an Event or a label may have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minicluster.plan import constants
from minicluster.plan.constants import Component, ConditionType, Phase, Reason
from minicluster.plan.events import NOTABLE

PAGE = (Path(__file__).parents[2] / "docs" / "status.md").read_text()
LABELS = [
    constants.LABEL_NAME,
    constants.LABEL_INSTANCE,
    constants.LABEL_COMPONENT,
    constants.LABEL_PART_OF,
    constants.LABEL_MANAGED_BY,
    constants.LABEL_SELECTOR,
]


@pytest.mark.parametrize("word", [*Reason, *Phase, *Component, *LABELS])
def test_word_is_documented(word):
    """Each reason, phase, component and label stands on the page."""
    assert f"`{word}`" in PAGE


@pytest.mark.parametrize("type_", ConditionType)
def test_condition_is_documented(type_):
    """Each condition has its section."""
    assert re.search(rf"^## .*\b{type_}\b", PAGE, re.MULTILINE)


def test_events_are_marked():
    """The reasons marked with * are those that are Events."""
    assert set(re.findall(r"`(\w+)`\*", PAGE)) == set(NOTABLE)
