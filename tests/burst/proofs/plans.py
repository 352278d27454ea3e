"""`burst plan` is true: what it shows is what `burst apply` asks for, and it writes nothing.

Queues are random: jobs of all sizes, with and without limits, on hold, with dependencies and constraints, for
providers that are there and that are not. Some budgets and caps are reached. What bursts cost is in a model
world, where time passes, and of the last queue in this one.
"""

from __future__ import annotations

import asyncio
import hashlib
from random import Random
from typing import TYPE_CHECKING, Any

from tests.burst.life import world
from tests.burst.proofs.burst_machine import BURSTING, burst_machine
from tests.burst.proofs.facts import Facts
from tests.local.local_machine import engines

if TYPE_CHECKING:
    from pathlib import Path

    from tests.burst.proofs.burst_machine import BurstMachine

SETTINGS = """\
providers:
- {name: near, kind: local, settings: {most: 4, price: "12"}}
- {name: dear, kind: local, settings: {most: 8, price: "36"}}
budgets: [{scope: all, amount: "180"}, {scope: "provider:dear", amount: "90"}]
perUser: {amount: "160"}
"""
SLOTS = [{"name": f"burst-{index}", "size": size, "cores": 1} for index, size in enumerate((2, 3, 5))]
OPTIONS = (
    ("--burstable",),
    ("--burstable",),
    ("--setattr=burstable",),
    ("--burst-to=near",),
    ("--burst-to=dear",),
    ("--burst-to=nobody",),
    (),
    ("--burstable", "--urgency=0"),
    ("--burstable", "--urgency=31"),
    ("--burstable", "--dependency=afterok:{busy}"),
)


def prove(there: BurstMachine, facts: Facts, *, queues: int, seed: int = 11) -> None:
    """Compare plans with what comes of them, for so many queues."""
    numbers = Random(seed)
    policy = {**BURSTING, "dryRun": True, "maxNodes": 7, "maxSeconds": 3600}
    there.up(hosts=0, bursting=policy, flux={"bursting": {"clusters": SLOTS}})
    busy = there.submit("busy", there.wait_for_file("go"), 2)
    counts = [0, 0, 0]
    for queue in range(queues):
        jobs = _submit(there, numbers, queue, busy)
        state = there.folder / f"s{queue}"
        found = _applied(there, facts, state)
        counts = [sum(both) for both in zip(counts, found, strict=True)]
        if jobs:
            there.machine.good("cancel", "mc", *jobs)
    there.machine.good("cancel", "mc", busy)
    facts.figure(f"{queues} queues: {counts[0]} bursts for {counts[2]} jobs, {counts[1]} jobs left out")
    facts.holds(min(counts) >= queues // 3, f"queues that try little: {counts}")
    _lived(there, facts)


def _submit(there: BurstMachine, numbers: Random, queue: int, busy: str) -> list[str]:
    made = []
    for number in range(numbers.randint(1, 7)):
        options = numbers.choice(OPTIONS)
        nodes = numbers.randint(1, 6) if options else numbers.randint(1, 2)
        limit = numbers.choice(("-t10m", "-t30m", "-t1h", "-t2h", ""))
        given = [each.format(busy=busy) for each in options]
        words = (f"-N{nodes}", f"-n{nodes}", "-x", f"--job-name=q{queue}-{number}", *given)
        done = there.machine.call("submit", "mc", *words, *([limit] if limit else []), "--", "true")
        assert not done.returncode or "unsatisfiable" in done.stderr, done.stderr
        made += done.stdout.split()
    return made


def _applied(there: BurstMachine, facts: Facts, state: Path) -> tuple[int, int, int]:
    """Plan, apply, and compare; return how many bursts there are, jobs left out, and jobs that burst."""
    state.mkdir(mode=0o700)
    (state / "burst.yaml").write_text(SETTINGS)
    there.services.rows("list", state=state)  # its tables are there
    before = _bytes(state)
    [plan] = there.services.rows("plan", "mc", state=state)
    facts.equal(_bytes(state), before, "what a plan has written")
    if not plan["bursts"]:
        return 0, len(plan["left_out"]), 0
    applied = there.services.burst("apply", plan["digest"], state=state)
    facts.equal(applied.returncode, 0, applied.stderr)
    rows = there.services.rows("list", state=state)
    facts.equal([_as_listed(row) for row in rows], [_as_planned(each) for each in plan["bursts"]], "bursts")
    again = there.services.burst("apply", plan["digest"], state=state)
    facts.holds(again.returncode != 0 and "is not what would be done now" in again.stderr, again.stderr)
    total = sum(float(each["worst"]) for each in plan["bursts"])
    facts.holds(total <= 160, f"a plan costs {total}")  # one user
    facts.holds(sum(each["nodes"] for each in plan["bursts"]) <= 7, "maxNodes")
    jobs = [job for each in plan["bursts"] for job in each["jobs"]]
    both = set(jobs) & {each["job"] for each in plan["left_out"]}
    facts.equal((len(jobs), both), (len(set(jobs)), set()), "jobs once")
    return len(rows), len(plan["left_out"]), len(jobs)


def _as_listed(row: dict[str, Any]) -> tuple[Any, ...]:
    jobs = sorted(each["id"] for each in row["jobs"])
    keys = ("slot", "provider", "machine", "nodes", "cost")
    return *(row[each] for each in keys), jobs, round(row["until"] - row["created"], 3)


def _as_planned(burst: dict[str, Any]) -> tuple[Any, ...]:
    keys = ("slot", "provider", "machine", "nodes", "worst")
    return *(burst[each] for each in keys), sorted(burst["jobs"]), round(burst["until"], 3)


def _bytes(state: Path) -> dict[str, tuple[str, int]]:
    """Return digest and time of change of each file; of the file that SQLite's readers share, nothing."""
    return {
        str(each.relative_to(state)): (hashlib.sha256(each.read_bytes()).hexdigest(), each.stat().st_mtime_ns)
        for each in state.rglob("*")
        if each.is_file() and not each.name.endswith("-shm")
    }


def _lived(there: BurstMachine, facts: Facts) -> None:
    """Have one plan made: bursts cost something, and at most what was planned."""
    there.submit("busy2", there.wait_for_file("go"), 2)
    there.services.until(lambda: there.tasks.begun("busy2"), "the busy nodes")
    there.submit("lives", "true", 2, "--burst-to=dear")
    there.submit("never", "true", 3, "--burstable")
    (there.services.state / "burst.yaml").write_text(SETTINGS)
    [plan] = there.services.rows("plan", "mc")
    there.services.burst("apply", plan["digest"])
    there.services.serve()
    rows = there.services.until_no_burst()
    costs = [
        (float(row["cost"]), float(each["worst"])) for row, each in zip(rows, plan["bursts"], strict=True)
    ]
    facts.holds(all(0 < cost <= worst for cost, worst in costs), f"costs, and at worst: {costs}")
    facts.equal(there.remote(), {"never", "lives"}, "what ran in bursts")
    facts.equal({row["outcome"] for row in rows}, {"succeeded"}, "outcomes")
    facts.equal(there.services.end(), [0], "the service's exit code")


def modelled(facts: Facts, *, queues: int, seed: int = 12) -> None:
    """Have bursts of a model world cost what they may cost at worst, at most."""
    numbers = Random(seed)
    fractions = [asyncio.run(_modelled(numbers)) for _ in range(queues)]
    facts.holds(all(0 < fraction <= 1 for fraction in fractions), f"parts of the worst cost: {fractions}")
    facts.figure(
        f"{queues} modelled queues cost {sum(fractions) / queues:.0%} of the worst,"
        f" at most {max(fractions):.0%}"
    )


async def _modelled(numbers: Random) -> float:
    async with world.opened() as made:
        nodes = [
            numbers.randint(3, 4) for _ in range(numbers.randint(1, 4))
        ]  # none fits here, all into a burst
        await made.request(*nodes, seconds=numbers.uniform(1, 60))
        [asked] = await made.bursts()
        worst = asked.amounts["all"]
        ended = await made.run()
        async with made.database.read() as connection:
            cost = await world.reservations.of_burst(connection, ended.id)
        await made.check()
        return cost["all"] / worst


def main() -> None:
    """Prove it on each engine, and print figures."""
    facts = Facts("plans")
    modelled(facts, queues=50)
    for engine in engines():
        facts.figure(engine)
        with burst_machine(engine) as there:
            prove(there, facts, queues=50)
    facts.end()


if __name__ == "__main__":
    main()
