"""Policy plug-ins that do not load: a warning on standard error, and an error for who asks for the policy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.queue_policies.installed_plugin import install_plugin

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Call = Callable[..., subprocess.CompletedProcess[str]]

WRONG = (
    "minicluster: {}policy plug-in sjf (my_sjf) does not load: ModuleNotFoundError: No module named 'gone'{}"
)
WARNING = WRONG.format("warning: ", "; it is passed over\n")
DOCUMENT = """\
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {name: mc}
spec:
  size: 1
  flux: {scheduler: {queuePolicy: minicluster/POLICY}}
  containers: [{image: test, command: "true"}]
"""


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Run `minicluster` in an environment with a plug-in that does not load."""
    install_plugin(tmp_path / "site", "sjf", "my_sjf", "import gone")
    paths = [str(tmp_path / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "minicluster.cli", *arguments],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "120", "TERM": "dumb"},
        )

    for policy in ("easy", "sjf"):
        (tmp_path / f"{policy}.yaml").write_text(DOCUMENT.replace("POLICY", policy))
    return run


SIMULATE = (
    "simulate",
    "--workload",
    "charm:gap=90",
    "--seeds",
    "2",
    "-j",
    "2",
    "--output",
    "json",
    "--policy",
)


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        pytest.param(("policies", "easy", "-o", "json"), 1, id="policies"),
        pytest.param((*SIMULATE, "easy"), 2, id="simulate"),
        pytest.param(("validate", "easy.yaml", "easy.yaml", "-o", "json"), 0, id="validate"),
    ],
)
def test_other_policies_work_with_one_warning(call: Call, words: tuple[str, ...], rows: int) -> None:
    """Standard output is JSON as ever."""
    done = call(*words)
    assert (done.returncode, done.stderr) == (0, WARNING)
    assert len(json.loads(done.stdout)) == rows


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("policies", "sjf"), id="policies"),
        pytest.param((*SIMULATE, "easy", "--policy", "sjf:gap=3"), id="simulate"),
    ],
)
def test_the_policy_itself_is_an_error(call: Call, words: tuple[str, ...]) -> None:
    done = call(*words)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", WRONG.format("", "\n"))


def test_a_document_that_asks_for_it_is_invalid(call: Call) -> None:
    done = call("validate", "sjf.yaml")
    assert (done.returncode, done.stderr) == (1, "")
    assert "spec.flux.scheduler.queuePolicy: policy plug-in sjf (my_sjf) does not load: " in done.stdout


def test_the_listing_is_whole(call: Call) -> None:
    done = call("policies")
    assert (done.returncode, done.stderr) == (0, WARNING)
    assert {"fcfs", "easy"} < {line.split()[0] for line in done.stdout.splitlines()}


def test_defaults_are_listed_as_they_are_written(call: Call) -> None:
    lines = [line.split()[:2] for line in call("policies", "easy", "malleable").stdout.splitlines()]
    assert ["extra", "true"] in lines
    assert ["extra", "false"] in lines
