"""Malleable jobs with real processes: workers come and go while the job runs, and are where R says."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.embedded.malleable_job import POLICY, MalleableJob

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def instance(make_instance: Callable[..., Any]) -> Any:
    made = make_instance(3)
    made.config.write_text(made.config.read_text() + POLICY)
    return made.up()


@pytest.fixture
def start(instance: Any, tmp_path: Path) -> Callable[..., MalleableJob]:
    return lambda *options, **env: MalleableJob(instance, tmp_path, *options, **env)


def test_a_job_shrinks_for_another_and_grows_again(
    start: Callable[..., MalleableJob], tmp_path: Path
) -> None:
    """Its files have the output of workers that came later, too."""
    job = start(f"--output={tmp_path}/out-{{{{taskid}}}}")
    job.wait(lambda: len(job.alive()) == 6, "six workers")
    assert job.task(5) == {**(job.task(5) or {}), "mode": "0o100400", "size": "6", "order": 0, "pmi": True}
    job.give_way(3)
    assert list(job.alive().values()) == job.brokers(0, 0, 1)  # the others have ended
    assert (job.listed("nodelist"), job.listed("ntasks"), job.listed("ncores")) == ("mc-[0-1]", "3", "3")
    (job.here / "go").touch()
    job.wait(lambda: job.resized(6), "grown to six")
    assert list(job.alive()) == [0, 1, 2, 6, 7, 8]
    assert list(job.alive().values()) == job.brokers(0, 0, 1, 1, 2, 2)
    assert json.loads((job.here / "grown").read_text()) == [6, 7, 8]
    assert job.task(8) == {**(job.task(8) or {}), "mode": "0o100400", "size": "6", "order": 2, "pmi": False}
    assert (job.listed("nodelist"), job.listed("ntasks")) == ("mc-[0-2]", "6")
    assert job.end() == "COMPLETED"
    assert job.alive() == {}
    assert {file.name: file.read_text() for file in tmp_path.glob("out-*")} == {
        f"out-{number}": f"task {number} ends\n" for number in range(9)
    }


def test_workers_that_die_before_they_join_cost_the_job_nothing(start: Callable[..., MalleableJob]) -> None:
    job = start(MODE="dies")
    job.wait(lambda: len(job.alive()) == 6, "six workers")
    job.give_way(3)
    (job.here / "go").touch()
    (expired,) = job.wait(lambda: job.events("resize-expired"), "the end of the order")
    assert "ended before it was taken on" in expired["context"]["reason"]
    free = job.instance.flux("resource", "list", "-s", "free", "-no", "{ncores}").stdout.strip()
    assert (free, job.listed("ntasks")) == ("3", "3")
    assert job.end() == "COMPLETED"


def test_how_a_worker_ends_that_is_released_does_not_matter(start: Callable[..., MalleableJob]) -> None:
    """Also where the instance hears of its end before its release: nor is the job then timed out."""
    job = start("-o", "exit-timeout=1s", MODE="hasty")
    job.wait(lambda: len(job.alive()) == 6, "six workers")
    job.give_way(5)
    (job.here / "go").touch()
    job.wait(lambda: job.resized(6), "grown to six")
    assert job.end() == "COMPLETED"


def test_workers_that_stay_are_killed(start: Callable[..., MalleableJob]) -> None:
    job = start(MODE="stubborn")
    job.wait(lambda: len(job.alive()) == 6, "six workers")
    job.give_way(4)
    assert list(job.alive()) == [0, 1]
    assert job.end() == "COMPLETED"


def test_a_rank_that_is_lost_amid_a_growth_costs_the_job_nothing(start: Callable[..., MalleableJob]) -> None:
    job = start(MODE="hangs")
    job.wait(lambda: len(job.alive()) == 6, "six workers")
    job.give_way(4)
    (job.here / "go").touch()
    job.wait(lambda: len(job.alive()) == 6, "joining workers")
    for rank in (1, 2):
        os.kill(job.instance.brokers[rank].pid, signal.SIGKILL)
    job.wait(lambda: job.events("resize-expired"), "the end of the order")
    assert (job.listed("ntasks"), job.listed("nodelist")) == ("2", "mc-0")
    assert job.end() == "COMPLETED"


def test_a_rank_that_is_lost_with_workers_fails_the_job(start: Callable[..., MalleableJob]) -> None:
    job = start()
    job.wait(lambda: len(job.alive()) == 6, "six workers")
    os.kill(job.instance.brokers[2].pid, signal.SIGKILL)
    (failure,) = job.wait(lambda: job.events("exception"), "the failure")
    assert failure["context"]["note"] == "node failure on mc-2 (rank 2)"
    assert job.end() == "FAILED"


def test_a_job_that_is_canceled_amid_a_growth_leaves_nothing(start: Callable[..., MalleableJob]) -> None:
    job = start(MODE="hangs")
    job.wait(lambda: len(job.alive()) == 6, "six workers")
    job.give_way(4)
    (job.here / "go").touch()
    job.wait(lambda: len(job.alive()) == 6, "joining workers")
    job.instance.flux("cancel", job.id)
    assert job.end() == "CANCELED"
    assert job.alive() == {}
    assert job.instance.flux("resource", "list", "-s", "free", "-no", "{ncores}").stdout.strip() == "6"
