"""docs/scheduling.md knows every policy, setting, workload and command."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from queue_policies import plugins
from queue_policies.plugin_group import shown as written
from queue_policies.simulator import listing
from queue_policies.simulator.loop import simulate
from queue_policies.simulator.metrics import measure
from queue_policies.simulator.selection import choices, policy_named
from queue_policies.simulator.workloads import catalogue, document, node_document

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/scheduling.md").read_text()


def _row(name: str) -> str:
    """The line of a table that begins with this name, alone or among others."""
    return next(line for line in TEXT.splitlines() if re.match(rf"\| [^|]*`{re.escape(name)}`[^|]* \|", line))


@pytest.mark.parametrize("policy", list(choices(plugins.policies())), ids=lambda policy: policy.name)
def test_every_policy_is_there_with_its_settings(policy: object) -> None:
    row = _row(policy.name)  # type: ignore[attr-defined]
    for setting in policy.settings:  # type: ignore[attr-defined]
        default = setting.default
        shown = f"{default:g}" if isinstance(default, float) else written(default)
        assert f"`{setting.name}` ({shown})" in row


@pytest.mark.parametrize("name", catalogue.GENERATORS)
def test_every_workload_is_there_with_its_settings(name: str) -> None:
    row = _row(name)
    for setting, default in catalogue.settings(name).items():
        shown = f"{default:g}" if isinstance(default, float) else written(default)
        assert f"`{setting}` ({shown})" in row


def test_every_column_of_the_rows_of_jobs_is_there() -> None:
    begin = TEXT.index("| column of a row a job |")
    assert re.findall(
        "`(.*?)`", "".join(re.findall(r"^\|[^|]*", TEXT[begin : TEXT.index("\n\n", begin)], re.MULTILINE))
    ) == [*listing.JOB_COLUMNS]


@pytest.mark.parametrize(
    ("script", "options"), re.findall(r"^\$ python (benchmarks/\S+)(.*)$", TEXT, re.MULTILINE)
)
def test_the_scripts_are_there_with_these_options(script: str, options: str) -> None:
    asked = subprocess.run(
        [sys.executable, ROOT / script, "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert set(re.findall(r"--[a-z-]+", options)) <= set(re.findall(r"--[a-z-]+", asked.stdout))


HEAD = """
from dataclasses import dataclass
from typing import ClassVar

from queue_policies.records import Grow, Shrink, Start

"""


@pytest.mark.parametrize("name", ["Plain", "Room"])
def test_its_policies_run_a_workload(tmp_path: Path, name: str) -> None:
    """The second one resizes the jobs."""
    (text,) = (
        each for each in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if f"class {name}:" in each
    )
    path = tmp_path / "mine.py"
    path.write_text(HEAD + text)
    metrics = measure(simulate(catalogue.load("charm", 1), policy_named(f"{path}:{name}")))
    assert metrics.jobs == 16
    assert (metrics.grows > 0, metrics.shrinks > 0) == (name == "Room", name == "Room")


def test_its_workload_in_json_is_one() -> None:
    (text,) = (each for each in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL) if '"jobs"' in each)
    workload = document.parse(text, "the page")
    assert [job.malleable for job in workload.jobs] == [True, False]
    for name in (*document.TIMES, *document.COSTS):
        assert f"`{name}`" in TEXT
    section = TEXT.partition("A document in JSON")[2].partition("Faults can be")[0]
    fields = {word for line in section.splitlines() for word in re.findall(r"`(\w+)`", line)}
    assert fields >= {*workload.jobs[0]._fields, *node_document.OF_A_JOB} - {"shape"}
