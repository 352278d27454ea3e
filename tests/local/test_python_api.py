"""docs/python-api.md is true: its programs run inside a cluster, and print what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from local_machine import document, eventually

if TYPE_CHECKING:
    from local_machine import Machine

TEXT = (Path(__file__).parents[2] / "docs" / "python-api.md").read_text()
SECTIONS = dict(re.findall(r"^## (\S+?):.*?\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))


def program(section: str, number: int = 0) -> str:
    return re.findall(r"```python\n(.*?)```", SECTIONS[section], re.DOTALL)[number]


def inside(machine: Machine, text: str) -> list[str]:
    """Run a program in the cluster's shell; return the lines that it printed."""
    return machine.good("shell", "api", "--", sys.executable, "-c", text).stdout.splitlines()


def outside(text: str, **more: str) -> str:
    """Run a program outside of any cluster; return what it printed."""
    known = {"PYTHONPATH": os.pathsep.join(sys.path), **more}
    command = [sys.executable, "-c", text]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=known).stdout


@pytest.fixture
def cluster(embedded: Machine, tmp_path: Path) -> Machine:
    embedded.up(document(tmp_path, "api", spec={"interactive": True, "maxSize": 3}))
    return embedded


def test_a_job_is_submitted_followed_and_waited_for(cluster: Machine) -> None:
    printed = inside(cluster, program("minicluster.instance"))
    shown = ["0 stdout hello from 0", "1 stdout hello from 1", "COMPLETED 0"]
    assert (sorted(printed[:2]), printed[2:]) == (shown[:2], shown[2:])
    assert "\n".join(shown) in TEXT


def test_nodes_and_brokers_are_listed(cluster: Machine) -> None:
    printed = inside(cluster, program("minicluster.instance", 1))
    assert printed[0] == "2 nodes have free cores, drained: []"
    assert [line.split()[:2] for line in printed[1:]] == [["0", "api-0"], ["1", "api-1"], ["2", "api-2"]]


def test_a_cluster_is_found_by_its_name_from_outside(cluster: Machine) -> None:
    text = program("minicluster.instance", 2).replace('"interactive"', '"api"')
    printed = outside(text, MINICLUSTER_RUNTIME_DIR=str(cluster.root), PATH=os.environ["PATH"])
    assert printed.split() == ["COMPLETED", "42"]


def test_a_program_inside_changes_the_size(cluster: Machine) -> None:
    assert inside(cluster, program("minicluster.within")) == ["True"]
    assert eventually(lambda: cluster.rows("list")[0]["size"] == 3, "three brokers")


def test_outside_it_prints_why_not() -> None:
    answer, why = outside(program("minicluster.within")).splitlines()
    assert answer == "False"
    assert why in TEXT


def test_a_malleable_program_runs_as_a_rigid_one() -> None:
    assert outside(program("minicluster.malleable")) == "done, malleable: False\n"


def test_the_policy_of_ones_own_is_one() -> None:
    ask = "from queue_policies.policy import Policy\n(each,) = minicluster_policies()\n"
    tried = f"{program('queue_policies')}{ask}print(each.name, isinstance(each(), Policy))"
    assert outside(tried) == "mine True\n"
