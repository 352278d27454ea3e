"""A job as /v1 has it, and pages of a search."""

import dataclasses
from typing import Any

import pytest

from broker_config.formats.job_states import JobResult, JobState
from restful.compat import search
from restful.compat.job_attributes import attributes
from restful.store.jobs import JobRecord, status_of

WAITS = JobRecord("c", "i", 7, owner="u", status=int(JobState.SCHED), name="one", t_submit=10.0)
RUNS = dataclasses.replace(
    WAITS, status=int(JobState.RUN), t_run=20.0, nodelist="mc-0", duration=60.0, expiration=80.0
)
ENDED = status_of(JobState.INACTIVE, JobResult.FAILED)
FAILED = dataclasses.replace(
    RUNS, status=ENDED, t_cleanup=25.0, t_inactive=26.0, returncode=3, exception_type="exec",
    exception_severity=0, exception_note="no such file",
)  # fmt: skip


def test_a_job_has_the_attributes_that_clients_ask_for() -> None:
    found = attributes(FAILED, 100.0)
    assert len(found) > 20
    assert (found["id"], found["state"], found["result"], found["returncode"]) == (7, "INACTIVE", "FAILED", 3)
    assert (found["runtime"], found["nodelist"], found["waitstatus"]) == (5.0, "mc-0", 3 << 8)
    assert found["exception"] == {"occurred": True, "severity": 0, "type": "exec", "note": "no such file"}
    assert (found["exception_occurred"], found["success"]) == (True, False)


def test_what_is_not_there_yet_is_empty() -> None:
    found = attributes(WAITS, 100.0)
    assert len(found) > 20
    assert (found["state"], found["result"], found["returncode"], found["waitstatus"]) == (
        "SCHED",
        "",
        "",
        "",
    )
    assert (found["runtime"], found["expiration"], found["duration"]) == (0.0, "", "")
    assert found["exception"] == {"occurred": False, "severity": "", "type": "", "note": ""}
    assert "t_run" not in found


@pytest.mark.parametrize(
    ("changes", "name", "expected"),
    [
        ({}, "runtime", 80.0),
        ({"status": ENDED, "returncode": -9, "t_cleanup": 30.0}, "waitstatus", 9),
        ({"status": ENDED, "returncode": -128}, "waitstatus", ""),
        ({"status": status_of(JobState.INACTIVE, JobResult.COMPLETED)}, "success", True),
    ],
)
def test_derived_values(changes: dict[str, Any], name: str, expected: Any) -> None:
    assert attributes(dataclasses.replace(RUNS, **changes), 100.0)[name] == expected


JOBS = [dataclasses.replace(WAITS, id=number, name=f"job-{number}") for number in range(12, 0, -1)]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({}, list(range(12, 0, -1))),
        ({"start": "1"}, list(range(11, 0, -1))),
        ({"start": "1", "length": "3"}, [11, 10, 9]),
        ({"start": "100"}, []),
        ({"start": "-4", "length": "-1"}, list(range(12, 0, -1))),
        ({"start": "x", "length": "2"}, [12, 11]),
        ({"search": "JOB-1", "length": "3"}, [12, 11, 10]),
        ({"search[value]": "job-3"}, [3]),
        ({"query": "sched", "start": "11"}, [1]),
        ({"search": ".*"}, []),
    ],
)
def test_pages_of_a_search(query: dict[str, str], ids: list[int]) -> None:
    wanted = search.read(query)
    found = search.matching(JOBS[: search.needed(wanted, 1000)], wanted)
    assert [each.id for each in found] == ids
    answer = search.answer(found, len(JOBS), wanted, 100.0)
    assert (answer["recordsTotal"], answer["recordsFiltered"], answer["draw"]) == (12, len(ids), 1)
