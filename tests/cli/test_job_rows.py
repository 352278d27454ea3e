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
from minicluster.instance.records import Job, JobResult, JobState

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
