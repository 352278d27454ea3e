"""`minicluster simulate` and `minicluster policies`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import forked

if TYPE_CHECKING:
    from pathlib import Path


FEW = "minicluster: warning: a 95 % interval of two seeds is very wide (12.7 standard errors): take more\n"
ENVIRONMENT = {"COLUMNS": "120", "TERM": "dumb"}


def _call(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command, which has no processes of its own."""
    return forked.completed(arguments, {**os.environ, **ENVIRONMENT}, timeout=100)


def test_policies_are_compared_in_a_table() -> None:
    called = ("simulate", "--workload", "charm:gap=90", "--seeds", "2", "-j", "1")
    shown = _call(*called, "--policy", "moldable", "--policy", "priority-elastic:gap=60")
    head, *rows = shown.stdout.splitlines()
    assert head.split()[:4] == ["POLICY", "MAKESPAN", "UTILIZATION", "WAIT"]
    titles = [row.strip().partition("  ")[0] for row in rows]
    assert titles[::3] == ["moldable", "priority-elastic:gap=60"]
    assert titles[1:3] == ["deviation", "95 % interval"]
    assert all("±" in row for row in rows[2::3])
    assert shown.stderr == FEW, "no progress bar where nobody looks"


def test_one_seed_has_no_spread_and_what_was_preempted_is_in_the_table() -> None:
    called = ("simulate", "--workload", "charm", "-j", "1")
    shown = _call(*called, "--policy", "fcfs", "--policy", "preemptive")
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert [(line[0], line[-1]) for line in lines] == [
        ("POLICY", "PREEMPTIONS"),
        ("fcfs", "0.00"),
        ("preemptive", "6.00"),
    ]


def test_json_has_a_row_a_policy_where_that_is_asked_for() -> None:
    called = (
        "simulate",
        "--workload",
        "charm",
        "--seeds",
        "2",
        "-j",
        "1",
        "-o",
        "json",
        "--rows",
        "policies",
    )
    done = _call(*called, "--policy", "fcfs")
    assert done.stderr == FEW
    (row,) = json.loads(done.stdout)
    assert (row["seeds"], set(row["wait"])) == ([0, 1], {"mean", "deviation", "low", "high"})


def test_a_table_has_a_row_a_run_where_that_is_asked_for() -> None:
    called = ("simulate", "--workload", "charm", "--seeds", "2", "-j", "1", "--rows", "runs")
    lines = _call(*called, "--policy", "fcfs").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["POLICY", "SEED"], ["fcfs", "0"], ["fcfs", "1"]]


def test_json_has_a_row_a_run_and_files_are_written(tmp_path: Path) -> None:
    files = ("--csv", "a.csv", "--report", "a.html")
    called = ("simulate", "--workload", "apgas:share=0.2", "--seeds", "2", "-j", "2", "-o", "json", *files)
    shown = subprocess.run(
        [sys.executable, "-m", "minicluster.cli", *called, "--policy", "malleable"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=tmp_path,
        env={**os.environ, **ENVIRONMENT},
    )
    assert [row["seed"] for row in json.loads(shown.stdout)] == [0, 1]
    assert (tmp_path / "a.csv").read_text().count("\n") == 1 + 2 * 25
    assert (tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--workload", "charm", "--policy", "fcsf"), 1, "unknown queue policy 'fcsf'; did you mean 'fcfs'?"),
        (("--workload", "chram", "--policy", "fcfs"), 1, "unknown workload 'chram'; did you mean 'charm'?"),
        (("--workload", "no.swf", "--policy", "fcfs"), 1, "no.swf: No such file or directory"),
        (
            ("--workload", "no.swf", "--policy", "fcfs", "--seeds", "2"),
            2,
            "a file or a history is one set of jobs, whatever the seed",
        ),
        (
            ("--workload", "charm", "--policy", "fcfs", "--size", "8"),
            1,
            "charm-0: job 6: needs 16 units, and the cluster has 8; --oversized skips or clips it",
        ),
        (
            ("--workload", "charm", "--policy", "fcfs", "--report", "/nonexistent/x.html"),
            1,
            "/nonexistent/x.html: there is no directory /nonexistent; nothing was simulated",
        ),
        (
            ("--workload", "charm", "--policy", "./none.py:None"),
            1,
            "none.py: there is no such file",
        ),
    ],
)
def test_what_cannot_be_is_reported(arguments: tuple[str, ...], code: int, message: str) -> None:
    shown = _call("simulate", *arguments)
    assert shown.returncode == code
    assert message in " ".join(shown.stderr.replace("│", " ").split())


def test_jobs_that_are_too_large_can_be_left_out() -> None:
    called = ("simulate", "--workload", "charm", "--size", "8", "--policy", "fcfs", "-o", "json")
    (row,) = json.loads(_call(*called, "--oversized", "skip").stdout)
    assert row["jobs"] < 16


def test_units_fail_where_that_is_asked_for() -> None:
    failures = ("--mtbf", "20000", "--checkpoint", "60", "--restart", "5", "--repair", "100")
    shown = _call("simulate", "--workload", "charm", "--policy", "rigid-min", "-o", "json", *failures)
    (row,) = json.loads(shown.stdout)
    assert row["restarts"] > 0


def test_policies_are_listed_with_their_settings() -> None:
    shown = _call("policies", "priority-elastic").stdout.splitlines()
    assert shown[0].split() == ["POLICY", "DEFAULT", "DESCRIPTION"]
    assert shown[1].startswith("priority-elastic ")
    assert shown[2].split()[:2] == ["gap", "180.0"]


def test_policies_are_listed_as_json() -> None:
    rows = json.loads(_call("policies", "-o", "json").stdout)
    assert {"fcfs", "easy", "priority-elastic"} <= {row["name"] for row in rows}
    assert all({"name", "description", "settings"} <= set(row) for row in rows)


def test_a_policy_that_there_is_not_has_a_nearest() -> None:
    shown = _call("policies", "esay")
    assert (shown.returncode, shown.stderr.strip()) == (
        1,
        "minicluster: unknown queue policy 'esay'; did you mean 'easy'?",
    )


def test_placements_are_listed_with_their_settings() -> None:
    shown = _call("placements", "random").stdout.splitlines()
    assert shown[0].split() == ["PLACEMENT", "DEFAULT", "DESCRIPTION"]
    assert shown[1].startswith("random ")
    assert shown[2].split()[:2] == ["seed", "0"]


def test_placements_are_listed_as_json() -> None:
    rows = json.loads(_call("placements", "-o", "json").stdout)
    assert {"low-rank", "task-group", "balanced"} <= {row["name"] for row in rows}
    assert all({"name", "description", "settings"} <= set(row) for row in rows)


def test_a_placement_that_there_is_not_has_a_nearest() -> None:
    shown = _call("placements", "balansed")
    assert (shown.returncode, shown.stderr.strip()) == (
        1,
        "minicluster: unknown placement 'balansed'; did you mean 'balanced'?",
    )
