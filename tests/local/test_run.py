"""`minicluster run`: exit codes, output, and that nothing is left, however it ends."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from local_machine import Machine, document, eventually

from minicluster.local.cluster import LocalCluster

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("code", [0, 1, 7, 75, 137, 143], ids=str)
def test_ends_with_the_commands_exit_code(machine: Machine, tmp_path: Path, code: int) -> None:
    """The codes that the pods' contract uses for itself (75, 137, 143) reach the user unchanged as well."""
    done = machine.run(document(tmp_path, command=f"sh -c 'exit {code}'"))
    assert done.returncode == code, done.stderr


def test_leaves_nothing_behind(machine: Machine, tmp_path: Path) -> None:
    """A command that starts daemons of its own in new sessions leaves none of them.

    (In a launcher, because real Flux waits for what a job's tasks leave behind.)
    """
    daemon = "setsid sleep 600 </dev/null >/dev/null 2>&1 &"
    done = machine.run(document(tmp_path, launcher=True, command=f"sh -c '{daemon} {daemon} echo started'"))
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert machine.left() == ([], [])


def test_reports_how_long_each_part_took(embedded: Machine, tmp_path: Path) -> None:
    done = embedded.run(document(tmp_path, command="true"))
    last = done.stderr.splitlines()[-1]
    assert last.startswith("minicluster: 2 brokers up in ")
    assert " s, ran " in last
    assert " s, torn down in " in last


def test_reports_once_that_the_image_is_not_used(embedded: Machine, tmp_path: Path) -> None:
    done = embedded.run(document(tmp_path, command="true"))
    assert done.stderr.count("commands run on this machine, not in the image test") == 1


def test_that_all_have_joined_is_reported_of_a_short_run(
    embedded: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the command begins before anybody has counted the brokers again."""
    monkeypatch.setattr(LocalCluster, "joined", lambda _cluster, _size: 0)
    done = embedded.run(document(tmp_path, command="true"))
    assert done.stderr.count("minicluster: 2 of 2 brokers have joined\n") == 1, done.stderr


def test_quiet_prints_only_what_the_command_prints(embedded: Machine, tmp_path: Path) -> None:
    done = embedded.run(document(tmp_path, command="sh -c 'echo out; echo err >&2'"), "--quiet")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")


def test_labels_the_output_of_several_tasks(machine: Machine, tmp_path: Path) -> None:
    done = machine.run(document(tmp_path, spec={"tasks": 2}, command="sh -c 'echo from $FLUX_TASK_RANK'"))
    # Real Flux has the job's id before the rank.
    lines = [re.sub(r"^ƒ\w+: ", "", line) for line in done.stdout.splitlines()]
    assert sorted(lines) == ["0: from 0", "1: from 1"]


ARGUMENTS = [
    "two  spaces",
    "it's",
    'say "hi"',
    "$HOME `id` $(id)",
    "a\nb",
    "ünï—cødé",
    "back\\slash",
    "*",
    "-n",
    "",
    "#",
]


def test_arguments_reach_the_task_unchanged(machine: Machine, tmp_path: Path) -> None:
    """Spaces, quotes, $, newlines, non-ASCII: what stands after `--` is what the task gets."""
    show = "import sys; sys.stdout.buffer.write(ascii(sys.argv[1:]).encode())"
    done = machine.run(document(tmp_path), "--", sys.executable, "-c", show, *ARGUMENTS)
    assert done.stdout.rstrip("\n") == ascii(ARGUMENTS), done.stderr


def test_paths_may_hold_anything(machine: Machine, tmp_path: Path) -> None:
    """The document's, and the directory that the run is started in."""
    odd = tmp_path / "a b'c\"d$e ünï"
    odd.mkdir()
    done = machine.run(document(odd), "--", "pwd", cwd=odd)
    assert done.stdout == f"{odd}\n", done.stderr


def test_a_size_is_given_on_the_command_line(embedded: Machine, tmp_path: Path) -> None:
    done = embedded.run(document(tmp_path, launcher=True, command="flux getattr size"), "--size", "3")
    assert done.stdout == "3\n", done.stderr


def test_two_runs_at_once_do_not_meet(machine: Machine, tmp_path: Path) -> None:
    """The same document, twice at the same time."""
    path = document(tmp_path, command="sh -c 'sleep 1; flux getattr hostlist'")
    both = [machine.start("run", path, "--engine", machine.engine) for _ in range(2)]
    ends = [each.communicate(timeout=60) for each in both]
    assert [each.returncode for each in both] == [0, 0], ends
    assert [out for out, _ in ends] == ["mc-[0-1]\n"] * 2


def test_the_time_limit_ends_it_with_124(machine: Machine, tmp_path: Path) -> None:
    done = machine.run(document(tmp_path, command="sleep 600"), "--timeout", "2")
    assert done.returncode == 124
    assert "minicluster: --timeout 2: the time is over; the run was ended" in done.stderr
    assert machine.left() == ([], [])


def test_the_documents_deadline_ends_it_with_124(embedded: Machine, tmp_path: Path) -> None:
    done = embedded.run(document(tmp_path, spec={"deadlineSeconds": 1}, command="sleep 600"))
    assert done.returncode == 124
    assert "minicluster: spec.deadlineSeconds 1: the time is over; the run was ended" in done.stderr


def test_batch_names_no_file_that_goes_with_the_run(embedded: Machine, tmp_path: Path) -> None:
    """What the jobs wrote is shown instead."""
    done = embedded.run(document(tmp_path, batch=True, command="echo one\nsh -c 'exit 3'"))
    assert (done.returncode, done.stdout.splitlines()) == (
        3,
        ["one", "job 0 ended with 0", "job 1 ended with 3"],
    )


def test_batch_names_the_files_that_stay(embedded: Machine, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    done = embedded.run(document(tmp_path, batch=True, logs=str(kept), command="echo one"))
    assert f"job 0 ended with 0: {kept}/job-0.out" in done.stdout
    assert (kept / "job-0.out").read_text() == "one\n"


@pytest.mark.parametrize(
    ("container", "shown"),
    [
        pytest.param({"command": "cat"}, "one\ntwo\n", id="a program"),
        pytest.param({"command": "cat", "launcher": True}, "one\ntwo\n", id="a launcher"),
        pytest.param({"command": "wc -l", "batch": True}, "2\njob 0 ended with 0\n", id="the first job"),
    ],
)
def test_standard_input_reaches_the_command(
    machine: Machine, tmp_path: Path, container: dict[str, Any], shown: str
) -> None:
    path = document(tmp_path, spec={"tasks": 1}, size=1, **container)
    done = machine.run(path, "--quiet", input="one\ntwo\n")
    assert (done.returncode, done.stdout) == (0, shown), done.stderr


def test_every_task_gets_standard_input(machine: Machine, tmp_path: Path) -> None:
    """As with `flux run`, each of them gets all of it."""
    done = machine.run(document(tmp_path, spec={"tasks": 2}, command="cat"), "--quiet", input="one\n")
    assert sorted(done.stdout.splitlines()) == ["0: one", "1: one"], done.stderr


def _closed() -> dict[str, Any]:
    return {"preexec_fn": lambda: os.close(0)}


def _write_only() -> dict[str, Any]:
    return {"stdin": os.open(os.devnull, os.O_WRONLY)}


def _terminal() -> dict[str, Any]:
    return {"stdin": pty.openpty()[1]}


def _empty() -> dict[str, Any]:
    return {"stdin": subprocess.DEVNULL}


@pytest.mark.parametrize("given", [_closed, _write_only, _terminal, _empty])
def test_a_program_that_waits_for_input_ends_where_there_is_none(
    embedded: Machine, tmp_path: Path, given: Callable[[], dict[str, Any]]
) -> None:
    path = document(tmp_path, command="cat", size=1, spec={"tasks": 1})
    done = embedded.run(path, "--quiet", "--timeout", "30", **given())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_job_that_ignores_sigterm_is_ended(machine: Machine, tmp_path: Path) -> None:
    stubborn = "sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done'"
    done = machine.run(document(tmp_path, command=stubborn), "--timeout", "2s")
    assert done.returncode == 124
    assert machine.left() == ([], [])


PHASES = {
    "at once": 0.0,
    "while loading": 0.15,
    "while starting": 0.35,
    "while joining": 0.5,
    "later": 0.8,
    "running": 2.0,
}
BEFORE_OURS = ("Could not import runpy module", "Fatal Python error: init_import_site")


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize("delay", PHASES.values(), ids=PHASES.keys())
def test_a_signal_in_any_phase_ends_it_all(
    embedded: Machine, tmp_path: Path, delay: float, signum: int
) -> None:
    """Exit code 128 + signal, and nothing left: no process, no socket, no directory.

    On a busy machine a signal at once may come before Python has begun with ours: Python says so, with 1.
    """
    run = embedded.start("run", document(tmp_path, size=4, command="sleep 600"), "--engine", "embedded")
    time.sleep(delay)  # the phases are what is tested
    run.send_signal(signum)
    _, errors = run.communicate(timeout=30)
    if not errors.startswith(BEFORE_OURS):
        assert run.returncode in {128 + signum, -signum}, errors
    assert embedded.left() == ([], [])


@pytest.mark.parametrize(
    ("presses", "work", "finishes"),
    [pytest.param(1, 0.5, True, id="one"), pytest.param(2, 4, False, id="a second hurries")],
)
def test_ctrl_c_lets_a_job_finish_its_work_and_a_second_does_not(
    embedded: Machine, tmp_path: Path, presses: int, work: float, finishes: bool
) -> None:
    """What a job does on SIGTERM is given five seconds; a second Ctrl-C kills it in the midst of that."""
    on_term = f"touch {tmp_path}/asked; sleep {work}; touch {tmp_path}/finished; exit"
    patient = f"trap '' INT HUP; trap '{on_term}' TERM; echo ready; while :; do sleep 1; done"
    path = document(tmp_path)
    run = embedded.start("run", path, "--engine", "embedded", "--", "sh", "-c", patient)
    assert run.stdout is not None
    assert run.stdout.readline() == "ready\n"
    for _ in range(presses):
        run.send_signal(signal.SIGINT)
        eventually((tmp_path / "asked").exists, "SIGTERM to the job")
    run.communicate(timeout=30)
    assert (run.returncode, (tmp_path / "finished").exists()) == (130, finishes)
    assert embedded.left() == ([], [])


def test_the_loss_of_the_lead_ends_it_with_the_reason(machine: Machine, tmp_path: Path) -> None:
    run = machine.start("run", document(tmp_path, command="sleep 600"), "--engine", machine.engine)
    eventually(lambda: list(machine.root.glob("*/r/0/main-started")), "the command's start")
    os.kill(machine.broker(0), signal.SIGKILL)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 125, errors
    assert "minicluster: the cluster was lost: the lead broker (rank 0) was killed by signal 9" in errors
    assert machine.left() == ([], [])


def test_what_a_command_makes_of_the_loss_of_the_lead_is_not_its_result(
    machine: Machine, tmp_path: Path
) -> None:
    """It fails since there is no instance any more: with a code of its own, or one of `flux`."""
    command = "sh -c 'touch begun; while flux getattr rank >/dev/null 2>&1; do sleep 0.1; done; exit 7'"
    path = document(tmp_path, launcher=True, command=command, workingDir=str(tmp_path))
    run = machine.start("run", path, "--engine", machine.engine)
    eventually((tmp_path / "begun").exists, "the command's start")
    os.kill(machine.broker(0), signal.SIGKILL)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 125, errors
    assert "the cluster was lost: the lead broker (rank 0) was killed by signal 9" in errors


def test_a_lost_follower_fails_its_jobs_and_rejoins(machine: Machine, tmp_path: Path) -> None:
    """SIGKILL of rank 1: its job gets a fatal exception naming host and rank, the other goes on."""
    script = """\
    lost=$(flux submit -n1 --requires=rank:1 sleep 600)
    kept=$(flux submit -n1 --requires=rank:0 sh -c 'sleep 3; echo the other goes on')
    flux job wait-event -t 20 $lost start >/dev/null
    echo started
    flux job attach $lost
    flux job attach $kept
    flux run -N 2 --label-io sh -c 'echo again'
    """
    path = document(tmp_path, launcher=True, commands={"script": script}, resources={"limits": {"cpu": "1"}})
    run = machine.start("run", path, "--engine", machine.engine)
    assert run.stdout is not None
    assert run.stdout.readline() == "started\n"
    os.kill(machine.broker(1), signal.SIGKILL)
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors
    assert "node failure on mc-1 (rank 1)" in errors
    assert output.splitlines()[0] == "the other goes on"
    assert sorted(output.splitlines()[1:]) == ["0: again", "1: again"]
