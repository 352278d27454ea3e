"""A minute of benchmarks/live_cosched.py: real programs share a broker's cores. What holds, not how fast."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from minicluster.embedded.execution.rank.enforcement.control_groups import group_name

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
GROUPS = Path("/sys/fs/cgroup")
SMALLER = """
import contextlib, sys
import live_cosched as bench

EXPERTS, DIRECTORIES = sys.argv.pop(), sys.argv.pop()
live = bench.live

@contextlib.contextmanager
def noted(*words, **options):
    with live(*words, **options) as cluster:
        with open(DIRECTORIES, "a") as file:
            print(cluster.instance.life.attributes()["rundir"], file=file)
        yield cluster

bench.live = noted
bench.SET = {"asks": (2, 2, 2, 1), "computes": (1,)}
bench.words_of = lambda every: {"cosched": f"cosched:every=1,guard=0,experts={EXPERTS}"}
bench.measured_pairs = lambda blocks, alone: {"computes": 1.0, "reads": 1.0}
sys.exit(bench.main())
"""
"""The benchmark with programs that wait most of the time, and cosched alone, whose only expert always shares.

Of a program that runs for less than two seconds nothing is known, so less time is not enough."""
ALWAYS = {"experts": [{"name": "always", "tree": [0, 0, 0.5, 0.5]}]}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this process may use one CPU")
def test_real_programs_are_hosts_and_guests_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    experts, directories = tmp_path / "experts.json", tmp_path / "directories"
    experts.write_text(json.dumps(ALWAYS))
    words = ("--minutes", "0.16", "--copies", "1", str(directories), str(experts))
    done = subprocess.run(
        [sys.executable, "-c", SMALLER, *words],
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{BENCHMARKS}:{BENCHMARKS.parent}"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found.keys() >= {"alone", "actual", "simulated", "quotas", "quota_error", "lift_seconds", "missed"}
    assert found["alone"].keys() == {"asks-1", "asks-2", "computes-1"}
    actual = found["actual"]["cosched"]
    assert actual["failed"] == 0
    assert actual["shared"] > 0
    assert actual.keys() >= found["simulated"]["cosched"].keys() == {"response", "wait", "makespan"}
    brokers = directories.read_text().split()
    assert len(brokers) == 2
    assert [path for each in brokers for path in left_by(each)] == []


def left_by(directory: str) -> list[Path]:
    """The control groups of a broker with this run directory."""
    return list(GROUPS.rglob(f"{group_name(directory, 0, '').prefix}*"))
