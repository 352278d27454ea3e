"""One budget, eight planners and two services as processes, some of them killed amid: it is never exceeded.

A trigger of the database sees every write of a reservation, and notes each sum that is beyond its amount.
While bursts live nothing is given back: at the end of that phase nearly all is reserved, as requests are many
times what is there. Then all bursts end, and what they have cost takes the place of what was reserved.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from sqlalchemy import text

from broker_config.formats.jobspec import RequestedResources
from burst.advance.context import AdvanceContext
from burst.clusters.records import BurstingCluster, ClusterPolicy
from burst.costs.report import reading
from burst.errors import LeaseLost
from burst.leads.slot_ranks import SlotRanks
from burst.leads.waiting_jobs import WaitingJob
from burst.ledger import bursts, reservations
from burst.ledger.ledger import BurstLedger
from burst.ledger.schema import SCHEMA
from burst.lifecycle.states import BurstOutcome, BurstState, Timeouts
from burst.planner import BurstPlanner
from burst.planning.records import EACH_USER, BudgetLimit, BurstableJob, BurstSelection
from burst.service import BurstService
from minicluster.database import DatabaseAway, migrate, open_database
from tests.burst.proofs.facts import Facts
from tests.burst.proofs.stored_slots import CORES, MAX_NODES, StoredLead, StoredProvider
from tests.database import postgresql

if TYPE_CHECKING:
    from collections.abc import Callable

    from burst.costs.report.records import ReportedBurst
    from minicluster.database import Database

USERS = ("alice", "bob")
AMOUNT, PER_USER = 200_000_000, 120_000_000
"""In micro-units: of the two users together more than there is, of one alone less."""
PRICE, FEE = 4_000_000, 400_000
LIMITS = (BudgetLimit("all", AMOUNT), BudgetLimit(EACH_USER, PER_USER))
POLICY = ClusterPolicy(("stored",), BurstSelection(after=0.0), limits=LIMITS, is_dry=False)
TIMEOUTS = Timeouts(requested=3600.0, idle=0.0, verified=0.0, retry=0.1)
LEASE_SECONDS = 1.0
PLANNERS = 8

EXCEEDED = f"""\
INSERT INTO proof_exceeded SELECT scope, SUM(amount) FROM burst_reservation GROUP BY scope
HAVING SUM(amount) > CASE WHEN scope LIKE 'user:%' THEN {PER_USER} WHEN scope = 'all' THEN {AMOUNT} END"""
SQLITE = [
    "CREATE TABLE proof_exceeded (scope TEXT, amount BIGINT)",
    "CREATE TABLE proof_writes (number INTEGER)",
    *(
        f"CREATE TRIGGER proof_{what} AFTER {what} ON burst_reservation BEGIN"
        f" INSERT INTO proof_writes VALUES (1); {EXCEEDED}; END"
        for what in ("INSERT", "UPDATE")
    ),
]
POSTGRESQL = [
    *SQLITE[:2],
    f"""\
CREATE FUNCTION proof() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
INSERT INTO proof_writes VALUES (1); {EXCEEDED}; RETURN NULL; END $$""",
    """\
CREATE TRIGGER proof_all AFTER INSERT OR UPDATE ON burst_reservation FOR EACH ROW EXECUTE FUNCTION proof()""",
]


class OneLead:
    """What a planner sees: some jobs of two users, and a slot that no burst has had."""

    identity = "instance-1"

    def __init__(self, numbers: Random, first: int) -> None:
        self.layout, self.waiting = self, self
        self._jobs = itertools.count(first)
        self._numbers = numbers
        self.slots: dict[str, SlotRanks] = {}

    def ask(self, _uid: str, work: Callable[[Any], Any]) -> Any:
        self.slots = {f"slot-{next(self._jobs)}": SlotRanks(2, MAX_NODES, CORES)}
        return work(self)

    def read(self) -> list[WaitingJob]:
        return [WaitingJob(self._job(), "default") for _ in range(self._numbers.randint(1, 3))]

    def _job(self) -> BurstableJob:
        nodes = self._numbers.randint(1, MAX_NODES)
        resources = RequestedResources(nodes, 1, 1, 0, exclusive=True)
        user, limit = self._numbers.choice(USERS), float(self._numbers.choice((10, 60, 600)))
        return BurstableJob(next(self._jobs), user, resources, wish=True, limit=limit, fits_here=False)


async def _planner(url: str, folder: Path, number: int, rounds: int) -> None:
    """Plan and ask, so many times; a file grows by a byte each time."""
    lead: Any = OneLead(Random(number), number * 10_000_000 + int(time.time() * 1000) % 1_000_000 * 10)
    uid, nothing = f"u{number}", None
    cluster = BurstingCluster(uid, uid, f"default/{uid}", nothing, lambda: nothing, lambda _slot: nothing)  # type: ignore[arg-type,return-value]
    database = await open_database(url, SCHEMA)
    ledger = BurstLedger(database, f"planner-{os.getpid()}", time.time)
    providers = {"stored": StoredProvider(folder, PRICE, FEE)}
    planner = BurstPlanner(ledger, providers, lead, lambda *_: POLICY)
    path = folder / f"rounds-{number}"
    with path.open("ab", buffering=0) as done:
        while path.stat().st_size < rounds:
            with contextlib.suppress(DatabaseAway):
                await planner.apply(await planner.planned(cluster))
                done.write(b".")
    await database.close()


async def _service(url: str, folder: Path) -> None:
    """Serve until somebody ends it."""
    database = await open_database(url, SCHEMA)
    ledger = BurstLedger(database, f"service-{os.getpid()}", time.time)
    context = AdvanceContext(
        ledger,
        "here",
        {"stored": StoredProvider(folder, PRICE, FEE)},
        lambda cluster: StoredLead(folder, cluster),
        lambda _burst: LIMITS,
        lambda _burst: TIMEOUTS,
    )
    service = BurstService(context)
    while True:
        with contextlib.suppress(LeaseLost, DatabaseAway):
            await service.tick()
        await asyncio.sleep(0.02)


@dataclass
class Processes:
    """Planners and services, which are killed and started again."""

    url: str
    folder: Path
    rounds: int

    def __post_init__(self) -> None:
        words = [("planner", str(number)) for number in range(PLANNERS)] + [
            ("service", "1"),
            ("service", "2"),
        ]
        self.running = {each: self._started(each) for each in words}
        self.kills = 0

    def _started(self, words: tuple[str, str]) -> subprocess.Popen[bytes]:
        program = (sys.executable, "-m", "tests.burst.proofs.budget", *words)
        options = ("--url", self.url, "--folder", str(self.folder), "--rounds", str(self.rounds))
        return subprocess.Popen([*program, *options], cwd=Path(__file__).parents[3])

    def kill(self, words: tuple[str, str]) -> None:
        """End one without a word, and start it again."""
        self.running[words].kill()
        self.running[words].wait()
        self.running[words] = self._started(words)
        self.kills += 1

    def check(self) -> None:
        """Raise where a service has ended by itself: what is waited for would not come."""
        ended = {words: each.returncode for words, each in self.running.items() if each.poll() is not None}
        assert not [words for words in ended if words[0] == "service"], ended

    def progress(self) -> int:
        """Return the same while services run."""
        self.check()
        return self.done()

    def done(self) -> int:
        """Return how often it was planned."""
        return sum(each.stat().st_size for each in self.folder.glob("rounds-*"))

    def end(self) -> None:
        for each in self.running.values():
            each.send_signal(signal.SIGKILL)
            each.wait()


async def _prove(url: str, folder: Path, facts: Facts, rounds: int, kills: int) -> None:
    await migrate(url, SCHEMA)
    database = await open_database(url, SCHEMA)
    async with database.write() as connection:
        for statement in SQLITE if url.startswith("sqlite") else POSTGRESQL:
            await connection.execute(text(statement))
    total, numbers = rounds * PLANNERS, Random(4)
    there = Processes(url, folder, rounds)
    try:
        for number in range(kills):
            await _until(lambda wanted=total * (number + 1) // (kills + 1): there.progress() >= wanted)  # type: ignore[misc]
            role = "planner" if number % 2 else "service"
            there.kill(numbers.choice([each for each in there.running if each[0] == role]))
        await _until(lambda: there.progress() >= total)
        await _until_no(there, database, BurstState.REQUESTED, BurstState.PLANNED, BurstState.PROVISIONING)
        found = await _spent(database)
        _check_use(facts, found)
        (folder / "over").touch()
        await _until_no(there, database, *(each for each in BurstState if each is not BurstState.DELETED))
    finally:
        there.end()
    await _check(database, folder, facts)
    facts.figure(f"{there.done()} requests of {PLANNERS} planners, {there.kills} kills")
    await database.close()


def _check_use(facts: Facts, found: dict[str, int]) -> None:
    """Of `all` most is used; no user has more than his own."""
    used = found["all"] / AMOUNT
    facts.holds(0.95 <= used <= 1, f"{used:.1%} of the budget are reserved")
    for user in USERS:
        mine = found[f"user:{user}"]
        facts.holds(0 < mine <= PER_USER, f"{user} has {mine} of {PER_USER}")
    beyond = sum(found[f"user:{user}"] for user in USERS) - found["all"]
    facts.holds(0 <= beyond < 1000, f"portions are rounded up: users have {beyond} micro-units more together")
    each_of = ", ".join(f"{user} {found[f'user:{user}'] / PER_USER:.0%} of his" for user in USERS)
    facts.figure(f"{used:.1%} used ({each_of})")


async def _check(database: Database, folder: Path, facts: Facts) -> None:
    async with database.read() as connection:
        every = await bursts.all_of_them(connection)
        writes = (await connection.execute(text("SELECT COUNT(*) FROM proof_writes"))).scalar_one()
        exceeded = (await connection.execute(text("SELECT scope, amount FROM proof_exceeded"))).all()
    facts.equal(exceeded, [], "sums beyond their amounts")
    facts.holds(writes > 0, "the trigger saw writes")
    outcomes = [each.outcome for each in every]
    refused = outcomes.count(BurstOutcome.NOT_POSSIBLE)
    facts.equal(set(outcomes), {BurstOutcome.SUCCEEDED, BurstOutcome.NOT_POSSIBLE}, "outcomes")
    facts.equal(list(folder.glob("made-*")), [], "what is left of bursts")
    _check_charges(facts, await _reported(database))
    facts.figure(f"{len(every) - refused} bursts, {refused} refused for money, {writes} writes seen")


async def _reported(database: Database) -> list[ReportedBurst]:
    async with database.read() as connection:
        return await reading.read(connection, 0.0)


def _check_charges(facts: Facts, found: list[ReportedBurst]) -> None:
    """Of each burst was charged what its nodes have cost, and its fee: less than was reserved."""
    made = [each for each in found if each.reserved_at is not None]
    wrong = [each.burst.label for each in made if each.charged != each.cost(each.end(0.0))]
    facts.equal(wrong, [], "bursts that were charged something else than what is metered")
    beyond = [each.burst.label for each in made if (each.charged or 0) > each.burst.amounts["all"]]
    facts.equal(beyond, [], "bursts that were charged more than was reserved")
    parts = sum(len(each.counts) > 2 for each in made)
    facts.figure(f"{parts} of {len(made)} bursts have lost a node before their end")


async def _spent(database: Database) -> dict[str, int]:
    async with database.read() as connection:
        return {
            scope: await reservations.spent(connection, scope)
            for scope in ("all", *(f"user:{user}" for user in USERS))
        }


async def _until(probe: Callable[[], bool], seconds: float = 900.0) -> None:
    async with asyncio.timeout(seconds):
        while not probe():
            await asyncio.sleep(0.02)


async def _until_no(
    there: Processes, database: Database, *states: BurstState, seconds: float = 600.0
) -> None:
    """Wait until no burst is in one of these states."""

    async def left() -> bool:
        async with database.read() as connection:
            return any(each.state in states for each in await bursts.opened(connection))

    async with asyncio.timeout(seconds):
        while await left():
            there.check()
            await asyncio.sleep(0.1)


def prove(facts: Facts, *, url: str = "", rounds: int, kills: int) -> None:
    """Prove it with so many requests a planner; on SQLite without a URL."""
    folder = Path(tempfile.mkdtemp(prefix="mcp-"))
    try:
        asyncio.run(_prove(url or f"sqlite:///{folder}/burst.db", folder, facts, rounds, kills))
    finally:
        shutil.rmtree(folder)


def _process(arguments: list[str]) -> None:
    """Be a planner, or a service."""
    parser = argparse.ArgumentParser()
    parser.add_argument("role")
    parser.add_argument("number", type=int)
    for name in ("--url", "--folder", "--rounds"):
        parser.add_argument(name)
    found = parser.parse_args(arguments)
    from burst.ledger import ledger  # noqa: PLC0415 - a lease that a killed service does not have for long

    ledger.LEASE_SECONDS = LEASE_SECONDS
    if found.role == "planner":
        asyncio.run(_planner(found.url, Path(found.folder), found.number, int(found.rounds)))
    else:
        asyncio.run(_service(found.url, Path(found.folder)))


def main() -> None:
    """Prove it on both kinds of databases, and print figures."""
    if sys.argv[1:]:
        _process(sys.argv[1:])
        return
    facts = Facts("budget")
    facts.figure("sqlite")
    prove(facts, rounds=250, kills=20)
    facts.figure("postgresql")
    with contextlib.contextmanager(postgresql.serving)() as server:
        prove(facts, url=server.database(), rounds=250, kills=20)
    facts.end()


if __name__ == "__main__":
    main()
