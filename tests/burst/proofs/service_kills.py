"""Services killed at random moments of one burst's life, two of them at once: the end is the same."""

from __future__ import annotations

import contextlib
import subprocess
from random import Random
from typing import TYPE_CHECKING

from tests.burst.proofs.burst_machine import BURSTING, burst_machine
from tests.burst.proofs.facts import Facts
from tests.local.local_machine import engines

if TYPE_CHECKING:
    from tests.burst.proofs.burst_machine import BurstMachine

BURSTABLE = {"b1": 1, "b2": 2, "b3": 1, "b4": 3}
ORDINARY = {"o1": 1, "o2": 2}
KILLS = 20


def prove(there: BurstMachine, facts: Facts, *, kills: int, seed: int = 19) -> None:
    """Prove it; a service may live for less than two seconds each time."""
    numbers = Random(seed)
    there.up(hosts=3, bursting=BURSTING)
    busy = {"busy1": 1, "busy2": 1}
    for name in busy:
        there.submit(name, there.wait_for_file("go"), 1)
    there.services.until(lambda: there.tasks.begun(*busy), "the busy nodes")
    ids = {name: there.submit(name, "sleep 0.3", nodes, "--burstable") for name, nodes in BURSTABLE.items()}
    ids |= {name: there.submit(name, "sleep 0.1", nodes) for name, nodes in ORDINARY.items()}
    states = set()
    for _ in range(kills):
        service = there.services.serve()
        with contextlib.suppress(subprocess.TimeoutExpired):
            service.wait(numbers.uniform(0.1, 1.5))  # it does not end: the moment is the timeout's
        service.kill()
        service.wait()
        there.services.processes.remove(service)
        states |= {row["state"] for row in there.services.bursts()}
    both = [there.services.serve(number=number) for number in (1, 2)]
    there.services.until(lambda: there.tasks.ended(*BURSTABLE), "the jobs of bursts")
    there.touch("go")
    there.services.until(lambda: there.tasks.ended(*ORDINARY), "the ordinary jobs")
    rows = there.services.until_no_burst()
    facts.equal({row["outcome"] for row in rows} - {"not-possible"}, {"succeeded"}, "outcomes")
    jobs = {**BURSTABLE, **ORDINARY, **busy}
    facts.equal(there.tasks.once(jobs), "", "each task once")
    facts.equal(there.remote(), {*BURSTABLE}, "what ran on burst nodes")
    shown = there.jobs()
    facts.equal({name: shown[name]["id"] for name in ids}, ids, "the ids as submitted")
    facts.equal(there.queue_is_started(), False, "the slot's queue is started")
    facts.equal([each.poll() for each in both], [None, None], "services that ended by themselves")
    facts.equal(there.services.end(), [0, 0], "exit codes of services")
    running, files = there.services.left()
    facts.equal(running, set(), "processes that are left")
    facts.holds(set(files) <= {".lock"}, f"files that are left: {files}")
    facts.figure(f"{kills} kills in {', '.join(sorted(states)) or 'no state'}, then 2 services at once")


def main() -> None:
    """Prove it on each engine, and print figures."""
    facts = Facts("service kills")
    for engine in engines():
        facts.figure(engine)
        with burst_machine(engine) as there:
            prove(there, facts, kills=KILLS)
    facts.end()


if __name__ == "__main__":
    main()
