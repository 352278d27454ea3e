"""Jobs' processes: what they get, what becomes of their output and exit, and how they end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("arguments", "stdout", "code"),
    [
        pytest.param(["sh", "-c", "exit 7"], "", 7, id="exit code"),
        pytest.param(["sh", "-c", "kill -9 $$"], "", 137, id="signal"),
        pytest.param(
            ["-N4", "-n4", "sh", "-c", "exit $FLUX_TASK_RANK"], "", 3, id="the highest of all tasks"
        ),
        pytest.param(
            ["printf", "%s|", "a  b", "it's", "$x", "ä\n", ""], "a  b|it's|$x|ä\n||", 0, id="any words"
        ),
        pytest.param(["sh", "-c", "printf no-newline"], "no-newline", 0, id="no newline at the end"),
        pytest.param(["--env=X=ä b", "printenv", "X"], "ä b\n", 0, id="environment"),
        pytest.param(["--cwd=/usr", "pwd"], "/usr\n", 0, id="directory"),
        pytest.param(
            ["printenv", "FLUX_JOB_SIZE", "FLUX_JOB_NNODES", "FLUX_TASK_RANK"], "1\n1\n0\n", 0, id="FLUX_*"
        ),
        pytest.param(["-o", "cpu-affinity=off", "echo", "{{id.dec}}-{{x}}"], None, 0, id="templates"),
    ],
)
def test_run(cluster: Any, arguments: list[str], stdout: str | None, code: int) -> None:
    done = cluster.flux("run", *arguments)
    assert done.returncode == code
    if stdout is None:
        number, _, unknown = done.stdout.strip().partition("-")
        assert (number.isdigit(), unknown) == (True, "{{x}}")
    else:
        assert done.stdout == stdout


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (
            ["nosuchcommand"],
            "task 0 (host mc-0): start failed: nosuchcommand: No such file or directory",
            127,
        ),
        (["/etc/passwd"], "start failed: /etc/passwd: Permission denied", 126),
        (
            ["--cwd=/nosuchdir", "pwd"],
            "Could not change dir to /nosuchdir: No such file or directory. Going to /tmp",
            0,
        ),
        (["--output=/nosuchdir/x", "true"], "/nosuchdir/x: No such file or directory", 1),
    ],
    ids=["not found", "not executable", "no directory", "output file"],
)
def test_messages(cluster: Any, arguments: list[str], message: str, code: int) -> None:
    done = cluster.flux("run", *arguments)
    assert message in done.stderr
    assert done.returncode == code


def test_tasks_are_children_of_their_broker(cluster: Any) -> None:
    """Each task's parent is the broker of its own rank."""
    done = cluster.flux("run", "-N4", "-n4", "sh", "-c", "echo $PPID")
    assert sorted(done.stdout.split()) == sorted(str(broker.pid) for broker in cluster.brokers.values())


def test_input(cluster: Any) -> None:
    """Standard input goes to every task, up to its end."""
    done = cluster.flux("run", "-N2", "-n2", "wc", "-c", input="ä" * 100_000)
    assert done.stdout == "200000\n200000\n"


def test_output_file(cluster: Any, tmp_path: Path) -> None:
    """--output with two nodes: one file with the output of both."""
    done = cluster.flux(
        "run", "-N2", "-n2", f"--output={tmp_path}/{{{{name}}}}.out", "sh", "-c", "echo $FLUX_TASK_RANK"
    )
    assert (done.stdout, done.returncode) == ("", 0)
    assert sorted((tmp_path / "sh.out").read_text().split()) == ["0", "1"]


def test_redirected_output_is_announced(cluster: Any, tmp_path: Path) -> None:
    """Who attaches is told where the output went, as by Flux: templates of single tasks stay."""
    done = cluster.flux("run", "-n2", "--output=a-{{name}}-{{taskid}}", "--error=b", "true", cwd=tmp_path)
    announced = "[0-1]: stdout redirected to a-true-{{taskid}}\n[0-1]: stderr redirected to b\n"
    assert (done.stderr, done.stdout, done.returncode) == (announced, "", 0)


def test_output_directory_full(cluster: Any) -> None:
    """ENOSPC on an output file fails the job with that reason."""
    done = cluster.flux("run", "--output=/dev/full", "echo", "x")
    assert "output file /dev/full: No space left on device" in done.stderr
    assert done.returncode != 0


def test_much_output_in_bounded_memory(cluster: Any) -> None:
    """100 MB in lines of 1 MB over the overlay arrive whole, and no broker grows by more than 48 MB."""
    pids = [cluster.brokers[rank].pid for rank in (0, 1)]
    before = [rss(pid) for pid in pids]
    line = "head -c 1000000 /dev/zero | tr '\\0' x; echo"
    script = f"test $FLUX_TASK_RANK = 0 || for i in $(seq 100); do {line}; done"
    done = cluster.flux("run", "-N2", "-n2", "sh", "-c", script)
    lines = done.stdout.split("\n")
    assert [len(each) for each in lines] == [1_000_000] * 100 + [0]
    assert all(now - then < 48_000 for now, then in zip([rss(pid) for pid in pids], before, strict=True))


def rss(pid: int) -> int:
    """Return the peak of a process's memory in kB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("sleep 60", id="obeys SIGTERM"),
        pytest.param("trap '' TERM; while :; do sleep 0.05; done", id="ignores SIGTERM"),
        pytest.param("trap '' TERM; setsid sleep 60 & sleep 60", id="a grandchild of its own session"),
        pytest.param("(setsid sleep 60 >&- 2>&- <&- &); sleep 60", id="a daemon"),
    ],
)
def test_cancel_leaves_nothing(cluster: Any, tmp_path: Path, script: str) -> None:
    """A cancelled job is gone to its last grandchild."""
    marker = f"X={tmp_path}"
    job = cluster.flux(
        "submit", "-N2", "-n2", f"--env={marker}", "sh", "-c", f"touch {tmp_path}/up; {script}"
    )
    job = job.stdout.strip()
    cluster.wait((tmp_path / "up").exists, "the job's start")
    cluster.flux("cancel", job)
    assert cluster.flux("job", "wait-event", "-t", "15", job, "clean").returncode == 0
    assert not having(marker)


def test_daemon_of_a_finished_job(cluster: Any, tmp_path: Path) -> None:
    """What a job left behind is ended with it."""
    marker = f"X={tmp_path}"
    done = cluster.flux("run", f"--env={marker}", "sh", "-c", "(setsid sleep 60 >&- 2>&- <&- &); exit 2")
    assert done.returncode == 2
    assert not having(marker)


def having(variable: str) -> list[int]:
    """Return the processes with this in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if variable.encode() in path.read_bytes().split(b"\0") and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_one_task_ends(cluster: Any) -> None:
    """The others are ended after exit-timeout, in Flux's words: they do not come to their own end."""
    script = "test $FLUX_TASK_RANK = 1 && exit 3; sleep 30; echo slept"
    done = cluster.flux("run", "-N2", "-n2", "-o", "exit-timeout=0.3s", "sh", "-c", script)
    assert "sh: task rank 1 on host mc-1 exited (Exit 3) and exit-timeout=0.3s has expired" in done.stderr
    assert (done.stdout, done.returncode) == ("", 3)


def test_signal(cluster: Any, tmp_path: Path) -> None:
    """`flux job kill` reaches every task."""
    script = f"trap 'exit 9' USR1; touch {tmp_path}/$FLUX_TASK_RANK; while :; do sleep 0.02; done"
    job = cluster.flux("submit", "-N2", "-n2", "sh", "-c", script).stdout.strip()
    cluster.wait(lambda: len(list(tmp_path.iterdir())) == 2, "both tasks")
    cluster.flux("job", "kill", "-s", "USR1", job)
    assert cluster.flux("job", "attach", job).returncode == 9
