"""Every command on four real brokers: what it prints and how it ends, as real Flux 0.88 does."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DEADLINE = 20.0


@pytest.fixture(autouse=True)
def tidy(cluster: Any) -> Iterator[None]:
    """Each test leaves no active job, no drained node and started queues."""
    yield
    cluster.flux("cancel", "--all", "--quiet")
    cluster.flux("resource", "undrain", "-f", "0-3")
    cluster.flux("queue", "start", "--all", "--quiet")
    assert cluster.flux("queue", "drain", "-t", "10s").returncode == 0


def submitted(cluster: Any, *words: str) -> str:
    """Submit a job and return its id."""
    ran = cluster.flux("submit", *words)
    assert ran.stdout.startswith("ƒ"), ran.stderr
    return str(ran.stdout.strip())


def user() -> str:
    import pwd  # noqa: PLC0415

    return pwd.getpwuid(os.getuid()).pw_name


def masked(text: str) -> str:
    """Ids, times and durations replaced, so that outputs can be compared."""
    text = re.sub(r"ƒ[1-9A-HJ-NP-Za-km-z]+", "ƒID", text)
    text = re.sub(r"\b\d{10}\.\d+", "STAMP", text)
    return re.sub(r"\b\d+\.\d{3}s", "TIME", text)


HEAD = "       JOBID USER     NAME       ST NTASKS NNODES     TIME INFO"
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


def test_waitable_jobs(cluster: Any) -> None:
    numbers = [submitted(cluster, "--flags=waitable", "sh", "-c", f"exit {code}") for code in (3, 0)]
    ran = cluster.flux("job", "wait", "--all")
    assert (ran.returncode, ran.stderr) == (1, f"{numbers[0]}: task(s) exited with exit code 3\n")


def test_waiting_for_one_job(cluster: Any) -> None:
    ran = cluster.flux("job", "wait", submitted(cluster, "--flags=waitable", "false"))
    assert (ran.returncode, ran.stderr) == (1, "flux-job: task(s) exited with exit code 1\n")


def test_the_default_listing(cluster: Any) -> None:
    held = submitted(cluster, "--urgency=0", "--job-name=averylongname", "true")
    running = submitted(cluster, "--wait-event=start", "-N1", "-t", "1h", "sleep", "60")
    dependent = submitted(cluster, f"--dependency=afterok:{running}", "true")
    head, *lines = re.sub(r" \d\.\d{3}s", "   TIME", cluster.flux("jobs").stdout).splitlines()
    assert head == HEAD
    assert set(lines) == {
        f"{dependent:>12} {user():<8} true        D      1      -        - depends:after-success={running}",
        f"{held:>12} {user():<8} averylong+  S      1      -        - held",
        f"{running:>12} {user():<8} sleep       R      1      1     TIME mc-0",
    }


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("{id.dec} {id} {id.f58}", r"\d+ (ƒ\w+) \1"),
        ("{status} {status_abbrev} {state} {state_single} {result}", "FAILED F INACTIVE I FAILED"),
        ("{returncode} {waitstatus} {success}", "3 768 False"),
        ("{ntasks} {ncores} {nnodes} {ranks} {nodelist} {urgency} {priority}", "2 2 1 0 mc-0 16 16"),
        ("{name} {duration} {cwd}", r"sh 3600\.0 /.*"),
        ("{runtime!F:h} {t_remaining!F:h} {t_run!d:%Y-%m-%d::h}", r"0\.\d+s - \d{4}-\d\d-\d\d"),
    ],
)
def test_the_fields_of_a_job(form: str, line: str, cluster: Any) -> None:
    number = submitted(cluster, "--wait-event=clean", "-n2", "-t", "1h", "sh", "-c", "exit 3")
    assert re.fullmatch(line + "\n", cluster.flux("jobs", "-n", "-o", form, number).stdout)


def test_filters(cluster: Any) -> None:
    failed = submitted(cluster, "--wait-event=clean", "false")
    listed = cluster.flux("jobs", "-n", "-f", "failed", "-o", "{id.f58}").stdout.split()
    assert failed in listed


def test_one_job_as_json(cluster: Any) -> None:
    number = submitted(cluster, "--wait-event=clean", "false")
    job = json.loads(cluster.flux("jobs", "--json", number).stdout)
    picked = {
        key: job[key] for key in ("jobid", "name", "state", "result", "returncode", "exception", "success")
    }
    assert picked == {
        "jobid": number,
        "name": "false",
        "state": "INACTIVE",
        "result": "FAILED",
        "returncode": 1,
        "exception": {"occurred": False},
        "success": False,
    }


def test_eventlogs_in_every_time_format(cluster: Any) -> None:
    number = submitted(cluster, "--wait-event=clean", "true")
    raw, offset, lines = (
        cluster.flux("job", "eventlog", *words, number).stdout.splitlines()
        for words in ([], ["-T", "offset"], ["-f", "json"])
    )
    assert re.fullmatch(rf"\d+\.\d{{6}} submit userid={os.getuid()} urgency=16 flags=0 version=1", raw[0])
    assert offset[0].startswith("0.000000 submit")
    assert json.loads(lines[-1])["name"] == "clean"


def test_waiting_for_events(cluster: Any) -> None:
    number = submitted(cluster, "sh", "-c", "exit 4")
    wait = ("job", "wait-event")
    assert cluster.flux(*wait, "-m", "status=1024", number, "finish").stdout.endswith("finish status=1024\n")
    never = cluster.flux(*wait, number, "nope")
    assert (never.returncode, never.stderr) == (1, "flux-job: event 'nope' never received\n")


def test_waiting_for_an_event_has_a_limit(cluster: Any) -> None:
    number = submitted(cluster, "--urgency=0", "true")
    ran = cluster.flux("job", "wait-event", "-t", "0.1s", number, "start")
    assert (ran.returncode, ran.stderr) == (1, "flux-job: wait-event timeout on event 'start'\n")


def test_jobspec_and_resources_of_a_job(cluster: Any) -> None:
    number = submitted(cluster, "--wait-event=clean", "-N2", "hostname")
    spec = json.loads(cluster.flux("job", "info", number, "jobspec").stdout)
    resources = json.loads(cluster.flux("job", "info", number, "R").stdout)
    assert spec["tasks"][0]["command"] == ["hostname"]
    assert resources["execution"]["nodelist"] == ["mc-[0-1]"]
    ran = cluster.flux("job", "info", number, "nosuch")
    assert (ran.returncode, ran.stderr) == (1, "flux-job: nosuch: key not found\n")


def test_steering_an_inactive_job_is_refused(cluster: Any) -> None:
    number = submitted(cluster, "--wait-event=clean", "true")
    texts = [
        cluster.flux("job", *words).stderr
        for words in (["raise", number], ["kill", number], ["urgency", number, "3"])
    ]
    assert texts == [
        f"flux-job: raise {number}: job is inactive\n",
        f"flux-job: kill {number}: job is inactive\n",
        f"flux-job: {number}: job is inactive\n",
    ]


def test_urgency_releases_a_held_job(cluster: Any) -> None:
    number = submitted(cluster, "--urgency=hold", "true")
    ran = cluster.flux("job", "urgency", "-v", number, "default")
    assert ran.stderr == "old urgency: job held\n"
    assert cluster.flux("job", "attach", number).returncode == 0


def test_cancelling_what_matches(cluster: Any) -> None:
    for _ in range(2):
        submitted(cluster, "--urgency=0", "true")
    assert cluster.flux("cancel", "--all", "-n").stderr == "flux-cancel: Would cancel 2 jobs\n"
    assert cluster.flux("cancel", "--all").stderr == "flux-cancel: Canceled 2 jobs (0 errors)\n"


def test_queue_waits_have_limits(cluster: Any) -> None:
    submitted(cluster, "--wait-event=start", "sleep", "60")
    for name in ("idle", "drain"):
        ran = cluster.flux("queue", name, "-t", "0.1s")
        assert (ran.returncode, ran.stderr) == (1, f"flux-queue: ERROR: {name}: timeout\n")


def test_a_stopped_queue_starts_nothing(cluster: Any) -> None:
    cluster.flux("queue", "stop")
    submitted(cluster, "true")
    assert cluster.flux("queue", "idle").stdout == "1 jobs\n"
    assert "  scheduler stopped" in cluster.flux("uptime").stdout


def test_drained_nodes(cluster: Any) -> None:
    assert cluster.flux("resource", "drain", "1,3", "two", "words").returncode == 0
    again = cluster.flux("resource", "drain", "1", "other")
    assert again.stderr == (
        "flux-resource: ERROR: [Errno 17] rank 1 already drained\n"
        "flux-resource: INFO: Use --force to overwrite existing drain reason\n"
    )
    listed = cluster.flux("resource", "drain").stdout.splitlines()
    assert listed[0] == "TIME         STATE    REASON                         NODELIST"
    assert listed[1][13:] == "drained  two words                      mc-[1,3]"
    form = "{state:>12}{up:>2} {nnodes:>6} +:{reason:<30.30} {nodelist}"
    long = cluster.flux("resource", "status", "-o", form).stdout.splitlines()
    assert long[-1] == "     drained ✔      2 two words                      mc-[1,3]"
    assert ",  2 drained\n" in cluster.flux("uptime").stdout
    assert "      down      2      4     0 mc-[1,3]\n" in cluster.flux("resource", "list").stdout


def test_uptime(cluster: Any) -> None:
    line = cluster.flux("uptime").stdout
    assert re.fullmatch(rf" \d\d:\d\d:\d\d run [\d.]+[smh],  owner {user()},  depth 0,  size 4\n", line)


def test_a_batch_script_runs_in_its_own_instance(cluster: Any, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(
        "#!/bin/sh\n# flux: -N2\nflux getattr size\nflux run -N2 -l sh -c 'echo in $FLUX_JOB_NNODES'\n"
    )
    number = cluster.flux("batch", str(script), cwd=tmp_path).stdout.strip()
    assert cluster.flux("job", "attach", number).returncode == 0
    lines = (tmp_path / f"flux-{number}.out").read_text().splitlines()
    assert (lines[0], sorted(lines[1:])) == ("2", ["0: in 2", "1: in 2"])


def test_a_batch_job_ends_with_its_scripts_code(cluster: Any) -> None:
    number = cluster.flux("batch", "-n1", "--output=none", "--wrap", "sh", "-c", "exit 9").stdout.strip()
    assert cluster.flux("job", "attach", number).returncode == 9


def test_alloc_runs_a_command_in_a_sub_instance(cluster: Any) -> None:
    ran = cluster.flux("alloc", "-N1", "flux", "getattr", "instance-level")
    assert (ran.returncode, ran.stdout) == (0, "1\n")


def test_dump_writes_a_file(cluster: Any, tmp_path: Path) -> None:
    ran = cluster.flux("dump", "d.tar", cwd=tmp_path)
    assert (ran.returncode, (tmp_path / "d.tar").stat().st_size > 0) == (0, True)
    assert re.fullmatch(r"flux-dump: archived \d+ jobs\n", ran.stderr)


def test_the_version_names_both_sides(cluster: Any) -> None:
    out = cluster.flux("version").stdout
    assert re.search(r"^commands:\s+\S+ \(minicluster, embedded\)$", out, re.MULTILINE)
    assert re.search(r"^broker:\s+0\.88\.0$", out, re.MULTILINE)


def test_commands_work_on_a_follower(cluster: Any) -> None:
    assert cluster.flux("getattr", "rank", rank=2).stdout == "2\n"
    assert cluster.flux("run", "echo", "far", rank=2).stdout == "far\n"


def test_shutdown_ends_the_instance_and_saves_its_jobs(make_instance: Any) -> None:
    instance = make_instance(2).up()
    submitted(instance, "--urgency=0", "true")
    ran = instance.flux("shutdown", "--dump=saved.tar")
    assert (ran.returncode, instance.code(0)) == (0, 0)
    assert "flux-shutdown: shutdown will dump KVS to saved.tar (this may take some time)\n" in ran.stderr
    assert (instance.directory / "saved.tar").stat().st_size > 0
