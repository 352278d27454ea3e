"""Conditions are for readers: their messages and times decide nothing.

Between any two seconds all stored messages are reworded, and all times of conditions are moved. Some
operators are started anew, and know nothing but what is stored. What happens is compared second by second.
"""

from typing import Any

import pytest

from minicluster.plan.constants import KIND
from tests.operator import memory_jobs
from tests.operator.archived import JOB, Instance
from tests.operator.cases import Step
from tests.operator.contents import MINICLUSTER, without_times
from tests.operator.field_sets import Object
from tests.operator.objects import NAMESPACE
from tests.operator.virtual_time import run
from tests.operator.world import World, world

SECOND: Step = ("second",)
WAIT = [SECOND] * 8
LONG = [SECOND] * 64
COURSES: dict[str, list[Step]] = {
    "a save": [("begin", 1), SECOND, ("suspend", True), *WAIT, ("finish", 1), *WAIT],
    "a save that fails": [("breaks", True), ("suspend", True), *LONG, ("breaks", False), *LONG],
    "a save, and it goes on": [("begin", 1), ("suspend", True), *WAIT, ("suspend", False), *WAIT],
    "a save without an answer": [("deaf", True), ("suspend", True), ("minute",), *LONG, ("minute",), *WAIT],
    "a save before a deletion": [("begin", 1), ("delete",), *WAIT, ("finish", 1), *WAIT],
    "a deletion that waits too long": [("hangs", True), ("delete",), ("minute",), ("minute",), *LONG, *WAIT],
    "a shrink": [("begin", 2), ("size", 1), *WAIT, ("finish", 2), *WAIT],
    "a shrink that has jobs started again": [("begin", 2), ("size", 1), *LONG, *WAIT],
    "a shrink without an answer": [("begin", 2), SECOND, ("deaf", True), ("size", 1), *LONG, *LONG],
    "a shrink, and another one": [("begin", 2), ("begin", 1), ("size", 2), *WAIT, ("size", 1), *LONG, *LONG],
    "growing": [("size", 1), *WAIT, ("size", 3), *WAIT],
    "a shrink that is taken back": [("begin", 2), ("size", 1), *WAIT, ("size", 3), *WAIT],
}


def touch(here: World, number: int, *, reworded: bool) -> None:
    """Reword every message, and move every time of a condition; else only append a blank to each message."""
    stored = here.store.objects.get(MINICLUSTER, {}).get("status", {}).get("conditions")
    if stored:
        words = {"message": f"reworded {number}: 7 jobs", "lastTransitionTime": "2001-01-01T00:00:00Z"}
        changed = [each | (words if reworded else {"message": f"{each['message']} "}) for each in stored]
        here.store.patch(MINICLUSTER, {"status": {"conditions": changed}}, "kubectl", "status")
        here.watches.deliver(KIND)


def shown(here: World) -> Object:
    """Return what there is, but for the words of conditions."""
    item, job = here.store.objects.get(MINICLUSTER, {}), here.store.objects.get(JOB, {})
    status = without_times(item.get("status", {}))
    conditions = [{**each, "message": ""} for each in status.get("conditions", ())]
    pods = sorted(map(memory_jobs.index_of, here.store.find("Pod")))
    return {
        "finalizers": item.get("metadata", {}).get("finalizers"),
        "status": {**status, "conditions": conditions},
        "job": {key: job.get("spec", {}).get(key) for key in ("parallelism", "suspend")},
        "pods": pods,
        "saves": here.lead.saves,
        "drained": sorted(here.lead.drained),
        "lost": list(here.lead.lost),
        "events": sorted(
            each["reason"]
            for each in here.store.find("Event", NAMESPACE)
            if each["involvedObject"]["kind"] == KIND
        ),
    }


async def course(steps: list[Step], *, reworded: bool, restarted: bool) -> list[Object]:
    """Return what there is after each step."""
    async with world() as here:
        instance = Instance(here, drainTimeoutSeconds=30)
        await instance.begin()
        seen = []
        for number, step in enumerate(steps):
            await instance.take(step)
            if restarted and number % 3 == 2:
                await here.restart()
            touch(here, number, reworded=reworded)
            seen.append(shown(here))
        return seen


@pytest.mark.parametrize("restarted", [False, True], ids=["one operator", "operators that come and go"])
@pytest.mark.parametrize("name", COURSES)
def test_words_change_nothing(name: str, restarted: bool) -> None:
    steps = COURSES[name]
    plain = run(course(steps, reworded=False, restarted=restarted))
    other = run(course(steps, reworded=True, restarted=restarted))
    differing = [index for index, (one, two) in enumerate(zip(plain, other, strict=True)) if one != two]
    assert [(index, plain[index], other[index]) for index in differing[:1]] == []


SEEN: dict[str, tuple[str, set[Any]]] = {
    "a save": ("save", {"Waiting", "Writing"}),
    "a save that fails": ("save", {"Failed"}),
    "a save without an answer": ("save", {"Unreachable"}),
    "a shrink": ("resize", {"Draining"}),
    "a shrink that has jobs started again": ("resize", {"Draining", "JobsRestarted"}),
    "a shrink without an answer": ("resize", {"Draining", "TimedOut"}),
    "growing": ("resize", {"Growing"}),
}


@pytest.mark.parametrize("name", SEEN)
def test_the_courses_have_what_they_are_named_for(name: str) -> None:
    field, phases = SEEN[name]
    seen = run(course(COURSES[name], reworded=False, restarted=False))
    found = {each["status"].get(field, {}).get("phase") for each in seen}
    assert phases <= found
