"""Whole cores by affinity, with real threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.execution.processes import family
from minicluster.embedded.execution.rank.enforcement.affinity import AffinityEnforcement
from minicluster.embedded.execution.rank.enforcement.records import CpuLimit
from minicluster.embedded.execution.rank.task_limits import cpus_of

if TYPE_CHECKING:
    from collections.abc import Iterator

CPUS = sorted(os.sched_getaffinity(0))
FIRST, LAST = frozenset(CPUS[:1]), frozenset(CPUS[-1:])
ALL = frozenset(CPUS)
PROGRAM = """
import os, threading, time, sys
threading.Thread(target=lambda: sys.stdin.readline(), daemon=True).start()
print("up", flush=True)
for line in sys.stdin:
    if line.strip() == "fork" and not os.fork():
        os.execvp("sleep", ["sleep", "60"])
    if line.strip() == "free":
        os.sched_setaffinity(0, range(1024))
    while line.strip() == "compute" and time.process_time() < 0.2:
        pass
    print("done", flush=True)
"""


@pytest.fixture
def program() -> Iterator[subprocess.Popen[str]]:
    """A program with a thread, which forks and frees itself when it is asked."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("sys.stdin.readline()", "threading.Event().wait()")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        os.killpg(process.pid, 9)


def ask(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{word}\n")
    process.stdin.flush()
    process.stdout.readline()


def masks(process: subprocess.Popen[str]) -> set[frozenset[int]]:
    threads = [
        int(thread.name) for pid in family([process.pid]) for thread in Path(f"/proc/{pid}/task").iterdir()
    ]
    return {frozenset(os.sched_getaffinity(thread)) for thread in threads}


needs_two = pytest.mark.skipif(len(CPUS) < 2, reason="this process may use one CPU")


@needs_two
def test_every_thread_is_bound_and_what_is_forked_too(program: subprocess.Popen[str]) -> None:
    job = AffinityEnforcement().begin(1, lambda: family([program.pid]))
    ask(program, "fork")
    before = masks(program)
    job.set_limit(CpuLimit(1, len(CPUS), FIRST))
    bound = masks(program)
    ask(program, "fork")
    after_fork = masks(program)
    ask(program, "free")
    freed = masks(program)
    job.refresh()
    again = masks(program)
    job.set_limit(CpuLimit(None, len(CPUS), ALL))
    assert (before, bound, after_fork, again, masks(program)) == ({ALL}, {FIRST}, {FIRST}, {FIRST}, {ALL})
    assert freed == {FIRST, ALL}
    assert job.close()


@needs_two
def test_threads_get_back_what_they_had(program: subprocess.Popen[str]) -> None:
    """A task that was bound to a core of its own is bound to it again; what began meanwhile gets all."""
    os.sched_setaffinity(program.pid, LAST)
    job = AffinityEnforcement().begin(1, lambda: family([program.pid]))
    job.set_limit(CpuLimit(1, len(CPUS), FIRST))
    ask(program, "fork")
    job.set_limit(CpuLimit(None, len(CPUS), ALL))
    assert frozenset(os.sched_getaffinity(program.pid)) == LAST
    (forked,) = [pid for pid in family([program.pid]) if pid != program.pid]
    assert frozenset(os.sched_getaffinity(forked)) == ALL


@needs_two
def test_a_task_is_bound_before_its_program_begins() -> None:
    job = AffinityEnforcement().begin(1, list)
    job.set_limit(CpuLimit(1, len(CPUS), LAST))
    words = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
    printed = subprocess.run(words, preexec_fn=job.enter, capture_output=True, text=True, check=True).stdout
    assert printed == f"{sorted(LAST)}\n"


def test_consumption_is_that_of_the_processes_and_never_falls(program: subprocess.Popen[str]) -> None:
    pids = [program.pid]
    job = AffinityEnforcement().begin(1, lambda: family(pids))
    ask(program, "compute")
    used = job.consumption()
    assert used.cpu_seconds >= 0.1
    assert used.memory_bytes > 1 << 20
    pids.clear()
    assert job.consumption().cpu_seconds == used.cpu_seconds
    assert job.consumption().memory_bytes == 0


@pytest.mark.parametrize(
    ("ids", "cpus", "expected"),
    [
        pytest.param([0, 1], [4, 5, 6], {4, 5}, id="the k-th CPU that the broker may use"),
        pytest.param([2, 3], [0, 1], {0, 1}, id="more cores than CPUs"),
        pytest.param([], [0, 1], set(), id="none"),
    ],
)
def test_cpus_of(ids: list[int], cpus: list[int], expected: set[int]) -> None:
    assert cpus_of(ids, cpus) == expected
