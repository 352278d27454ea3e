"""How much of a core a hundred bursts take that have nothing new, and how soon one that is asked for is made.

Their jobs run on. Provider and leads are files; how long theirs take is no part of it.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burst.advance.context import AdvanceContext
from burst.asked import JobOrigin, LeadIdentity, request
from burst.cli.process import TICK
from burst.ledger import bursts
from burst.ledger.ledger import BurstLedger
from burst.ledger.schema import SCHEMA
from burst.lifecycle.states import BurstState, Timeouts
from burst.planning.records import PlannedBurst
from burst.service import BurstService
from minicluster.database import migrate, open_database
from tests.burst.proofs.facts import Facts
from tests.burst.proofs.stored_slots import StoredLead, StoredProvider

if TYPE_CHECKING:
    from minicluster.database import Database

BURSTS = 100
SECONDS = 30.0
"""For how long they are watched."""
TIMEOUTS = Timeouts(idle=3600.0, verified=0.0)
COMMANDS = ("list", "jobs --help", "submit --help")


@dataclass
class Counts:
    """Calls by name."""

    calls: Counter[str] = field(default_factory=Counter)

    def of(self, provider: StoredProvider) -> Any:
        """Return a provider whose calls are counted."""
        return _Counted(provider, self.calls)


class _Counted:
    def __init__(self, provider: StoredProvider, calls: Counter[str]) -> None:
        self._provider = provider
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._provider, name)
        if name in {"create", "get", "delete", "owned"}:
            self._calls[name] += 1
        return found


async def _ask(ledger: BurstLedger, number: int) -> str:
    portions = {"alice": 1}
    planned = PlannedBurst(
        "slot", "stored", "c8", False, 1, 1, (number,), 1.0, 3000.0, 3600.0, 1, 1, portions
    )
    identity = LeadIdentity(f"u{number}", "instance-1", f"default/u{number}", f"u{number}")
    return await request(ledger, identity, planned, "files", {number: JobOrigin("alice", "default")})


async def _states(database: Database) -> Counter[BurstState]:
    async with database.read() as connection:
        return Counter(each.state for each in await bursts.opened(connection))


async def _measure(folder: Path, facts: Facts, count: int, seconds: float) -> None:
    url = f"sqlite:///{folder}/burst.db"
    await migrate(url, SCHEMA)
    database = await open_database(url, SCHEMA)
    counts = Counts()
    ledger = BurstLedger(database, "service", time.time)
    context = AdvanceContext(
        ledger,
        "here",
        {"stored": counts.of(StoredProvider(folder, 1))},
        lambda cluster: StoredLead(folder, cluster),
        timeouts=lambda _burst: TIMEOUTS,
    )
    service, numbers = BurstService(context), itertools.count()
    try:
        for _ in range(count):
            await _ask(ledger, next(numbers))
        while (await _states(database)).get(BurstState.ACTIVE) != count:
            await service.tick()
        await _idle(service, counts, facts, count, seconds)
        await _delays(service, ledger, folder, facts, next(numbers))
    finally:
        await database.close()


async def _idle(service: BurstService, counts: Counts, facts: Facts, count: int, seconds: float) -> None:
    counts.calls.clear()
    ticks, began, used = 0, time.monotonic(), time.process_time()
    while time.monotonic() - began < seconds:
        await service.tick()
        ticks += 1
        await asyncio.sleep(TICK)
    part = (time.process_time() - used) / (time.monotonic() - began)
    calls = sum(counts.calls.values()) / ticks
    facts.figure(f"{count} bursts that have nothing new: {part:.2%} of a core, {calls:.1f} calls a tick")
    facts.holds(part <= 0.01, f"{count} idle bursts take {part:.2%} of a core, not 1 %")


async def _delays(
    service: BurstService, ledger: BurstLedger, folder: Path, facts: Facts, number: int
) -> None:
    """Measure from a request at any moment to the first resource."""

    async def serve() -> None:
        while True:
            await service.tick()
            await asyncio.sleep(TICK)

    serving = asyncio.create_task(serve())
    took = []
    for each in range(5):
        await asyncio.sleep(0.37)
        before, began = len(list(folder.glob("made-*"))), time.monotonic()
        await _ask(ledger, number + each)
        while len(list(folder.glob("made-*"))) == before:
            await asyncio.sleep(0.01)
        took.append(time.monotonic() - began)
    serving.cancel()
    facts.figure(f"made {max(took):.2f} s after it was asked for, at the latest of {len(took)}")
    facts.holds(
        max(took) <= 1.0 + TICK, f"made after {max(took):.2f} s, of which {TICK:g} s pass between two ticks"
    )


def _commands(facts: Facts) -> None:
    """Measure how commands begin, and that none of them imports bursting."""
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


def prove(facts: Facts, *, count: int, seconds: float) -> None:
    """Prove it with so many bursts, watched for so long."""
    folder = Path(tempfile.mkdtemp(prefix="mcp-"))
    try:
        asyncio.run(_measure(folder, facts, count, seconds))
    finally:
        shutil.rmtree(folder)
    _commands(facts)


def main() -> None:
    """Prove it, and print figures."""
    facts = Facts("speeds")
    prove(facts, count=BURSTS, seconds=SECONDS)
    facts.end()


if __name__ == "__main__":
    main()
