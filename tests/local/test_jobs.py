"""Jobs of a cluster that stays: what `submit` can ask for, on each engine."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from local_machine import Machine, document, eventually

if TYPE_CHECKING:
    from pathlib import Path

SPEC = {"maxSize": 2, "interactive": True}


@pytest.fixture
def up(machine: Machine, tmp_path: Path) -> Machine:
    """A cluster of two brokers with one core each, called mc."""
    done = machine.up(document(tmp_path, spec=SPEC, resources={"limits": {"cpu": "1"}}))
    assert done.returncode == 0, done.stderr
    return machine


def test_what_a_submission_may_ask_for(up: Machine, tmp_path: Path) -> None:
    """One after the other on one cluster."""
    output = f"{tmp_path}/{{cc}}-{{{{id}}}}"
    program = ("sh", "-c", "echo $A $FLUX_JOB_CC; exit {cc}")
    copies = ("--cc", "2-3", "--output", output, "--env", "A=x{{taskid}}")
    done = up.call("submit", "mc", "--wait", *copies, *program)
    ids = done.stdout.split()
    assert (done.returncode, len(ids)) == (3, 2), done.stderr
    written = {path.name: path.read_text() for path in tmp_path.iterdir() if path.suffix != ".yaml"}
    assert written == {f"2-{ids[0]}": "x0 2\n", f"3-{ids[1]}": "x0 3\n"}

    done = up.call("submit", "mc", "--quiet", "--watch", "-n2", "sh", "-c", "echo on $FLUX_TASK_RANK; exit 5")
    assert (done.returncode, sorted(done.stdout.splitlines())) == (5, ["0: on 0", "1: on 1"])

    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n# flux: -N2 -t 5\necho $1 $(flux getattr size)\n")
    batch = up.good("submit", "mc", "--batch", "--quiet", "--watch", script, "brokers:")
    assert batch.stdout == "0: brokers: 2\n"

    done = up.good("submit", "mc", "-c", "9", "true")
    job = done.stdout.strip()
    assert f"minicluster: {job} can never run here: unsatisfiable request: need 1 slot(s) of 9" in done.stderr
    (row,) = up.rows("jobs", "mc", job)
    assert (row["state"], row["command"], row["t_run"]) == ("FAILED", ["true"], None)
    assert row["info"].startswith("unsatisfiable request: need 1 slot(s) of 9 core(s)")


def test_after_ctrl_c_a_job_goes_on(up: Machine) -> None:
    """Whether its output is watched or it is waited for."""
    job = up.good("submit", "mc", "sh", "-c", "echo begun; exec sleep 600").stdout.strip()
    attached = up.start("attach", "mc", job)
    assert attached.stdout is not None
    assert attached.stdout.readline() == "begun\n"
    attached.send_signal(signal.SIGINT)
    shows = f"`minicluster attach mc {job}` shows it again, `minicluster cancel mc {job}` ends it"
    assert (attached.wait(30), attached.communicate()[1]) == (
        130,
        f"minicluster: {job} goes on: {shows}\n",
    )
    waiting = up.start("submit", "mc", "--wait", "sleep", "600")
    eventually(lambda: len(up.rows("jobs", "mc")) == 2, "the second job to run")
    waiting.send_signal(signal.SIGINT)
    assert (waiting.wait(30), " goes on: " in waiting.communicate()[1]) == (130, True)
    assert up.good("cancel", "mc", "--all").stdout == "2 jobs canceled\n"
