"""The main job, where its instance is saved or its broker leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_config.settings import Command, NodeResources, RunMode, Submit
from tests.lead.client import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.lead.saving.saved import Saved


@pytest.fixture
def plain(saved: Callable[..., Saved], tmp_path: Path) -> Callable[..., Saved]:
    """A cluster whose main command waits for the gate, and ends with 3; it has begun."""

    def make(**more: Any) -> Saved:
        line = (
            f"sh -c 'until [ -e {tmp_path}/gate ]; do sleep 0.1; done; echo main >>{tmp_path}/ledger; exit 3'"
        )
        cluster = saved(1, command=Command(line), **more).up(0)
        until(
            lambda: cluster.lead_api.status()["jobid"] and cluster.lead_api.status()["busy"],
            "the main job's start",
        )
        return cluster

    return make


def test_main_job_that_does_not_end_is_started_again(plain: Callable[..., Saved]) -> None:
    """The restored lead attaches to its copy, and ends with that one's code."""
    cluster = plain()
    cluster.save()
    assert cluster.saved()["restarted_total"] == 1
    cluster.gate.touch()
    cluster.lose_state()
    cluster.pods.start(0)
    assert (cluster.pods.wait(), cluster.lines()) == (3, {"main": 1})


def test_main_job_that_ends_in_time_ends_the_instance(plain: Callable[..., Saved]) -> None:
    """With its own code, where another job still runs then; the archive is written as well."""
    cluster = plain(node=NodeResources(cores=2), submit=Submit(tasks=1))
    cluster.pods.run("submit", "sleep", "600")
    until(lambda: len(cluster.pods.run("jobs", "-n", "--filter=running").splitlines()) == 2, "both run")
    cluster.save(timeout=10)
    cluster.gate.touch()
    assert cluster.pods.wait() == 3
    assert (cluster.pods.directory / "termination-0").read_text() == "3\n"
    assert cluster.archive.exists()


def test_main_job_may_have_to_leave_its_broker(plain: Callable[..., Saved]) -> None:
    """The lead follows its copy."""
    cluster = plain()
    _, answer = cluster.lead_api.ask("POST", "/v1/restart", {"ranks": "0"})
    assert len(answer["restarted"]) == 1
    cluster.gate.touch()
    assert (cluster.pods.wait(), cluster.lines()) == (3, {"main": 1})


def test_launcher_command_begins_anew(saved: Callable[..., Saved], tmp_path: Path) -> None:
    """It is no job: the message says that it is lost."""
    line = f"sleep 60; echo main >>{tmp_path}/ledger"
    cluster = saved(1, mode=RunMode.LAUNCHER, command=Command(line)).up(0)
    cluster.save()
    ((jobid, why),) = cluster.saved()["lost"]
    assert (jobid, why.partition(":")[0]) == ("", "the main command is no job (flux.launcher)")
