"""The programs of benchmarks/live_cosched.py do what their names promise."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize("kind", ["computes", "multiplies", "asks"])
def test_a_program_does_its_blocks(kind: str) -> None:
    done = json.loads(printed(call("live_programs.py", kind, "3")))
    assert done["blocks"] == 3
    assert done["cpu"] > 0


@pytest.mark.skipif(shutil.which("cc") is None, reason="it is in C, and there is no cc")
def test_the_reader_goes_through_its_memory(tmp_path: Path) -> None:
    library = tmp_path / "chase.so"
    source = BENCHMARKS / "chase.c"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    words = ("--library", str(library), "--bytes", str(1 << 20))
    assert json.loads(printed(call("live_programs.py", "reads", "3", *words)))["blocks"] == 3
    chase = ctypes.CDLL(str(library))
    chase.chase_circle.restype, chase.chase_circle.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    chase.chase.restype = ctypes.c_uint64
    chase.chase.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64]
    lines = chase.chase_circle(64 * 100)
    seen = [chase.chase(lines, 0, steps) for steps in range(100)]
    assert sorted(seen) == list(range(100))
    assert chase.chase(lines, 0, 100) == 0


def test_a_coupled_pair_goes_step_by_step(tmp_path: Path) -> None:
    pair = [
        call("live_programs.py", "coupled", "2", FLUX_JOB_TMPDIR=str(tmp_path), FLUX_TASK_RANK=str(rank))
        for rank in range(2)
    ]
    done = [json.loads(printed(each)) for each in pair]
    assert [each["blocks"] for each in done] == [2, 2]
    assert {each["exchange"] for each in done} == {"a UNIX socket: no MPICH, or no PMI"}


def test_the_tasks_of_a_parallel_program_meet_after_each_block(tmp_path: Path) -> None:
    environment = {"FLUX_JOB_TMPDIR": str(tmp_path), "FLUX_JOB_SIZE": "2"}
    first = call("live_programs.py", "computes", "3", FLUX_TASK_RANK="0", **environment)
    with pytest.raises(subprocess.TimeoutExpired):
        first.communicate(timeout=1)
    second = call("live_programs.py", "computes", "3", FLUX_TASK_RANK="1", **environment)
    done = [json.loads(printed(each)) for each in (first, second)]
    assert [(each["blocks"], each["exchange"]) for each in done] == [
        (3, "a UNIX socket: no MPICH, or no PMI")
    ] * 2


@pytest.mark.parametrize("words", [("computes", "3", "--apart"), ("asks", "3")])
def test_tasks_that_have_nothing_to_do_with_each_other_do_not_meet(words: tuple[str, ...]) -> None:
    done = json.loads(printed(call("live_programs.py", *words, FLUX_JOB_SIZE="2", FLUX_TASK_RANK="0")))
    assert "exchange" not in done


@pytest.mark.skipif(
    not Path(sys.prefix, "lib", "libmpi.so.12").exists(), reason="the mpich wheel is not installed"
)
def test_a_coupled_pair_is_of_mpi_ranks_where_it_can_be(cluster: Any) -> None:
    program = str(BENCHMARKS / "live_programs.py")
    done = cluster.flux("run", "-N1", "-n2", sys.executable, program, "coupled", "2")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["blocks"] for each in found] == [2, 2]
    assert all(each["exchange"].startswith("MPICH ") for each in found)
