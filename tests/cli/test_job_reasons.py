"""Why a job waits, and how one ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from minicluster.cli import job_reasons
from minicluster.instance.records import (
    Job,
    JobException,
    JobResult,
    JobState,
    QueueStatus,
    Resources,
    ResourceSubset,
)

FOUR = ResourceSubset((0, 1, 2, 3), ("a", "b", "c", "d"), cores=8)
UP = ResourceSubset((0, 1), ("a", "b"), cores=4)
THERE = Resources(
    FOUR, UP, FOUR, ResourceSubset((1,), ("b",), cores=1), UP, ResourceSubset(), ResourceSubset()
)
WAITS = Job(1, JobState.SCHED)
STARTED = QueueStatus("", enabled=True, started=True)
RESOURCES = "waits for resources: 1 of 4 cores on 2 nodes are free"
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
    "another job, nobody says which": ({"state": JobState.DEPEND}, STARTED, "depends on other jobs"),
    "the queue": ({}, QueueStatus("", enabled=True, started=False), "the queue is stopped"),
    "the queue, and why": (
        {"queue": "batch"},
        QueueStatus("batch", enabled=True, started=False, stop_reason="at night"),
        "queue batch is stopped: at night",
    ),
    "another queue": ({"queue": "debug"}, QueueStatus("batch", enabled=True, started=False), RESOURCES),
    "too much": ({"nnodes": 5}, STARTED, "asks for 5 nodes, there will never be more than 4"),
}


@pytest.mark.parametrize(("job", "queue", "why"), CASES.values(), ids=CASES)
def test_why_it_waits(job: dict[str, Any], queue: QueueStatus, why: str) -> None:
    assert job_reasons.why(replace(WAITS, **job), THERE, [queue]) == why


def test_one_node_is_in_the_singular() -> None:
    there = replace(THERE, up=ResourceSubset((0,), ("a",), cores=2))
    assert job_reasons.why(WAITS, there, [STARTED]).endswith("1 of 2 cores on 1 node are free")


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
