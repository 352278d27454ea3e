"""What bursts take that have nothing new, and how soon one is made, and has jobs, that is asked for.

A hundred bursts whose jobs run on: their provider and leads are files, and how long theirs take is no part of
it. Then one machine, with a service that is a process, and commands beside it.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burst.asked import JobOrigin, LeadIdentity, request
from burst.ledger import bursts
from burst.lifecycle.states import BurstState, Timeouts
from burst.planning.records import PlannedBurst
from burst.providers.local.records import BurstDirectory
from tests.burst.proofs.burst_machine import BURSTING, burst_machine
from tests.burst.proofs.facts import Facts
from tests.burst.proofs.looping_service import looping
from tests.burst.proofs.stored_slots import StoredLead, StoredProvider
from tests.devcluster.waiting import until
from tests.local.local_machine import engines

if TYPE_CHECKING:
    from burst.ledger.ledger import BurstLedger
    from minicluster.database import Database
    from tests.burst.proofs.burst_machine import BurstMachine

BURSTS = 100
SECONDS = 45.0
"""For how long they are watched: longer than two observations of each are apart."""
REQUESTS = 5
MADE, RUNNING = 1.0, 8.0
"""Seconds after a request."""
TIMEOUTS = Timeouts(idle=3600.0, verified=0.0)
COMMANDS = ("list", "jobs --help", "submit --help")


class CountedCalls:
    """A provider whose calls are counted."""

    def __init__(self, provider: StoredProvider) -> None:
        self._provider = provider
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._provider, name)
        if name in {"create", "get", "delete", "owned"}:
            self.calls[name] += 1
        return found


async def ask(ledger: BurstLedger, number: int, machine: str = "c8") -> str:
    """Ask for a burst of one node in the slot of a MiniCluster with this number."""
    portions = {"alice": 1}
    planned = PlannedBurst(
        "slot", "stored", machine, False, 1, 1, (number,), 1.0, 3000.0, 3600.0, 1, 1, portions
    )
    identity = LeadIdentity(f"u{number}", "instance-1", f"default/u{number}", f"u{number}")
    return await request(ledger, identity, planned, "files", {number: JobOrigin("alice", "default")})


async def _active(database: Database) -> int:
    async with database.read() as connection:
        return sum(each.state is BurstState.ACTIVE for each in await bursts.opened(connection))


async def _idle(folder: Path, facts: Facts, count: int, seconds: float) -> None:
    """Measure what a service takes for so many bursts that have nothing new."""
    url, provider = f"sqlite:///{folder}/burst.db", CountedCalls(StoredProvider(folder, 1))
    made: Any = provider
    async with looping(url, made, lambda cluster: StoredLead(folder, cluster), TIMEOUTS) as service:
        for number in range(count):
            await ask(service.other, number)
        async with asyncio.timeout(300):
            while await _active(service.database) < count or service.loop.service.report is None:
                await asyncio.sleep(0.5)
        provider.calls.clear()
        swept, began, used = service.loop.service.swept, time.monotonic(), time.process_time()
        await asyncio.sleep(seconds)
        part = (time.process_time() - used) / (time.monotonic() - began)
        sweeps = int(service.loop.service.swept != swept)
    facts.figure(f"{count} bursts that have nothing new: {part:.2%} of a core in {seconds:g} s")
    facts.holds(part <= 0.01, f"{count} idle bursts take {part:.2%} of a core, not 1 %")
    facts.equal(dict(provider.calls), {"owned": sweeps} if sweeps else {}, "calls but those of sweeps")


def _delays(there: BurstMachine, facts: Facts, count: int) -> None:
    """Measure from a request at any moment to its processes, and to its job, one burst after another."""
    slots = [{"name": f"burst-{number}", "size": 1, "cores": 1} for number in range(count)]
    there.up(hosts=0, bursting={**BURSTING, "dryRun": True}, flux={"bursting": {"clusters": slots}})
    there.submit("busy", there.wait_for_file("go"), 2)
    there.services.until(lambda: there.tasks.begun("busy"), "the busy nodes")
    there.services.serve(quick=False)
    made, running = [], []
    for number in range(count):
        name = f"job{number}"
        there.submit(name, there.wait_for_file("go"), 1, "--burstable")
        [plan] = there.services.rows("plan", "mc")
        there.services.burst("apply", plan["digest"])
        there.services.until(lambda name=name: there.tasks.begun(name), name)
        row = there.services.bursts()[-1]
        owner = BurstDirectory(there.services.state / "local-bursts" / f"mcb-{row['id'][-10:]}").owner()
        [line] = [each for each in there.tasks.lines() if each.name == name]
        assert owner is not None
        made.append(owner.created - row["created"])
        running.append(line.time - row["created"])
    there.touch("go")
    for words, took, limit in (("made", made, MADE), ("its job runs", running, RUNNING)):
        shown = ", ".join(f"{each:.2f}" for each in took)
        facts.figure(f"{words} after it was asked for: {shown} s")
        facts.holds(max(took) <= limit, f"{words} {max(took):.2f} s after it was asked for, not {limit:g} s")
    until(lambda: there.tasks.ended(*(f"job{number}" for number in range(count))), "the end of all jobs", 60)


def _commands(facts: Facts) -> None:
    """Find that no other command imports bursting, so that each begins as fast as without."""
    for words in COMMANDS:
        program = (
            "import sys; from minicluster.cli.main import run\ntry:\n run()\nexcept SystemExit:\n pass\n"
        )
        program += "print([each for each in sys.modules if each.split('.')[0] == 'burst'])"
        done = subprocess.run(
            [sys.executable, "-c", program, *words.split()], capture_output=True, text=True, check=True
        )
        facts.equal(done.stdout.splitlines()[-1], "[]", f"what `minicluster {words}` imports of bursting")
    facts.figure(f"{len(COMMANDS)} other commands import nothing of it")


def main() -> None:
    """Prove it, and print figures."""
    facts = Facts("speeds")
    folder = Path(tempfile.mkdtemp(prefix="mcp-"))
    try:
        asyncio.run(_idle(folder, facts, BURSTS, SECONDS))
    finally:
        shutil.rmtree(folder)
    for engine in engines():
        facts.figure(engine)
        with burst_machine(engine) as there:
            _delays(there, facts, REQUESTS)
    _commands(facts)
    facts.end()


if __name__ == "__main__":
    main()
