"""docs/metrics.md lists every metric, as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from broker_config.formats.job_states import STATES
from metrics_api import names

TEXT = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(flux_\w+)` (\|.*)$", TEXT, re.MULTILINE))


def test_no_metric_is_left_out_or_made_up() -> None:
    assert list(ROWS) == [metric.name for metric in names.METRICS]


@pytest.mark.parametrize("metric", names.METRICS, ids=lambda metric: metric.name)
def test_row(metric: names.Metric) -> None:
    """Its unit, its labels, its meaning."""
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    assert ROWS[metric.name] == f"| {metric.unit} | {labels} | {metric.meaning} |"


@pytest.mark.parametrize("state", STATES)
def test_every_state_is_named(state: str) -> None:
    assert f"`{state}`" in TEXT


@pytest.mark.parametrize("metric", names.METRICS, ids=lambda metric: metric.name)
def test_prefix_determines_the_labels(metric: names.Metric) -> None:
    """Totals have none but the state; so no sum counts twice."""
    wanted = [label for label in (names.QUEUE, names.GROUP) if metric.name.startswith(f"flux_{label}_")]
    assert [label for label in metric.labels if label != names.STATE] == wanted


def test_names_are_all_there() -> None:
    """Every constant that holds a name has its row."""
    constants = {
        value for value in vars(names).values() if isinstance(value, str) and re.fullmatch(r"flux_\w+", value)
    }
    assert constants == set(names.BY_NAME)
