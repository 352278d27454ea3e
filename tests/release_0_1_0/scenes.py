"""MiniClusters amid something, as the operator of 0.1.0 left them, and how each goes on to its end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tests.release_0_1_0 import adapters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

JSON = dict[str, Any]
RESTARTED, LOST = (("ƒa", "ƒb"),), (("ƒc", "it does not fit"),)
SETTLED: dict[str, JSON] = {
    "plain": {"archive": None},
    "archive": {},
    "autoscaled": {"archive": None, "autoscaling": {"minSize": 1, "maxSize": 4}},
    "policy": {"archive": None, "flux": {"scheduler": {"queuePolicy": "priority-elastic"}}},
    "services": {"archive": None, "services": [{"image": "database", "name": "db", "ports": [5432]}]},
}
"""What is at rest, by what its document says beside the archive's."""


async def _settled(instance: Any) -> None:
    for _ in range(3):
        await instance.second()


async def _save_waits(instance: Any) -> None:
    instance.here.lead.work(1)
    instance.suspend(True)
    await _until(instance, lambda: condition(instance.here, "Suspended")["reason"] == "Saving")
    await instance.second()


async def _save_writes(instance: Any) -> None:
    instance.suspend(True)
    lead = instance.here.lead
    await _until(instance, lambda: lead.saving is not None and lead.saving.phase == "writing")
    lead.hangs = True
    await instance.second()


async def _save_failed(instance: Any) -> None:
    instance.here.lead.broken = True
    instance.suspend(True)
    await _until(instance, lambda: condition(instance.here, "Suspended")["reason"] == "SaveFailed")


async def _deletion_waits(instance: Any) -> None:
    instance.here.lead.work(1)
    instance.delete()
    await _until(instance, lambda: condition(instance.here, "Suspended")["reason"] == "Saving")


async def _suspended(instance: Any) -> None:
    instance.suspend(True)
    await _until(instance, lambda: condition(instance.here, "Suspended")["reason"] == "Suspended")
    await instance.second()


async def _shrinking(instance: Any) -> None:
    instance.here.lead.work(2)
    instance.resize(2)
    for _ in range(20):
        await instance.second()


async def _jobs_restarted(instance: Any) -> None:
    instance.here.lead.work(2)
    instance.resize(2)
    await _until(instance, lambda: condition(instance.here, "Resizing")["reason"] == "JobsRestarted", 80)


async def _node_lost(instance: Any) -> None:
    adapters.recover_jobs(instance.here, RESTARTED, LOST)
    await instance.second()
    adapters.lose_pod(instance.here, 1, disrupted=True)
    for _ in range(4):
        await _without_pods(instance)


async def _lead_lost(instance: Any) -> None:
    adapters.lose_pod(instance.here, 0, disrupted=False)
    for _ in range(3):
        await _without_pods(instance)


AMID: dict[str, tuple[JSON, Callable[[Any], Awaitable[None]]]] = {
    **{f"settled-{name}": (spec, _settled) for name, spec in SETTLED.items()},
    "save-waits-for-jobs": ({}, _save_waits),
    "save-writes": ({}, _save_writes),
    "save-failed": ({}, _save_failed),
    "deletion-waits-for-save": ({}, _deletion_waits),
    "suspended": ({}, _suspended),
    "shrinking": ({"archive": None}, _shrinking),
    "jobs-restarted-by-a-shrink": ({"archive": None}, _jobs_restarted),
    "node-lost": ({"archive": None}, _node_lost),
    "lead-lost": ({"archive": None}, _lead_lost),
}


async def _growing(instance: Any) -> None:
    instance.resize(4)
    await _without_pods(instance)


BEYOND: dict[str, tuple[JSON, Callable[[Any], Awaitable[None]]]] = {"growing": ({"archive": None}, _growing)}
"""What else may be rolled back amid; of these nothing was kept of 0.1.0."""


async def _until(instance: Any, reached: Callable[[], bool], seconds: int = 30) -> None:
    for _ in range(seconds):
        if reached():
            return
        await instance.second()
    raise AssertionError(f"not within {seconds} s; status {instance.here.contents.status}")


async def _without_pods(instance: Any) -> None:
    """Let a second pass in which no pod comes up."""
    here = instance.here
    here.store.collect_garbage()
    here.start_job()
    adapters.deliver(here)
    here.report()
    await here.live(1.1)
    here.lead.refresh()


def all_saved() -> dict[str, JSON]:
    """Play every scene; return what was saved, with how it ended then. Each has a clock of its own."""
    found = {name: adapters.in_virtual_time(left(name)) for name in AMID}
    return {name: {**saved, "end": adapters.in_virtual_time(ended(saved))} for name, saved in found.items()}


async def left(name: str) -> JSON:
    """Play a scene, and return what the operator left: what outlives it."""
    spec, play = (AMID | BEYOND)[name]
    async with adapters.world() as here:
        instance = adapters.archived(here, spec)
        await instance.begin()
        await play(instance)
        return adapters.saved_world(here)


async def ended(saved: JSON) -> JSON:
    """Go on from what was saved, with an operator that knows nothing else, until all is at rest; return that.

    `first` is how it stands after a second in which no pod comes up, `jobs` the jobs that are then named.
    """
    here = await adapters.restored_world(saved)
    instance = adapters.archived(here)
    await _without_pods(instance)
    first, jobs = (
        conditions(here),
        sorted(set(re.findall(r"ƒ\w+", str(here.contents.status.get("conditions"))))),
    )
    for _ in range(12):
        await instance.second()
    for rank in range(4):
        here.lead.finish(rank)
    for seconds in (1, 700, 1, 200):
        for _ in range(15):
            await instance.second()
        await here.live(seconds)
    writes = len(here.api.writes)
    await here.live(200.0)
    assert [str(each) for each in here.api.writes[writes:]] == [], "a MiniCluster at rest was written to"
    results = await adapters.end_world(here)
    assert set(results) == {"ok"}, results
    return {"first": first, "jobs": jobs, **outcome(here)}


def outcome(here: Any) -> JSON:
    """Return how a world stands, without words and times."""
    kinds = {kind: [each for each in here.store.objects.values() if each["kind"] == kind] for kind in SHOWN}
    dump = {key: value for key, value in here.contents.status.get("lastDump", {}).items() if key != "time"}
    return {
        "there": [each["metadata"].get("finalizers", []) for each in kinds["MiniCluster"]],
        "status": {
            key: here.contents.status[key]
            for key in ("phase", "size", "readyBrokers")
            if key in here.contents.status
        },
        "conditions": conditions(here),
        "lastDump": dump,
        "job": [{key: each["spec"].get(key) for key in MUTABLE} for each in kinds["Job"]],
        "pods": len(kinds["Pod"]),
        "events": sorted({each["reason"] for each in kinds["Event"]}),
        "orders": [[each.action, each.ranks] for each in here.lead.orders],
        "saves": here.lead.saves,
    }


SHOWN = ("MiniCluster", "Job", "Pod", "Event")
MUTABLE = ("parallelism", "completions", "suspend")


def conditions(here: Any) -> list[list[str]]:
    """Return the conditions: type, status, reason."""
    return [
        [each[key] for key in ("type", "status", "reason")]
        for each in here.contents.status.get("conditions", ())
    ]


def condition(here: Any, kind: str) -> JSON:
    """Return one condition, empty where there is none yet."""
    found = (each for each in here.contents.status.get("conditions", ()) if each["type"] == kind)
    return next(found, {"reason": ""})
