"""Why a job waits, and how one ended."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.cli import job_reasons
from minicluster.cli.job_reasons import WORDING
from minicluster.instance import wait_reasons
from minicluster.instance.records import (
    BurstSummary,
    Job,
    JobException,
    JobResult,
    JobState,
    QueueResources,
    QueueStatus,
    Resources,
    ResourceSubset,
)
from minicluster.instance.wait_reasons import QueueContext

if TYPE_CHECKING:
    from collections.abc import Callable

FOUR = ResourceSubset((0, 1, 2, 3), ("a", "b", "c", "d"), cores=8)
UP = ResourceSubset((0, 1), ("a", "b"), cores=4)
THERE = Resources(
    FOUR, UP, FOUR, ResourceSubset((1,), ("b",), cores=1), UP, ResourceSubset(), ResourceSubset()
)
WAITS = Job(1, JobState.SCHED)
STARTED = QueueStatus("", enabled=True, started=True)
STOPPED = QueueStatus("", enabled=True, started=False)
RESOURCES = "waits for resources: 1 of 4 cores on 2 nodes are free"
STARTS = "; `minicluster shell NAME -- flux queue start"
CASES: dict[str, tuple[dict[str, Any], QueueStatus, str]] = {
    "resources": ({}, STARTED, RESOURCES),
    "the scheduler's own words": (
        {"annotations": {"sched": {"reason_pending": "no GPUs"}}},
        STARTED,
        "no GPUs",
    ),
    "annotations of others": ({"annotations": {"sched": "odd"}}, STARTED, RESOURCES),
    "held": ({"urgency": 0}, STARTED, "held: its urgency is 0"),
    "another job": (
        {"state": JobState.DEPEND, "dependencies": ("after-success=\u0192A",)},
        STARTED,
        "depends on after-success=\u0192A",
    ),
    "another job, as a number": (
        {"state": JobState.DEPEND, "dependencies": ("after-success=939305992192", "after-finish=\u0192A")},
        STARTED,
        "depends on after-success=\u0192Rg6FjYs, after-finish=\u0192A",
    ),
    "another job, nobody says which": ({"state": JobState.DEPEND}, STARTED, "depends on other jobs"),
    "words of a plug-in": (
        {"state": JobState.DEPEND, "dependencies": ("license", "site=north")},
        STARTED,
        "depends on license, site=north",
    ),
    "the queue": ({}, STOPPED, f"the queue is stopped{STARTS}` starts it"),
    "the queue, and why": (
        {"queue": "batch"},
        QueueStatus("batch", enabled=True, started=False, stop_reason="at night"),
        f"queue batch is stopped: at night{STARTS} -q batch` starts it",
    ),
    "the waiting room": (
        {"queue": "burst"},
        QueueStatus("burst", enabled=True, started=False),
        "waits for nodes of a burst; `minicluster burst plan` has when, or why not",
    ),
    "another queue": ({"queue": "debug"}, QueueStatus("batch", enabled=True, started=False), RESOURCES),
    "nodes that are down": (
        {"nnodes": 3},
        STARTED,
        "needs 3 nodes, 2 are up; up to 4 with `minicluster scale`",
    ),
    "cores that are down": (
        {"ncores": 5, "annotations": {"sched": {"reason_pending": "needs nodes that are down"}}},
        STARTED,
        "needs 5 cores, 4 are up; up to 8 with `minicluster scale`",
    ),
    "cores that are busy": (
        {"ncores": 2},
        STARTED,
        "waits for resources: needs 2 cores, 1 of 4 are free",
    ),
    "nodes that are busy": (
        {"nnodes": 2, "ncores": 2},
        STARTED,
        "waits for resources: needs 2 nodes, 1 of 2 have free cores",
    ),
    "never that many cores": (
        {"ncores": 9, "annotations": {"sched": {"reason_pending": "kept"}}},
        STARTED,
        "asks for 9 cores, there will never be more than 8",
    ),
    "too much": ({"nnodes": 5}, STARTED, "asks for 5 nodes, there will never be more than 4"),
}


@pytest.mark.parametrize(("job", "queue", "why"), CASES.values(), ids=CASES)
def test_why_it_waits(job: dict[str, Any], queue: QueueStatus, why: str) -> None:
    assert (
        wait_reasons.why(replace(WAITS, **job), QueueContext(QueueResources(THERE), [queue], wording=WORDING))
        == why
    )


def _why(job: Job = WAITS, there: Resources = THERE, **more: Any) -> str:
    return wait_reasons.why(job, QueueContext(QueueResources(there), [STARTED], wording=WORDING, **more))


FAR = BurstSummary("01h01", "burst-0", "far", "joining", 2)
LATER = BurstSummary("01h02", "burst-1", "far", "requested", 2)
ACTIVE = replace(FAR, state="active")
ROOM = QueueStatus("burst", enabled=True, started=False)
SLOT = QueueStatus("burst-0", enabled=True, started=False)
PLAN = "; `minicluster burst plan` has when, or why not"
NONE = ResourceSubset()
LOST = Resources(replace(UP, ranks=(4, 5)), NONE, UP, NONE, NONE, NONE, NONE)
MADE = "waits for nodes of a burst: 01h01 of far for burst-0 is joining"
BURST_CASES: dict[str, tuple[dict[str, Any], QueueStatus, list[BurstSummary], str]] = {
    "one is made": ({}, ROOM, [FAR], "waits for nodes of a burst: 01h01 of far for burst-0 is joining"),
    "more than are shown": (
        {},
        ROOM,
        [FAR, LATER, replace(LATER, id="01h03")],
        f"{MADE}, 01h02 of far for burst-1 is requested, and 1 more",
    ),
    "those there are have their jobs": ({}, ROOM, [ACTIVE], f"waits for nodes of a burst{PLAN}"),
    "it is held": ({"urgency": 0}, ROOM, [FAR], "held: its urgency is 0"),
    "its nodes join": (
        {"queue": "burst-0"},
        SLOT,
        [LATER, FAR],
        "waits for burst 01h01 of far, which is joining",
    ),
    "its queue is closed": (
        {"queue": "burst-0"},
        replace(SLOT, stop_reason="node failure"),
        [ACTIVE],
        "queue burst-0 is stopped: node failure; burst 01h01 of far is active",
    ),
    "nobody has made it": (
        {"queue": "burst-0"},
        SLOT,
        [],
        f"queue burst-0 is stopped{STARTS} -q burst-0` starts it",
    ),
    "its nodes are down": (
        {"queue": "burst-0", "nnodes": 2},
        replace(SLOT, started=True),
        [ACTIVE],
        "needs 2 nodes, 0 are up; burst 01h01 of far",
    ),
    "too much for it": (
        {"queue": "burst-0", "nnodes": 3},
        replace(SLOT, started=True),
        [],
        "asks for 3 nodes, there will never be more than 2",
    ),
}


@pytest.mark.parametrize(("job", "queue", "bursts", "why"), BURST_CASES.values(), ids=BURST_CASES)
def test_why_a_job_of_a_burst_waits(
    job: dict[str, Any], queue: QueueStatus, bursts: list[BurstSummary], why: str
) -> None:
    resources = QueueResources(THERE, {"burst": LOST, "burst-0": LOST})
    around = QueueContext(resources, [queue], wording=WORDING, bursts=lambda: bursts)
    assert wait_reasons.why(replace(WAITS, **{"queue": "burst", **job}), around) == why


def test_bursts_are_not_asked_for_where_no_job_waits_for_one() -> None:
    asked: list[None] = []
    resources = QueueResources(THERE, {"burst": LOST, "burst-0": LOST})
    around = QueueContext(resources, [STARTED], bursts=lambda: asked.append(None) or ())
    assert wait_reasons.why(replace(WAITS, queue="default"), around) == RESOURCES
    assert (wait_reasons.where(replace(WAITS, queue="debug"), around), asked) == ("", [])


def test_hosts_of_bursts_are_no_room_to_grow() -> None:
    resources = QueueResources(THERE, {"burst": LOST, "burst-0": LOST})
    around = QueueContext(resources, [STARTED], wording=WORDING)
    why = wait_reasons.why(replace(WAITS, nnodes=3, queue="default"), around)
    assert why == "needs 3 nodes, 2 are up; up to 4 with `minicluster scale`"


def test_one_node_is_in_the_singular() -> None:
    there = replace(THERE, up=ResourceSubset((0,), ("a",), cores=2))
    assert _why(there=there).endswith("1 of 2 cores on 1 node are free")


@pytest.mark.parametrize(
    ("gpus", "why"),
    [
        (5, "needs 5 GPUs, 4 are up; up to 8 with `minicluster scale`"),
        (3, "waits for resources: needs 3 GPUs, 1 of 4 are free"),
        (1, RESOURCES),
        (9, "asks for 9 GPUs, there will never be more than 8"),
    ],
    ids=["down", "busy", "free", "never that many"],
)
def test_gpus_are_counted(gpus: int, why: str) -> None:
    there = replace(
        THERE, all=replace(FOUR, gpus=8), up=replace(UP, gpus=4), free=replace(THERE.free, gpus=1)
    )
    assert _why(there=there, gpus=lambda _job: gpus) == why


@pytest.mark.parametrize(
    ("job", "drained", "why"),
    [
        ({"nnodes": 4}, (2, 3), "needs 4 nodes, 2 are up; 2 nodes are drained"),
        ({"nnodes": 3}, (2,), "needs 3 nodes, 2 are up; 1 node is drained"),
        ({}, (2,), f"{RESOURCES}; 1 node is drained"),
        ({}, (3,), RESOURCES),
    ],
    ids=["nodes", "one", "cores", "one that has left"],
)
def test_drained_nodes_are_counted(job: dict[str, Any], drained: tuple[int, ...], why: str) -> None:
    there = replace(
        THERE, drained=ResourceSubset(drained), offline=ResourceSubset((3,) if drained == (3,) else ())
    )
    assert _why(replace(WAITS, **job), there) == why


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (2, "behind \u01923, though 1 of 4 cores on 2 nodes are free"),
        (1, RESOURCES),
        (None, RESOURCES),
    ],
    ids=["another one", "itself", "not known"],
)
def test_the_job_before_it_is_named_where_its_resources_are_free(first: int | None, why: str) -> None:
    assert _why(replace(WAITS, ncores=1), first=lambda: first) == why


def test_who_is_first_is_not_asked_for_a_job_that_does_not_fit() -> None:
    asked: list[None] = []
    _why(replace(WAITS, ncores=2), first=lambda: asked.append(None))
    assert asked == []


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (lambda now: now + 150, "; eta 2m"),
        (lambda now: now - 5, "; eta now"),
        (lambda _now: None, ""),
        (lambda _now: float("inf"), ""),
    ],
    ids=["later", "past", "no plan", "never"],
)
def test_the_planned_start_is_shown(start: Callable[[float], float | None], words: str) -> None:
    planned = {"sched": {"t_estimate": start(time.time()), "reason_pending": None}}
    assert _why(replace(WAITS, annotations=planned)) == f"{RESOURCES}{words}"


def test_a_time_of_today_is_a_time_of_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "localtime", time.gmtime)
    now = time.time()
    day = now - now % 86400
    later = replace(WAITS, state=JobState.DEPEND, dependencies=(f"begin-time={day + 7375.258:.3f}",))
    assert _why(later) == "begins at 02:02:55"


def test_a_time_of_another_day_has_its_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a job that it depends on."""
    monkeypatch.setattr(time, "localtime", time.gmtime)
    waits = ("after-success=\u0192A", "begin-time=951825600.000")
    assert _why(replace(WAITS, state=JobState.DEPEND, dependencies=waits)) == (
        "depends on after-success=\u0192A, begins at 2000-02-29 12:00:00"
    )


def _ended(result: JobResult, **more: Any) -> Job:
    return Job(1, JobState.INACTIVE, result, **more)


def _fatal(kind: str, note: str = "") -> JobException:
    return JobException(kind, 0, note)


ENDINGS = {
    "completed": (_ended(JobResult.COMPLETED, nodelist="mc-[0-1]", waitstatus=0), "mc-[0-1]"),
    "exit code": (_ended(JobResult.FAILED, waitstatus=768, nodelist="mc-0"), "exit code 3 on mc-0"),
    "signal of a task": (_ended(JobResult.FAILED, waitstatus=9, nodelist="mc-0"), "SIGKILL on mc-0"),
    "signal in a shell": (
        _ended(JobResult.FAILED, waitstatus=137 << 8, nodelist="mc-0"),
        "exit code 137 (SIGKILL) on mc-0",
    ),
    "no signal": (_ended(JobResult.FAILED, waitstatus=255 << 8), "exit code 255"),
    "never ran": (
        _ended(JobResult.FAILED, exception=_fatal("alloc", "unsatisfiable request")),
        "unsatisfiable request",
    ),
    "no words": (_ended(JobResult.FAILED, exception=_fatal("exec")), "exception exec"),
    "a warning before": (
        _ended(JobResult.FAILED, waitstatus=256, exception=JobException("warning", 3, "odd")),
        "exit code 1",
    ),
    "canceled": (
        _ended(JobResult.CANCELED, exception=_fatal("cancel", "not needed")),
        "canceled: not needed",
    ),
    "canceled without a note": (_ended(JobResult.CANCELED, exception=_fatal("cancel")), "canceled"),
    "time limit": (_ended(JobResult.TIMEOUT, duration=90.0), "the time limit of 1.5m was over"),
    "short time limit": (_ended(JobResult.TIMEOUT, duration=1.0), "the time limit of 1s was over"),
}


@pytest.mark.parametrize(("job", "words"), ENDINGS.values(), ids=ENDINGS)
def test_how_it_ended(job: Job, words: str) -> None:
    assert job_reasons.ending(job) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("completed", "COMPLETED"),
        ("exit code", "FAILED, exit code 3 on mc-0"),
        ("canceled", "CANCELED, not needed"),
        ("canceled without a note", "CANCELED"),
        ("time limit", "TIMEOUT, the time limit of 1.5m was over"),
    ],
)
def test_a_result_has_its_reason(name: str, words: str) -> None:
    assert job_reasons.outcome(ENDINGS[name][0]) == words
