"""One machine, once from jobs to nothing: who runs where, how often, and what is left.

Two own nodes are busy until they are told to end. Four burstable jobs wait before two ordinary ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.burst.proofs.burst_machine import burst_machine
from tests.burst.proofs.facts import Facts
from tests.local.local_machine import engines

if TYPE_CHECKING:
    from tests.burst.proofs.burst_machine import BurstMachine

BURSTABLE = {"b1": 1, "b2": 2, "b3": 1, "b4": 3}
"""Nodes by name; the last one never fits on two."""
ORDINARY = {"o1": 1, "o2": 2}
OTHERS = {"busy1": 1, "busy2": 1, "first": 2, "again": 3}


def prove(there: BurstMachine, facts: Facts, *, quick: bool, seconds: float) -> None:
    """Prove it with jobs of so many seconds."""
    there.up(hosts=3, bursting={**BURSTING_SLOWLY_IDLE})
    run = f"sleep {seconds}"
    ids = {each: there.submit(each, there.wait_for_file("go"), 1) for each in ("busy1", "busy2")}
    there.services.until(lambda: there.tasks.begun("busy1", "busy2"), "the busy nodes")
    ids |= {name: there.submit(name, run, nodes, "--burstable") for name, nodes in BURSTABLE.items()}
    ids |= {name: there.submit(name, run, nodes) for name, nodes in ORDINARY.items()}
    there.services.serve(quick=quick)
    there.services.until(lambda: there.tasks.ended(*BURSTABLE), "the jobs of the burst")
    # The burst has nothing to do, its queue is open, and ordinary jobs wait: none goes there.
    states = {row["state"] for row in there.services.bursts()}
    there.touch("go")
    there.services.until(lambda: there.tasks.ended(*ORDINARY), "the ordinary jobs")
    facts.holds(states <= {"active", "draining"}, f"the burst was there while ordinary jobs waited: {states}")
    rows = there.services.until_no_burst()
    _check_burst(there, facts, rows)
    # Its ranks are drained: the next burst in the same slot undrains them.
    ids["again"] = there.submit("again", run, 3, "--burstable")
    there.services.until(lambda: len(there.services.bursts()) > len(rows), "another burst")
    rows = there.services.until_no_burst()
    facts.equal({row["outcome"] for row in rows}, {"succeeded"}, "outcomes")
    jobs = {**BURSTABLE, **ORDINARY, "busy1": 1, "busy2": 1, "again": 3}
    facts.equal(there.tasks.once(jobs), "", "each task once")
    facts.equal(there.remote(), {*BURSTABLE, "again"}, "what ran on burst nodes")
    shown = there.jobs()
    facts.equal({name: shown[name]["id"] for name in ids}, ids, "the ids as submitted")
    facts.equal({shown[name]["state"] for name in ids}, {"COMPLETED"}, "how jobs ended")
    _check_end(there, facts)
    facts.figure(f"{len(rows)} bursts, {len(jobs)} jobs, {len(there.tasks.lines()) // 2} tasks each once")


BURSTING_SLOWLY_IDLE = {
    "dryRun": False,
    "idleSeconds": 2,
    "verifySeconds": 1,
    "drainTimeoutSeconds": 5,
    "select": {"afterSeconds": 0},
}


def _check_burst(there: BurstMachine, facts: Facts, rows: list[dict[str, object]]) -> None:
    facts.equal([row["outcome"] for row in rows], ["succeeded"] * len(rows), "how bursts went")
    facts.equal(there.queue_is_started(), False, "the slot's queue is started")
    facts.equal(there.queue_is_started("default"), True, "the local queue is started")
    nodes = max(int(str(row["nodes"])) for row in rows)
    facts.holds(
        there.drained().startswith(f"burst-0-[0-{nodes - 1}] minicluster: burst "),
        f"the slot's ranks are drained: {there.drained()!r}",
    )


def _check_end(there: BurstMachine, facts: Facts) -> None:
    facts.equal(there.services.end(), [0], "exit codes of services")
    running, files = there.services.left()
    facts.equal(running, set(), "processes that are left")
    facts.holds(set(files) <= {".lock"}, f"files that are left: {files}")


def main() -> None:
    """Prove it on each engine, with the real spans, and print figures."""
    facts = Facts("one machine")
    for engine in engines():
        facts.figure(engine)
        with burst_machine(engine) as there:
            prove(there, facts, quick=False, seconds=2)
    facts.end()


if __name__ == "__main__":
    main()
