"""Every command on four real brokers: what it prints and how it ends, as real Flux 0.88 does."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.embedded.commands.typed import masked, user

UNSATISFIABLE = "unsatisfiable request: need 5 exclusive node(s), only 4 eligible\n"
QUEUES = """\
 EN ST TDEFAULT   TLIMIT     NNODES     NCORES      NGPUS
  ✔  ✔      inf      inf        0-4        0-8        0-0
"""
RESOURCES = """\
     STATE NNODES NCORES NGPUS NODELIST
      free      4      8     0 mc-[0-3]
 allocated      0      0     0{0}
      down      0      0     0{0}
""".format(" ")
EXPLAINED = "flux-job: one more ctrl-C within 2s to cancel or ctrl-Z to detach\n"
OVERLAY = """\
0 mc-0: full
├─ 1 mc-1: full
├─ 2 mc-2: full
└─ 3 mc-3: full
"""
RUNS = {
    "success": (["run", "echo", "hello"], 0, "hello\n", ""),
    "exit code": (["run", "sh", "-c", "exit 7"], 7, "", "flux-job: task(s) exited with exit code 7\n"),
    "signal": (["run", "sh", "-c", "kill -9 $$"], 137, "", "flux-job: task(s) Killed\n"),
    "labels": (["run", "-l", "sh", "-c", r"printf 'abc\n\nlast'"], 0, "0: abc\n0: \n0: last", ""),
    "standard error": (["run", "sh", "-c", "echo err >&2"], 0, "", "err\n"),
    "the highest exit code": (
        ["run", "-n4", "sh", "-c", "exit $FLUX_TASK_RANK"],
        3,
        "",
        "flux-job: task(s) exited with exit code 3\n",
    ),
    "unsatisfiable": (
        ["run", "-N5", "true"],
        1,
        "",
        f"TIME: job.exception ƒID type=alloc severity=0 {UNSATISFIABLE}",
    ),
    "urgency": (["run", "--urgency=99", "true"], 1, "", "flux-run: ERROR: urgency range is [0:31]\n"),
    "jobid": (["run", "-v", "true"], 0, "", "jobid: ƒID\n"),
    "submit refused": (["submit", "--urgency=99", "true"], 1, "", "[Errno 22] urgency range is [0:31]\n"),
    "dependency": (
        ["submit", "--dependency=afterok:f123", "true"],
        1,
        "",
        "[Errno 22] dependency: afterok: id f123: job not found\n",
    ),
    "watch": (["submit", "--watch", "--quiet", "echo", "out"], 0, "out\n", ""),
    "watch failing": (["submit", "--watch", "sh", "-c", "exit 5"], 5, "ƒID\n", ""),
    "wait": (["submit", "--wait", "--cc=1-3", "sh", "-c", "exit $FLUX_JOB_CC"], 3, "ƒID\nƒID\nƒID\n", ""),
    "wait verbose": (["submit", "--wait", "-v", "false"], 1, "ƒID\n", "ƒID: TIME: failed: status=256\n"),
    "wait unsatisfiable": (
        ["submit", "--wait", "-N5", "true"],
        1,
        "ƒID\n",
        f"job.exception: type=alloc severity=0 {UNSATISFIABLE}",
    ),
    "wait for an event": (["submit", "--wait-event=start", "sleep", "60"], 0, "ƒID\n", ""),
    "attach to nothing": (
        ["job", "attach", "f1111"],
        1,
        "",
        "flux-job: Failed to attach to f1111: No such job\n",
    ),
    "wait without jobs": (["job", "wait"], 2, "", "flux-job: there are no more waitable jobs\n"),
    "no job of that id": (["job", "eventlog", "f1111"], 1, "", "flux-job: job f1111 not found\n"),
    "no info": (["job", "info", "f1111", "R"], 1, "", "flux-job: invalid job id\n"),
    "raise unknown": (["job", "raise", "f1111"], 1, "", "flux-job: raise f1111: unknown job id\n"),
    "kill unknown": (["job", "kill", "f1111"], 1, "", "flux-job: kill f1111: unknown job id\n"),
    "urgency unknown": (["job", "urgency", "f1111", "3"], 1, "", "flux-job: f1111: unknown job\n"),
    "cancel unknown": (["cancel", "f123"], 1, "", "flux-cancel: ERROR: ƒID: unknown job id\n"),
    "cancel nothing": (["cancel"], 1, "", "flux-cancel: ERROR: No target jobs were provided\n"),
    "cancel none": (["cancel", "--all"], 0, "", "flux-cancel: Matched 0 jobs\n"),
    "job unknown": (["jobs", "f1"], 1, "", "JobID ƒID unknown\n"),
    "filter": (["jobs", "-f", "bogus"], 1, "", "flux-jobs: ERROR: Invalid filter specified: bogus\n"),
    "format": (
        ["jobs", "-o", "nosuch"],
        1,
        "",
        "flux-jobs: ERROR: --format: No such format nosuch (Did you mean '{nosuch}'?)\n",
    ),
    "field": (
        ["jobs", "-o", "{nosuch}"],
        1,
        "",
        "flux-jobs: ERROR: Error in user format: Unknown format field: nosuch\n",
    ),
    "user": (["jobs", "-u", "nosuchuser"], 1, "", "flux-jobs: ERROR: Invalid user nosuchuser specified\n"),
    "rank": (["getattr", "rank"], 0, "0\n", ""),
    "attribute": (["getattr", "nosuch"], 1, "", "flux-getattr: nosuch: No such file or directory\n"),
    "queue status": (["queue", "status"], 0, "Job submission is enabled\nScheduling is started\n", ""),
    "queue stop": (["queue", "stop", "-m", "why"], 0, "Scheduling is stopped: why\n", ""),
    "queue unknown": (
        ["queue", "stop", "nosuch"],
        1,
        "",
        "flux-queue: ERROR: start: 'nosuch' is not a valid queue\n",
    ),
    "queue list": (["queue", "list"], 0, QUEUES, ""),
    "idle": (["queue", "idle"], 0, "0 jobs\n", ""),
    "resources": (["resource", "list"], 0, RESOURCES, ""),
    "resource list": (
        ["resource", "list", "-n", "-s", "free", "-o", "{state} {ncores} {rlist}"],
        0,
        "free 8 rank[0-3]/core[0-1]\n",
        "",
    ),
    "resource state": (
        ["resource", "list", "-s", "bad"],
        1,
        "",
        "flux-resource: ERROR: Invalid resource state bad specified\n",
    ),
    "resource status": (
        ["resource", "status"],
        0,
        "       STATEUP NNODES NODELIST\n       avail ✔      4 mc-[0-3]\n",
        "",
    ),
    "drain nobody": (
        ["resource", "drain", "9"],
        1,
        "",
        "flux-resource: ERROR: [Errno 22] idset is out of range\n",
    ),
    "drain nohost": (
        ["resource", "drain", "x"],
        1,
        "",
        "flux-resource: ERROR: [Errno 22] invalid targets: invalid hosts: x\n",
    ),
    "undrain": (["resource", "undrain", "1"], 1, "", "flux-resource: ERROR: rank 1 not drained\n"),
    "overlay": (["overlay", "status"], 0, OVERLAY, ""),
    "overlay summary": (["overlay", "status", "--summary"], 0, "full\n", ""),
    "overlay wait": (
        ["overlay", "status", "--wait=lost", "--timeout=0.1s"],
        1,
        "",
        "flux-overlay: Connection timed out\n",
    ),
}


@pytest.mark.parametrize(("words", "code", "out", "err"), RUNS.values(), ids=RUNS)
def test_a_command(words: list[str], code: int, out: str, err: str, cluster: Any) -> None:
    ran = cluster.flux(*words)
    assert (ran.returncode, masked(ran.stdout), masked(ran.stderr)) == (code, out, err)


def test_a_command_that_is_not_there_is_named(cluster: Any) -> None:
    ran = cluster.flux("run", "nosuchcmd")
    assert ran.returncode == 127
    assert "task 0 (host mc-0): start failed: nosuchcmd: No such file or directory" in ran.stderr


def test_uptime(cluster: Any) -> None:
    line = cluster.flux("uptime").stdout
    assert re.fullmatch(rf" \d\d:\d\d:\d\d run [\d.]+[smh],  owner {user()},  depth 0,  size 4\n", line)


def test_the_version_names_both_sides(cluster: Any) -> None:
    out = cluster.flux("version").stdout
    assert re.search(r"^commands:\s+\S+ \(minicluster, embedded\)$", out, re.MULTILINE)
    assert re.search(r"^broker:\s+0\.88\.0$", out, re.MULTILINE)


def test_commands_work_on_a_follower(cluster: Any) -> None:
    assert cluster.flux("getattr", "rank", rank=2).stdout == "2\n"
    assert cluster.flux("run", "echo", "far", rank=2).stdout == "far\n"
