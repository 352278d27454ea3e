"""A minute of benchmarks/live_cosched.py: real programs share a broker's cores. What holds, not how fast."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "live_cosched.py"
ALWAYS = {"experts": [{"name": "always", "tree": [0, 0, 0.5, 0.5]}]}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this process may use one CPU")
def test_real_programs_run_on_the_same_cores_and_leave_nothing(tmp_path: Path) -> None:
    """Of a program that runs for less than two seconds nothing is known, so less time is not enough."""
    experts = tmp_path / "experts.json"
    experts.write_text(json.dumps(ALWAYS))
    policy = f"cosched:every=1,guard=0,experts={experts}"
    words = (
        "--minutes",
        "0.25",
        "--sets",
        "1",
        "--limits",
        "20",
        "--program",
        "asks",
        "--program",
        "computes",
    )
    done = subprocess.run(
        [sys.executable, str(BENCHMARK), *words, "--policy", policy],
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["alone"].keys() == {"asks-1", "asks-2", "computes-1", "computes-2"}
    assert found["doubled"].keys() == found["alone"].keys()
    assert len(found["exchange"]) == 1  # of jobs of two tasks
    actual = found["actual"]["cosched"]
    assert actual["shared"] > 0
    assert actual.keys() >= found["simulated"]["cosched"].keys() == {"response", "wait", "makespan"}
    assert [each for each in found["missed"] if "failed" in each or "left" in each] == []
