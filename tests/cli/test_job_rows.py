"""Jobs as rows: what a listing has of each, and which columns are shown."""

from __future__ import annotations

import os
import pwd
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from minicluster.cli import job_rows
from minicluster.instance import wait_reasons
from minicluster.instance.errors import JobNotFound
from minicluster.instance.records import (
    BurstSummary,
    Job,
    JobResult,
    JobState,
    QueueResources,
    QueueStatus,
    Resources,
    ResourceSubset,
)

PAGE = Path(__file__).parents[2] / "docs" / "jobs.md"
FARAWAY: Any = SimpleNamespace(links=SimpleNamespace(inherits_environment=False))
ENDED = Job(1, JobState.INACTIVE, JobResult.COMPLETED, userid=1234, t_submit=10.0, t_run=11.5, t_cleanup=13.0)


def _row(job: Job) -> dict[str, Any]:
    (row,) = job_rows.rows(cast("Any", FARAWAY), [job])
    return row


def test_the_page_has_every_key() -> None:
    section = PAGE.read_text().partition("## List")[2].partition("## ")[0]
    keys = {
        key
        for line in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        for key in re.findall(r"`(\w+)`", line)
    }
    assert keys | {"time"} == set(_row(ENDED))


def test_a_job_runs_until_its_cleanup() -> None:
    assert _row(ENDED)["runtime"] == 1.5


@pytest.mark.parametrize("name", ["runtime", "t_run", "t_cleanup", "t_inactive", "expiration", "cores"])
def test_what_is_not_yet_known_is_null(name: str) -> None:
    assert _row(Job(1, JobState.RUN, t_submit=10.0))[name] is None


@pytest.mark.parametrize(
    ("userid", "here", "name"),
    [
        (os.getuid(), True, pwd.getpwuid(os.getuid()).pw_name),
        (1234567, True, "1234567"),
        (1000, False, "1000"),
        (0, False, "root"),
    ],
    ids=["own", "without a name", "elsewhere", "root"],
)
def test_users_have_names_where_they_are_known(userid: int, here: bool, name: str) -> None:
    assert job_rows.user(userid, here=here) == name


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        ({"queue": "", "urgency": 16}, ["id"]),
        ({"queue": "debug", "urgency": 16}, ["id", "queue"]),
        ({"queue": "", "urgency": 0}, ["id", "urgency"]),
    ],
    ids=["usual", "queue", "urgency"],
)
def test_a_column_of_usual_values_is_left_out(row: dict[str, Any], shown: list[str]) -> None:
    usual = {"queue": "", "urgency": 16}
    assert job_rows.columns([usual, row], ["id", "queue", "urgency"]) == shown


def _running(number: int, **more: Any) -> Job:
    """Return a job as a stand-in is listed: one task on the lead's node, without a limit."""
    given = {"ntasks": 1, "ranks": "0", "nodelist": "mc-0", **more}
    return Job(number, JobState.RUN, t_run=1.0, **given)


def test_a_stand_in_names_its_burst_and_others_are_not_asked_for() -> None:
    asked: list[int] = []

    def attributes(jobids: list[int]) -> dict[int, Any]:
        asked.extend(jobids)
        return {
            2: {"minicluster": {"stand_in": "62dgmfw4gk"}},
            3: {"minicluster": {"stand_in": "gone"}},
            4: {},
        }

    instance: Any = SimpleNamespace(links=FARAWAY.links, overview=SimpleNamespace(attributes=attributes))
    jobs = [
        ENDED,
        *(_running(number) for number in (2, 3, 4)),
        _running(5, ranks="0-1", ntasks=2),
        _running(6, ranks="1"),
        _running(7, duration=60.0),
    ]
    bursts = [BurstSummary("62dgmfw4gk", "isolated-x", "research", "active")]
    infos = [row["info"] for row in job_rows.rows(instance, jobs, lambda: bursts)]
    assert infos[1:4] == [
        "runs elsewhere; burst 62dgmfw4gk of research",
        "runs elsewhere; burst gone",
        "mc-0",
    ]
    assert asked == [2, 3, 4]
    assert set(infos[4:]) == {"mc-0"}


class _Waiting:
    """Jobs that wait on two nodes with a core free and two GPUs up, of which none is free."""

    def __init__(self, *jobs: Job, gpus: int = 0, stopped: str = "none") -> None:
        up, nothing = ResourceSubset((0, 1), ("a", "b"), 4, gpus), ResourceSubset()
        self._jobs = jobs
        self._resources = Resources(up, up, nothing, ResourceSubset((0,), ("a",), 1), up, nothing, nothing)
        self._queues = [QueueStatus(each, enabled=True, started=each != stopped) for each in ("a", "b")]
        self.asked: list[int] = []

    def jobspec(self, jobid: int) -> dict[str, Any]:
        """Return one of two tasks with a GPU each. Raises JobNotFound for job 9."""
        self.asked.append(jobid)
        if jobid == 9:
            raise JobNotFound(jobid)
        slot = {
            "type": "slot",
            "count": 2,
            "with": [{"type": "core", "count": 1}, {"type": "gpu", "count": 1}],
        }
        return {"resources": [slot]}

    def info(self) -> list[str]:
        """Return why each waits."""
        made = SimpleNamespace(
            links=SimpleNamespace(inherits_environment=False),
            jobs=SimpleNamespace(find=lambda _which, limit: self._jobs[:limit], jobspec=self.jobspec),
            nodes=SimpleNamespace(by_queue=lambda: QueueResources(self._resources)),
            queues=SimpleNamespace(all=lambda: self._queues),
        )
        return [row["info"] for row in job_rows.rows(cast("Any", made), self._jobs)]


def _waits(number: int, queue: str = "a", urgency: int = 16) -> Job:
    return Job(number, JobState.SCHED, queue=queue, urgency=urgency, ncores=1)


@pytest.mark.parametrize(
    ("jobs", "stopped", "behind"),
    [
        ([_waits(2), _waits(3)], "none", "\u01923"),
        ([_waits(2, urgency=0), _waits(4), _waits(3)], "none", "\u01925"),
        ([_waits(2, queue="b"), _waits(4), _waits(3)], "b", "\u01925"),
    ],
    ids=["the first", "not one that is held", "not one in a stopped queue"],
)
def test_a_job_is_behind_the_first_that_could_start(jobs: list[Job], stopped: str, behind: str) -> None:
    assert _Waiting(*jobs, stopped=stopped).info()[-1].startswith(f"behind {behind}, though 1 of 4 cores ")


def test_the_gpus_that_a_job_needs_are_of_its_jobspec() -> None:
    """Of one that has gone meanwhile they are not known."""
    assert _Waiting(_waits(2), _waits(9), gpus=2).info() == [
        "waits for resources: needs 2 GPUs, 0 of 2 are free",
        "behind \u01923, though 1 of 4 cores on 2 nodes are free",
    ]


@pytest.mark.parametrize(
    ("gpus", "count"), [(0, 0), (2, wait_reasons.MAX_JOBSPECS)], ids=["none", "many jobs"]
)
def test_only_so_many_jobspecs_are_read(gpus: int, count: int) -> None:
    """None where there are no GPUs."""
    many = _Waiting(*map(_waits, range(100, 200)), gpus=gpus)
    assert (len(many.info()), len(many.asked)) == (100, count)


@pytest.mark.parametrize(
    ("job", "info"),
    [
        (
            Job(1, JobState.DEPEND, dependencies=("after-success=2",)),
            "depends on after-success=\u01923",
        ),
        (Job(1, JobState.SCHED, urgency=0), "held: its urgency is 0"),
        (Job(1, JobState.SCHED), "waited when it was saved"),
    ],
    ids=["another job", "held", "resources"],
)
def test_a_dump_has_why_a_job_waits_by_itself(job: Job, info: str) -> None:
    assert [row["info"] for row in job_rows.dumped_rows([job])] == [info]


RUNS = {"state": JobState.RUN, "nodelist": "mc-0", "t_run": 1.0}
ELASTIC = {"sched": {"elastic": {"min": 1, "max": 4, "malleable": True}}}


@pytest.mark.parametrize(
    ("annotations", "info"),
    [
        ({}, "mc-0"),
        (ELASTIC, "mc-0"),
        ({**ELASTIC, "user": {"workers": 4, "order": "1 done"}}, "mc-0"),
        ({**ELASTIC, "user": {"workers": 4, "target": 2}}, "shrinking 4 → 2"),
        ({**ELASTIC, "user": {"workers": 2, "target": 4}}, "growing 2 → 4"),
        ({"user": "a memo", "sched": None}, "mc-0"),
        ({"user": {"workers": "many", "target": [1]}}, "mc-0"),
        ({"sched": {"companion_of": "ƒ1"}}, "companion of ƒ1"),
    ],
    ids=["rigid", "malleable", "resized", "shrinks", "grows", "memo", "values", "companion"],
)
def test_what_is_special_about_a_job_that_runs_is_shown(annotations: dict[str, Any], info: str) -> None:
    assert _row(Job(1, annotations=annotations, **RUNS))["info"] == info


def test_an_elastic_job_has_its_sizes() -> None:
    row = _row(Job(1, annotations=ELASTIC, **RUNS))
    assert (row["min"], row["max"], row["malleable"]) == (1, 4, True)
    rigid = _row(Job(1, **RUNS))
    assert (rigid["min"], rigid["max"], rigid["malleable"], rigid["companion_of"]) == (None,) * 4


@pytest.mark.parametrize(
    ("result", "info"),
    [(JobResult.COMPLETED, "companion of ƒ1"), (JobResult.CANCELED, "canceled")],
    ids=["completed", "canceled"],
)
def test_a_companion_that_has_ended(result: JobResult, info: str) -> None:
    job = Job(1, JobState.INACTIVE, result, nodelist="mc-0", annotations={"sched": {"companion_of": "ƒ1"}})
    assert (_row(job)["info"], _row(job)["companion_of"]) == (info, "ƒ1")
