"""What planning costs: a light document keeps the event loop for a moment, a heavy one stays within limits.

Memory is limited as an operator's own, and the worker is a real process. CPU time is weighed against that of
reading a TOML array beside it: where others share a core, a second of it is less than one.
"""

import asyncio
import time
import tomllib

import pytest

from broker_config import own_toml, settings
from minicluster.document import weight
from minicluster.kube_client.objects import ObjectReference
from minicluster.operator.plan_worker import PlanWorker, WorkerLimits
from minicluster.plan.constants import KIND
from tests.operator.heavy_documents import Item, cases, run
from tests.operator.objects import NAMESPACE
from tests.operator.world import World, world

MAX_SECONDS = 0.1
"""CPU time of the event loop for one document: it renews a Lease, and serves others."""
TIMES = 3
LATEST = 400.0
"""For all heavy documents, where other processes take most of the machine."""
NAMES = {name: f"case-{number}" for number, name in enumerate(cases())}
LIGHT = {name: item for name, item in cases().items() if not weight.is_heavy(item)}
HEAVY = {name: item for name, item in cases().items() if name not in LIGHT}
OVER_LIMIT = "PlanningLimitExceeded"
INVALID = {"batch", "batch and TOML hosts", "variables of 32 containers", "claims"}
ARRAY = f"a = [{'1,' * 100_000}]"
MAX_READINGS = 8.0
"""Readings of `ARRAY` in an operator's second on a quiet machine, where the dearest document takes 0.75 s."""
LENIENT = WorkerLimits(cpu_seconds=10.0, seconds=60.0)


def thread_seconds(item: Item) -> float:
    """Return the CPU time of reading and planning a document."""
    own_toml.own.cache_clear()
    settings.listed_hosts.cache_clear()
    begin = time.thread_time()
    run(item)
    return time.thread_time() - begin


def readings(item: Item) -> float:
    """Return the CPU time of reading and planning a document, in readings of `ARRAY` at the same time."""
    begin = time.thread_time()
    tomllib.loads(ARRAY)
    middle = time.thread_time()
    taken = thread_seconds(item)
    end = time.thread_time()
    tomllib.loads(ARRAY)
    return 2 * taken / (middle - begin + time.thread_time() - end)


def valid(here: World, name: str) -> Item:
    """Return the condition `Valid` in the status of a MiniCluster, empty while there is none."""
    found = here.store.objects[ObjectReference(KIND, NAMESPACE, name)].get("status", {})
    conditions = {each["type"]: each for each in found.get("conditions", ())}
    return dict(conditions.get("Valid", {}))


async def judged(items: dict[str, Item], limits: WorkerLimits) -> dict[str, Item]:
    """Have an operator reconcile documents, in a worker of its own; return each one's condition `Valid`."""
    worker = PlanWorker(limits)
    async with world() as here, asyncio.timeout(LATEST):
        here.operator.worker.read = worker.read  # type: ignore[method-assign]
        here.operator.worker.plan = worker.plan  # type: ignore[method-assign]
        try:
            for name, item in items.items():
                about = {"name": NAMES[name], "namespace": NAMESPACE}
                await here.write({**item, "metadata": about})
            here.watches.deliver(KIND)
            while not all(valid(here, NAMES[name]) for name in items):
                await asyncio.sleep(0.01)
            return {name: valid(here, NAMES[name]) for name in items}
        finally:
            await worker.close()


@pytest.fixture(scope="module")
def found() -> dict[str, Item]:
    """The conditions of all heavy documents."""
    return asyncio.run(judged(HEAVY, LENIENT))


@pytest.mark.parametrize("item", LIGHT.values(), ids=LIGHT)
def test_a_light_document_keeps_the_event_loop_for_a_moment(item: Item) -> None:
    """The least of three times: what else the machine does is not the document's."""
    assert min(thread_seconds(item) for _ in range(TIMES)) < MAX_SECONDS


@pytest.mark.parametrize("item", HEAVY.values(), ids=HEAVY)
def test_a_heavy_document_takes_less_than_an_operators_second(item: Item) -> None:
    """The least of three times, in readings of an array."""
    assert min(readings(item) for _ in range(TIMES)) < MAX_READINGS


@pytest.mark.timeout(LATEST + 60)
@pytest.mark.parametrize("name", HEAVY)
def test_a_heavy_document_stays_within_the_memory(found: dict[str, Item], name: str) -> None:
    """It is accepted, or refused for what is wrong with it."""
    assert found[name]["reason"] == ("Invalid" if name in INVALID else "Accepted"), found[name]["message"]


def test_one_that_takes_more_is_reported_in_its_own_status() -> None:
    """A light one beside it is planned."""
    items = {"TOML hosts": HEAVY["TOML hosts"], "ordinary": LIGHT["ordinary"]}
    conditions = asyncio.run(judged(items, WorkerLimits(cpu_seconds=0.05)))
    assert {name: each["reason"] for name, each in conditions.items()} == {
        "TOML hosts": OVER_LIMIT,
        "ordinary": "Accepted",
    }
    assert conditions["TOML hosts"]["message"].startswith(
        "planning took more than 0.05 s of CPU time; make spec.flux.brokerConfig smaller."
    )
