"""The fence and the leave-after of followers, on both engines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.fence.broker_processes import stat_of
from minicluster.local import processes

if TYPE_CHECKING:
    from tests.fence.near_and_far import NearAndFar

FAR = 1
DAEMON = 'setsid env -i PATH="$PATH" sleep 1000 & exec sleep 1001'
"""A job that leaves a process without its session and its environment, and its own."""
TAKES_ORPHANS = (
    sys.executable,
    "-c",
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); os.execvp(sys.argv[1], sys.argv[1:])",
)
"""Words that make a program be as the first process of a container: PR_SET_CHILD_SUBREAPER (prctl(2))."""


def start_job(sides: NearAndFar) -> set[int]:
    """Start a job on the follower; return its processes once they run."""
    done = sides.flux("submit", "-N1", *sides.slot_options(), "sh", "-c", DAEMON)
    assert done.returncode == 0, done.stderr
    return sleeping(sides)


def sleeping(sides: NearAndFar) -> set[int]:
    found: dict[int, str] = {}

    def both() -> bool:
        found.clear()
        for pid in sides.of(FAR):
            words = command(pid).split(b"\0")[:-1]
            if words in ([b"sleep", b"1000"], [b"sleep", b"1001"]):
                found[pid] = words[1].decode()
        return sorted(found.values()) == ["1000", "1001"]

    sides.until(both, "both processes of the job")
    return set(found)


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""  # it has ended


def alive(pids: set[int]) -> set[int]:
    return {pid for pid in pids if processes.start_time(pid)}


def joined(sides: NearAndFar, **variables: str) -> None:
    sides.start(0)
    sides.start(FAR, **variables)
    sides.await_online(2)


def test_jobs_end_on_a_follower_whose_link_is_silent(sides: NearAndFar) -> None:
    """What its kernel acknowledges is no answer: after the limit nothing of its jobs runs."""
    joined(sides, MINICLUSTER_FENCE="3")
    job, broker = start_job(sides), sides.broker(FAR)
    sides.link.stop()
    sides.until(lambda: not alive({*job, broker}), "the end of the job's processes")
    sides.until(lambda: "no answer of the lead for 3 s" in sides.output(FAR), "the reason")
    sides.link.resume()
    sides.await_online(2)
    assert sides.broker(FAR) != broker


def test_nothing_happens_where_the_link_is_back_in_time(sides: NearAndFar) -> None:
    joined(sides, MINICLUSTER_FENCE="12")
    job, broker = start_job(sides), sides.broker(FAR)
    sides.link.stop()
    before = (sides.run(FAR) / "answered").read_text()
    sides.until(lambda: unanswered(sides) > 3.0, "three seconds without an answer")
    sides.link.resume()
    sides.until(lambda: unanswered(sides) < 3.0, "an answer")
    assert (sides.run(FAR) / "answered").read_text() != before
    assert alive(job) == job
    assert sides.broker(FAR) == broker
    assert "fence" not in sides.output(FAR)


def unanswered(sides: NearAndFar) -> float:
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return uptime - int((sides.run(FAR) / "answered").read_text()) / 100


def test_jobs_end_and_the_follower_leaves_after_its_lead_was_killed(sides: NearAndFar) -> None:
    joined(sides, MINICLUSTER_FENCE="2", MINICLUSTER_LEAVE_AFTER="6")
    job = start_job(sides)
    os.killpg(sides.processes[0].pid, signal.SIGKILL)
    sides.until(lambda: not alive(job), "the end of the job's processes")
    assert sides.processes[FAR].wait(60) == 0
    assert "no lead for 6 s: this follower leaves for good" in sides.output(FAR)
    os.kill(sides.processes[0].pid, 0)  # not waited for yet: its id is nobody else's
    assert sides.left() == {}


def test_a_follower_that_never_had_a_lead_leaves(sides: NearAndFar) -> None:
    """Its broker is not killed before: nothing can run there."""
    end = sides.run(FAR).with_name("end")
    limits = {"MINICLUSTER_FENCE": "1", "MINICLUSTER_LEAVE_AFTER": "3"}
    sides.start(FAR, **limits, MINICLUSTER_TERMINATION_LOG=str(end))
    assert sides.processes[FAR].wait(60) == 0
    assert json.loads(end.read_text())["error"].startswith("no lead has answered in 3 s: ")
    assert "for 1 s" not in sides.output(FAR)
    assert "no lead for 3 s" in sides.output(FAR)
    assert sides.left() == {}


def test_a_killed_broker_leaves_nothing_of_its_jobs(sides: NearAndFar) -> None:
    """What had left its parents is known as well, as the fence has seen it before."""
    joined(sides, MINICLUSTER_FENCE="6")
    job, broker = start_job(sides), sides.broker(FAR)
    for _ in range(2):
        before = (sides.run(FAR) / "answered").read_text()
        sides.until(lambda before=before: (sides.run(FAR) / "answered").read_text() != before, "an answer")
    os.kill(broker, signal.SIGKILL)
    sides.until(lambda: not alive(job), "the end of the job's processes")
    sides.until(lambda: sides.output(FAR).count("it is started again in") == 1, "the next start")


def test_what_no_fence_has_seen_ends_where_the_script_gets_orphans(sides: NearAndFar) -> None:
    """The fence is stopped while a job begins, and until its broker and its task have ended."""
    joined_in_a_container(sides)
    watcher = fence(sides)
    os.kill(watcher, signal.SIGSTOP)
    orphan = leave_orphan(sides)
    os.kill(watcher, signal.SIGCONT)
    sides.until(lambda: not alive({orphan}), "the end of what the job has left")
    sides.until(lambda: sides.output(FAR).count("it is started again in") == 1, "the next start")


def test_orphans_from_before_a_second_fence_end_as_well(sides: NearAndFar) -> None:
    """Those that the script has got while there was none."""
    joined_in_a_container(sides)
    watcher = fence(sides)
    stat = stat_of(watcher)
    assert stat is not None
    os.kill(stat.parent, signal.SIGSTOP)  # it starts the fence again
    os.kill(watcher, signal.SIGKILL)
    orphan = leave_orphan(sides)
    os.kill(stat.parent, signal.SIGCONT)
    sides.until(lambda: not alive({orphan}), "the end of what the job has left")
    sides.until(lambda: sides.output(FAR).count("it is started again in") == 1, "the next start")


def joined_in_a_container(sides: NearAndFar) -> None:
    sides.start(0)
    sides.start(FAR, *TAKES_ORPHANS, MINICLUSTER_FENCE="60")
    sides.await_online(2)


def leave_orphan(sides: NearAndFar) -> int:
    """Start a job, kill its broker and its task; return what the task has left, which the script then has."""
    stats = {pid: stat for pid in start_job(sides) if (stat := stat_of(pid))}
    [orphan] = [pid for pid, stat in stats.items() if stat.parent in stats]
    for pid in (sides.broker(FAR), stats[orphan].parent):
        os.kill(pid, signal.SIGKILL)

    def is_adopted() -> bool:
        stat = stat_of(orphan)
        return stat is not None and stat.parent == sides.processes[FAR].pid

    sides.until(is_adopted, "an orphan")
    return orphan


def test_orphans_in_a_container_end_as_well(sides: NearAndFar) -> None:
    """Its first process is the start script, which gets them: nobody has to have seen them before."""
    container = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    if subprocess.run([*container, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this user may not make a PID namespace")
    sides.start(0)
    sides.start(FAR, *container, MINICLUSTER_FENCE="60")
    sides.await_online(2)
    job = start_job(sides)
    os.kill(sides.broker(FAR), signal.SIGKILL)
    sides.until(lambda: not alive(job), "the end of the job's processes")
    sides.until(lambda: sides.output(FAR).count("it is started again in") == 1, "the next start")


def test_a_fence_that_was_killed_is_started_again_and_fences(sides: NearAndFar) -> None:
    joined(sides, MINICLUSTER_FENCE="3")
    job, watcher = start_job(sides), fence(sides)
    os.kill(watcher, signal.SIGKILL)
    sides.until(lambda: "the fence failed; it is started again" in sides.output(FAR), "the message")
    sides.until(lambda: fence(sides) not in (0, watcher), "another fence")
    assert alive(job) == job
    sides.link.stop()
    sides.until(lambda: not alive(job), "the end of the job's processes")


def fence(sides: NearAndFar) -> int:
    """The process id of the watcher, 0 while there is none."""
    for pid in sides.of(FAR):
        words = command(pid)
        if b"python" in words and (b"minicluster.fence" in words or b"\0minicluster-fence\0" in words):
            return pid
    return 0


def test_a_follower_without_a_fence_runs_no_broker(sides: NearAndFar) -> None:
    """Its zip is broken, or its program does not start."""
    (sides.directory / "config" / "flux_modules.zip").write_bytes(b"")
    broken = sides.directory / "broken"
    broken.mkdir()
    (broken / "flux").write_text(
        f"#!/bin/sh\n# {'minicluster.embedded' if sides.engine == 'embedded' else 'FLUX_EXEC_PATH'}\n"
        f'[ "$1" != minicluster-fence ] || exit 1\nexec {sides.programs}/flux "$@"\n'
    )
    (broken / "flux").chmod(0o755)
    sides.start(FAR, MINICLUSTER_FENCE="3", PATH=f"{broken}:{os.environ['PATH']}")
    assert sides.processes[FAR].wait(60) == 75
    assert "the fence cannot be started, see above" in sides.output(FAR)
    assert not (sides.run(FAR) / "broker").exists()
    assert sides.left() == {}


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "30s"])
def test_a_limit_that_is_no_number_of_seconds_is_refused(sides: NearAndFar, value: str) -> None:
    sides.start(FAR, MINICLUSTER_FENCE=value)
    assert sides.processes[FAR].wait(60) == 75
    message = f"MINICLUSTER_FENCE={value}: a whole number of seconds, 1 or more, is right"
    assert message in sides.output(FAR)
