"""What is wrong with a scenario is reported with path and line, all of it at once."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from burst.errors import SettingsInvalid
from burst.providers.plugins import ProviderContext
from burst.rehearsal import clouds, scenario_file

GOOD = """\
cluster:
  nodes: 2
  cores: 8
  slots: [{name: burst-0, size: 4}]
  bursting: {}
settings:
  providers:
  - {name: cloud, kind: memory, settings: {offers: [{machine: c8, cores: 8}]}}
queue:
  jobs:
  - {nodes: 3, runSeconds: 300, limitSeconds: 600, burstable: true}
"""


def opened(text: str) -> None:
    """Read a scenario, and open its providers."""
    found = scenario_file.parse(text, Path(), source="s.yaml")
    given: Any = None
    with contextlib.ExitStack() as stack:
        clouds.opened(found.settings, ProviderContext(given, Path()), lambda: 0.0, {}, stack)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("  nodes: 2\n", "  nods: 2\n", '2: cluster.nods: unknown field; did you mean "nodes"?'),
        ("  cores: 8\n", "", "1: cluster.cores: missing; it is needed: Cores of each node."),
        ("  bursting: {}\n", "", "1: cluster: it needs a document, or `slots` and `bursting`"),
        ("  nodes: 2\n", "", "1: cluster.nodes: missing; without a document it is needed"),
        (
            "  cores: 8\n",
            "  cores: 8\n  queuePolicy: eazy\n",
            "4: cluster.queuePolicy: unknown queue policy 'eazy'; did you mean 'easy'?",
        ),
        (
            "bursting: {}",
            "bursting: {lostAfterSeconds: 10}",
            "1: cluster: spec.bursting.lostAfterSeconds: ",
        ),
        ("kind: memory", "kind: memori", "8: "),
        ("runSeconds: 300, ", "", "11: queue.jobs[0].runSeconds: missing; it is needed: How long"),
        ("burstable: true", "burstable: 3", "11: queue.jobs[0].burstable"),
        (
            "queue:\n",
            "faults: [{provider: cloud, call: nodes.create, fault: explode}]\nqueue:\n",
            "9: faults[0].fault: found the text \"explode\", allowed is 'unavailable', 'throttled'",
        ),
        (
            "queue:\n",
            "faults: [{provider: clod, call: nodes.create, fault: part}]\nqueue:\n",
            '9: faults[0].provider: no provider is called "clod"; there are: cloud',
        ),
        (
            "queue:\n",
            "faults: [{provider: cloud, call: a, fault: part, number: 1, atSeconds: 5}]\nqueue:\n",
            "9: faults[0]: right is either `number` or `atSeconds`",
        ),
        (
            "queue:\n",
            "clouds: {clod: {}}\nqueue:\n",
            '9: clouds.clod: no provider is called "clod"; there are: cloud',
        ),
        (
            "queue:\n",
            "begin: yesterday\nqueue:\n",
            '9: begin: found the text "yesterday", allowed is a time in UTC in quotes',
        ),
        (
            "  slots: [{name: burst-0, size: 4}]\n  bursting: {}\n",
            "  document: nowhere.yaml\n",
            "4: cluster.document: nowhere.yaml: cannot be read: No such file or directory",
        ),
        (
            "cluster:\n",
            "cluster:\n  document: a.yaml\n",
            "2: cluster.document: right is either a document, or `slots` and `bursting`",
        ),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(old: str, new: str, expected: str) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    with pytest.raises(SettingsInvalid) as raised:
        opened(text)
    assert f"s.yaml:{expected}" in str(raised.value)


def test_a_line_of_a_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "queue.csv").write_text("nodes,runSeconds\n1,60\nmany,60\n")
    text = GOOD.replace("queue:\n", "queue:\n  file: queue.csv\n")
    with pytest.raises(
        SettingsInvalid, match=r'queue\.csv:3: nodes: found the text "many", allowed is a whole'
    ):
        scenario_file.parse(text, tmp_path)


def test_all_problems_are_reported_at_once() -> None:
    text = GOOD.replace("  cores: 8\n", "  cores: 8\n  queuePolicy: eazy\n").replace("nodes: 3", "nodes: -1")
    with pytest.raises(SettingsInvalid) as raised:
        scenario_file.parse(text, Path())
    assert len(raised.value.problems) == 1  # fields are checked first
    text = GOOD.replace("  cores: 8\n", "  cores: 8\n  queuePolicy: eazy\n").replace("  bursting: {}\n", "")
    with pytest.raises(SettingsInvalid) as raised:
        scenario_file.parse(text, Path())
    assert len(raised.value.problems) == 2
