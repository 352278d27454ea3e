"""Twenty jobs over scaling, saving and restoring: each completes exactly once.

The ledger is a file outside of the cluster, to which each job appends its number as its last act. Before
that it waits for the test to release it: however slow the machine is, enough of them wait at each event.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from local_machine import Machine, document, eventually

if TYPE_CHECKING:
    from pathlib import Path

JOB = 'sleep "$1"; until test -e "$2/$3"; do sleep 0.2; done; echo "$3" >>"$4"'
SECONDS = [2, 3, 2, 4, 2, 3, 5, 2, 3, 6, 2, 3, 2, 4, 2, 3, 2, 5, 2, 3]


def test_twenty_jobs_complete_exactly_once(machine: Machine, tmp_path: Path) -> None:
    """`up`, 20 jobs of 2-6 s, `scale 2→4→2`, `down --dump`, `up --restore --size 3`: none is lost.

    At each event some jobs run, at least five wait, and one runs on a rank that leaves.
    """
    ledger, released, dump = tmp_path / "ledger", tmp_path / "released", tmp_path / "saved.tar"
    released.mkdir()
    path = document(
        tmp_path,
        spec={"maxSize": 4, "interactive": True, "drainTimeoutSeconds": 20},
        resources={"limits": {"cpu": "1"}},
    )
    machine.up(path)
    for number, seconds in enumerate(SECONDS):
        words = map(str, (seconds, released, number, ledger))
        machine.good("submit", "mc", "--", "sh", "-c", JOB, "job", *words)

    _check_event(machine, {0, 1})
    machine.good("scale", "mc", "4")
    eventually(lambda: _running_ranks(machine) >= {2, 3}, "jobs on the new ranks")
    _check_event(machine, {2, 3})
    _release(released, range(13))
    machine.good("scale", "mc", "2")
    assert _running_ranks(machine) <= {0, 1}
    eventually(lambda: len(_running_ranks(machine)) == 2, "jobs on both ranks")
    _check_event(machine, {0, 1})
    _release(released, range(13, 20))
    machine.good("down", "mc", "--dump", dump)
    assert machine.left() == ([], [])

    machine.good("up", path, "--engine", machine.engine, "--size", "3", "--restore", dump)
    eventually(lambda: not machine.rows("jobs", "mc"), "the end of all jobs", deadline=60)
    done = Counter(int(line) for line in ledger.read_text().split())
    assert done == Counter(range(20))
    states = Counter(job["state"] for job in machine.rows("jobs", "mc", "--all"))
    assert states == Counter({"COMPLETED": 20})


def _release(released: Path, numbers: range) -> None:
    for number in numbers:
        (released / str(number)).touch()


def _jobs(machine: Machine, state: str) -> list[dict[str, Any]]:
    return [job for job in machine.rows("jobs", "mc") if job["state"] == state]


def _running_ranks(machine: Machine) -> set[int]:
    return {int(job["ranks"]) for job in _jobs(machine, "RUN")}


def _check_event(machine: Machine, ranks: set[int]) -> None:
    eventually(lambda: _running_ranks(machine) & ranks, f"a job on one of {ranks}")
    assert len(_jobs(machine, "SCHED")) >= 5
