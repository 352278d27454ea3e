"""Hosts of slots that never come cost nothing, nor do jobs that wait for them, nor a burst that is lost.

Bring-ups of two own nodes alternate, with a slot and without. Under each policy the same jobs run behind a
waiting room that is empty, and behind one with jobs in it. In the end a service is dead, and so are the nodes
of its burst, which had jobs to do.
"""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import time
from typing import TYPE_CHECKING

from queue_policies.builtin import CLASSES
from tests.burst.proofs.burst_machine import burst_machine
from tests.burst.proofs.facts import Facts
from tests.local.local_machine import Machine, document, engines

if TYPE_CHECKING:
    from pathlib import Path

    from tests.burst.proofs.burst_machine import BurstMachine

HOSTS, PAIRS = 128, 5
JOBS = {"embedded": 1000, "flux": 100}
"""Jobs of a run: some seconds."""
LONGER = {"embedded": 0.5, "flux": 1.0}
"""Seconds by which a bring-up may be longer."""
THROUGHPUT = 0.9
WAITING, QUEUED = 20, 10
LOCAL = (
    ("a", 2, 1.0, "1m"),
    ("b", 1, 0.9, "10m"),
    ("c", 2, 0.5, "10m"),
    ("d", 1, 0.5, "1m"),
    ("e", 1, 0.5, "1h"),
    ("f", 2, 0.5, "1m"),
)
"""Local jobs in the order in which they are submitted: name, nodes, seconds, time limit."""


def _bring_up(folder: Path, engine: str, hosts: int) -> tuple[float, float]:
    """Return how long a bring-up takes, in seconds, and how many jobs a second it runs then."""
    machine, count = Machine(folder / f"m{hosts}", engine), JOBS[engine]
    slots = [{"name": "burst-0", "size": hosts, "cores": 1}] if hosts else []
    spec = {"interactive": True, "flux": {"bursting": {"clusters": slots}}}
    path = document(folder, spec=spec, resources={"limits": {"cpu": "1"}})
    begun = time.monotonic()
    done = machine.up(path)
    took = time.monotonic() - begun
    assert done.returncode == 0, done.stderr
    try:
        machine.good("shell", "mc", "--", "flux", "submit", f"--cc=1-{count}", "--wait", "--quiet", "true")
        rows = machine.rows("jobs", "mc", "--all")
        assert [row["state"] for row in rows] == ["COMPLETED"] * count
        span = max(row["t_inactive"] for row in rows) - min(row["t_submit"] for row in rows)
    finally:
        machine.good("down", "mc")
    return took, count / span


def bring_ups(folder: Path, facts: Facts, engine: str, *, hosts: int, pairs: int) -> None:
    """Compare bring-ups and jobs a second, with so many hosts that never come and without."""
    near, far = [], []
    for pair in range(pairs):
        for each, seen in ((0, near), (hosts, far)) if pair % 2 else ((hosts, far), (0, near)):
            seen.append(_bring_up(folder, engine, each))
    up, far_up = (statistics.median(took for took, _ in each) for each in (near, far))
    rate, far_rate = (statistics.median(rate for _, rate in each) for each in (near, far))
    ratio = statistics.median(there / here for (_, here), (_, there) in zip(near, far, strict=True))
    facts.figure(
        f"bring-up {up:.2f} s, with {hosts} absent hosts {far_up:.2f} s; {rate:.0f} jobs a second,"
        f" with them {far_rate:.0f}, {ratio:.0%} (medians of {pairs} pairs)"
    )
    longer = far_up - up
    facts.holds(longer <= LONGER[engine], f"bring-up is {longer:.2f} s longer, not {LONGER[engine]:g} s")
    facts.holds(ratio >= THROUGHPUT, f"{ratio:.0%} of the jobs a second, not {THROUGHPUT:.0%}")


def _order(there: BurstMachine, turn: str) -> str:
    """Run local jobs behind one that has both nodes; return their names in the order of their starts."""
    there.submit(f"busy-{turn}", there.wait_for_file(f"go-{turn}"), 2)
    there.services.until(lambda: there.tasks.begun(f"busy-{turn}"), "the busy nodes")
    jobs = {f"{name}-{turn}": more for name, *more in LOCAL}
    for name, (nodes, seconds, limit) in jobs.items():
        there.submit(name, f"sleep {seconds}", nodes, f"-t{limit}")
    there.touch(f"go-{turn}")
    there.services.until(lambda: there.tasks.ended(*jobs), f"the end of the local jobs, {turn}")
    rows = there.jobs()
    return " ".join(name.partition("-")[0] for name in sorted(jobs, key=lambda each: rows[each]["t_run"]))


def waiting_room(there: BurstMachine, facts: Facts, policy: str, *, waiting: int) -> None:
    """Compare the starts of local jobs behind an empty waiting room and behind one with jobs."""
    there.up(hosts=4, flux={"scheduler": {"queuePolicy": policy}} if policy else {})
    without, named = _order(there, "without"), policy or "the engine's policy"
    ids = [there.submit(f"far{number}", "true", 3, "--burstable") for number in range(waiting)]
    behind, rows = _order(there, "behind"), there.jobs()
    found = {(rows[f"far{number}"]["queue"], rows[f"far{number}"]["state"]) for number in range(waiting)}
    facts.equal(found, {("burst", "SCHED")}, f"{named}: what waits")
    facts.equal(behind, without, f"{named}: starts behind {waiting} jobs in the waiting room")
    there.machine.good("cancel", "mc", *ids)
    facts.figure(f"{named}: {behind} behind {waiting} jobs in the waiting room, {without} without")


def lost_burst(there: BurstMachine, facts: Facts, *, queued: int) -> None:
    """Compare starts of local jobs with those after a service died, and the nodes of its burst with jobs."""
    there.up(hosts=3)
    without = _order(there, "without")
    names = [f"far{number}" for number in range(queued + 1)]
    for name in names:
        there.submit(name, there.wait_for_file("never"), 3, "--burstable")
    there.services.serve()
    there.services.until(lambda: there.tasks.begun(names[0]), "the burst")

    def are_moved() -> bool:
        rows = there.jobs()
        return {rows[name]["queue"] for name in names} == {"burst-0"}

    there.services.until(are_moved, "all jobs to be in the queue of the burst")
    there.services.end(signal.SIGKILL)
    for pid in there.services.running():
        with contextlib.suppress(ProcessLookupError):  # it has ended with another one
            os.kill(pid, signal.SIGKILL)
    facts.holds(there.queue_is_started(), "its queue is closed already")
    lost = _order(there, "lost")
    facts.equal(lost, without, f"starts with {queued} jobs in the queue of a burst that is lost")
    there.services.until(lambda: not there.queue_is_started(), "the queue to be closed")
    facts.figure(f"{lost} with {queued} jobs in the queue of a burst that is lost, {without} without")
    there.machine.good("cancel", "mc", *(row["id"] for row in there.machine.rows("jobs", "mc")))


def main() -> None:
    """Prove it on each engine, and print figures."""
    facts = Facts("absent hosts")
    for engine in engines():
        facts.figure(engine)
        with burst_machine(engine) as there:
            bring_ups(there.folder, facts, engine, hosts=HOSTS, pairs=PAIRS)
        for policy in ("", *(f"minicluster/{each}" for each in CLASSES)):
            with burst_machine(engine) as there:
                waiting_room(there, facts, policy, waiting=WAITING)
        with burst_machine(engine) as there:
            lost_burst(there, facts, queued=QUEUED)
    facts.end()


if __name__ == "__main__":
    main()
