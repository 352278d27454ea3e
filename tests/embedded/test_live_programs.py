"""The programs of benchmarks/live_cosched.py do what their names promise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def call(script: str, *words: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(BENCHMARKS / script), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def printed(process: subprocess.Popen[str]) -> str:
    out, wrong = process.communicate(timeout=120)
    assert (process.returncode, wrong) == (0, "")
    return out


@pytest.mark.parametrize("kind", ["waits", "asks", "computes", "reads"])
def test_a_program_does_its_blocks(kind: str) -> None:
    done = json.loads(printed(call("live_programs.py", kind, "3")))
    assert done["blocks"] == 3
    assert done["cpu"] > 0


def test_a_coupled_pair_goes_step_by_step(tmp_path: Path) -> None:
    pair = [
        call("live_programs.py", "coupled", "2", FLUX_JOB_TMPDIR=str(tmp_path), FLUX_TASK_RANK=str(rank))
        for rank in range(2)
    ]
    assert [json.loads(printed(each))["blocks"] for each in pair] == [2, 2]
