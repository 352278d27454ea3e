"""Jobs that change the size of the cluster on this machine in which they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_machine import Machine, document, eventually

if TYPE_CHECKING:
    from pathlib import Path

SPEC = {"maxSize": 3, "interactive": True, "drainTimeoutSeconds": 60}
CPU = {"limits": {"cpu": "1"}}


def test_a_job_on_a_broker_that_leaves_may_ask_for_it(machine: Machine, tmp_path: Path) -> None:
    """It is answered at once, ends, and only then does its broker leave: it is not started again."""
    assert machine.up(document(tmp_path, spec=SPEC, resources=CPU)).returncode == 0
    asking = "[ $FLUX_TASK_RANK = 0 ] || minicluster scale self 1"
    job = machine.good("submit", "mc", "-N", "2", "--", "sh", "-c", asking).stdout.strip()
    assert machine.good("attach", "mc", job).stdout == "1: cluster: 1 broker asked for\n"
    eventually(lambda: machine.rows("list")[0]["size"] == 1, "one broker")
    assert {row["id"]: row["state"] for row in machine.rows("jobs", "mc", "--all")} == {job: "COMPLETED"}


def test_a_size_that_there_cannot_be_is_reported(machine: Machine, tmp_path: Path) -> None:
    assert machine.up(document(tmp_path, spec=SPEC, resources=CPU)).returncode == 0
    job = machine.good("submit", "mc", "--", "minicluster", "scale", "self", "9").stdout.strip()
    done = machine.call("attach", "mc", job)
    assert (done.returncode, "cluster mc knows 3 hosts" in done.stderr) == (2, True)


def test_a_run_in_the_foreground_reports_that_it_keeps_its_size(machine: Machine, tmp_path: Path) -> None:
    done = machine.run(document(tmp_path, size=1, command="minicluster scale self 2"))
    assert (done.returncode, "`minicluster run` it keeps" in done.stderr) == (1, True)
