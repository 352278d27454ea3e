"""Jobs of a cluster that stays: what `submit` can ask for, on each engine."""

from __future__ import annotations

import os
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

    done = up.good("submit", "mc", "--quiet", "--watch", "sh", "-c", "cat; echo nothing")
    assert done.stdout == "nothing\n"  # and `cat` does not wait for ever

    done = up.good("submit", "mc", "-c", "9", "true")
    job = done.stdout.strip()
    where = "can never run here, even at the cluster's largest size"
    assert f"minicluster: {job} {where}: unsatisfiable request: need 1 slot(s) of 9" in done.stderr
    (row,) = up.rows("jobs", "mc", job)
    assert (row["state"], row["command"], row["t_run"]) == ("FAILED", ["true"], None)
    assert row["info"].startswith("unsatisfiable request: need 1 slot(s) of 9 core(s)")


def test_jobs_are_released_waited_for_and_listed(up: Machine) -> None:
    """One after the other on one cluster."""
    options = ("--urgency", "hold", "--job-name", "later")
    later = up.good("submit", "mc", *options, "sh", "-c", "exit 3").stdout.strip()
    done = up.call("wait", "mc", later, "--timeout", "0.2s")
    assert (done.returncode, done.stdout) == (124, "")
    assert f"minicluster: the time of 0.200s is over; {later} goes on: " in done.stderr
    done = up.good("urgency", "mc", later, "default")
    assert done.stdout == f"{later}: urgency 0 (held) → 16\n"
    good = up.good("submit", "mc", "true").stdout.strip()
    done = up.call("wait", "mc", good, later)
    shown, worse = done.stdout.splitlines()
    assert (done.returncode, shown, done.stderr) == (3, f"{good}: COMPLETED", "")
    assert worse.startswith(f"{later}: FAILED, exit code 3 on ")
    done = up.call("urgency", "mc", later, "hold")
    assert (done.returncode, f"{later}: has ended already, with FAILED; only" in done.stderr) == (2, True)
    assert [row["id"] for row in up.rows("jobs", "mc", "-S", "failed", "--job-name", "la*")] == [later]
    mine = up.rows("jobs", "mc", "--since", "1h", "-u", str(os.getuid()))
    assert {row["id"] for row in mine} == {later, good}


def test_after_ctrl_c_a_wait_leaves_jobs_alone(up: Machine) -> None:
    """What has ended is reported; a job that runs has an urgency that cannot be changed."""
    ended = up.good("submit", "mc", "true").stdout.strip()
    job = up.good("submit", "mc", "sleep", "600").stdout.strip()
    waiting = up.start("wait", "mc", ended, job)
    assert waiting.stdout is not None
    assert waiting.stdout.readline() == f"{ended}: COMPLETED\n"
    waiting.send_signal(signal.SIGINT)
    assert (waiting.wait(30), f"minicluster: {job} goes on: " in waiting.communicate()[1]) == (130, True)
    eventually(lambda: up.rows("jobs", "mc", "-S", "run"), "the job to run")
    done = up.call("urgency", "mc", job, "hold")
    assert (done.returncode, f"{job}: runs already; only" in done.stderr) == (2, True)
    assert up.good("cancel", "mc", job).stdout == f"{job}: canceled\n"
    done = up.call("wait", "mc", job)
    assert (done.returncode, done.stdout) == (143, f"{job}: CANCELED, minicluster cancel\n")


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
