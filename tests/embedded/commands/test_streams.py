"""Input, output and signals pass between who types a command on four real brokers and the tasks."""

from __future__ import annotations

import signal
import subprocess
import time
from typing import Any

import pytest

from tests.embedded.commands.typed import DEADLINE, masked, submitted


def test_tasks_run_on_their_nodes(cluster: Any) -> None:
    ran = cluster.flux("run", "-N4", "-l", "sh", "-c", "echo $FLUX_TASK_RANK $(flux getattr rank)")
    assert sorted(ran.stdout.splitlines()) == ["0: 0 0", "1: 1 1", "2: 2 2", "3: 3 3"]


def test_input_and_output_pass_unchanged(cluster: Any) -> None:
    """Bytes that are no UTF-8, and more of them than fit into any buffer."""
    data = bytes(range(256)) * 4096
    assert cluster.flux("run", "cat", input=data, text=False).stdout == data


def test_input_goes_to_every_task(cluster: Any) -> None:
    ran = cluster.flux("run", "-n3", "-l", "cat", input="x\n")
    assert sorted(ran.stdout.splitlines()) == ["0: x", "1: x", "2: x"]


def test_arguments_pass_unchanged(cluster: Any) -> None:
    odd = ["a b", "'q'", '"d"', "$HOME", "new\nline", "é", "", "*"]
    ran = cluster.flux("run", "printf", r"%s\0", *odd)
    assert ran.stdout.split("\0")[:-1] == odd


def test_many_jobs_are_submitted_and_watched_at_once(cluster: Any) -> None:
    ran = cluster.flux("submit", "--cc=1-100", "--watch", "sh", "-c", "echo job $FLUX_JOB_CC")
    lines = ran.stdout.splitlines()
    assert sorted(line for line in lines if line.startswith("job")) == sorted(
        f"job {n}" for n in range(1, 101)
    )
    assert (ran.returncode, sum(line.startswith("ƒ") for line in lines)) == (0, 100)


def test_attach_after_the_end_shows_everything(cluster: Any) -> None:
    number = submitted(cluster, "--wait-event=clean", "sh", "-c", "echo out; exit 4")
    ran = cluster.flux("job", "attach", "-E", "-l", number)
    names = [line.split()[1] for line in ran.stderr.splitlines() if "job." in line]
    expected = [
        "submit",
        "validate",
        "depend",
        "priority",
        "alloc",
        "start",
        "finish",
        "release",
        "free",
        "clean",
    ]
    assert (ran.returncode, ran.stdout) == (4, "0: out\n")
    assert names == [f"job.{name}" for name in expected]


def test_an_exception_is_shown_to_those_attached(cluster: Any) -> None:
    number = submitted(cluster, "--wait-event=start", "sleep", "60")
    cluster.flux("job", "raise", "-t", "odd", "-s", "3", number, "a", "note")
    cluster.flux("cancel", "-m", "my note", number)
    ran = cluster.flux("job", "attach", number)
    assert masked(ran.stderr) == (
        "TIME: job.exception ƒID type=odd severity=3 a note\n"
        "TIME: job.exception ƒID type=cancel severity=0 my note\n"
        "flux-job: task(s) Terminated\n"
    )
    assert ran.returncode == 143


def begun(cluster: Any, *words: str) -> subprocess.Popen[str]:
    """Start a command and return once the job of it runs."""
    env = {**cluster.env, "FLUX_URI": cluster.uri}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(["flux", *words], env=env, text=True, **pipes)  # type: ignore[call-overload]
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        if cluster.flux("jobs", "-n", "-f", "run", "-o", "{id.dec}").stdout.strip():
            return process  # type: ignore[no-any-return]
    raise AssertionError("the job does not run")


def test_one_interrupt_explains_and_two_cancel(cluster: Any) -> None:
    with begun(cluster, "run", "sleep", "60") as attached:
        attached.send_signal(signal.SIGINT)
        assert (
            attached.stderr.readline()
            == "flux-job: one more ctrl-C within 2s to cancel or ctrl-Z to detach\n"
        )
        attached.send_signal(signal.SIGINT)
        assert attached.wait(DEADLINE) == 143
        assert masked(attached.stderr.read()) == (
            "TIME: job.exception ƒID type=cancel severity=0 interrupted by ctrl-C\n"
            "flux-job: task(s) Terminated\n"
        )


def test_an_interrupt_and_a_stop_detach(cluster: Any) -> None:
    with begun(cluster, "run", "sleep", "60") as attached:
        attached.send_signal(signal.SIGINT)
        attached.stderr.readline()
        attached.send_signal(signal.SIGTSTP)
        assert attached.wait(DEADLINE) == 1
        assert attached.stderr.read() == "flux-job: detaching...\n"
    assert cluster.flux("jobs", "-n", "-f", "run", "-o", "{name}").stdout == "sleep\n"


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGUSR1], ids=lambda signum: signum.name)
def test_other_signals_reach_the_tasks(signum: signal.Signals, cluster: Any) -> None:
    with begun(cluster, "run", "sleep", "60") as attached:
        attached.send_signal(signum)
        assert attached.wait(DEADLINE) == 128 + signum


def test_an_interrupted_watch_leaves_its_jobs_alone(cluster: Any) -> None:
    with begun(cluster, "submit", "--watch", "--quiet", "sleep", "60") as watching:
        watching.send_signal(signal.SIGINT)
        assert watching.wait(DEADLINE) == 130
        assert (watching.stdout.read(), watching.stderr.read()) == ("", "")
    assert cluster.flux("jobs", "-n", "-f", "run", "-o", "{name}").stdout == "sleep\n"


def test_a_reader_that_leaves_is_no_error(cluster: Any) -> None:
    env = {**cluster.env, "FLUX_URI": cluster.uri}
    command = "flux run sh -c 'yes | head -c 2000000' | head -1"
    ran = subprocess.run(
        ["sh", "-c", command], env=env, capture_output=True, text=True, timeout=30, check=False
    )
    assert (ran.stdout, ran.stderr) == ("y\n", "")
