"""What commands on four real brokers tell of jobs: lists, events, jobspecs, and how they end."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from tests.embedded.commands.typed import HEAD, submitted, user


def test_waitable_jobs(cluster: Any) -> None:
    numbers = [submitted(cluster, "--flags=waitable", "sh", "-c", f"exit {code}") for code in (3, 0)]
    ran = cluster.flux("job", "wait", "--all")
    assert (ran.returncode, ran.stderr) == (1, f"{numbers[0]}: task(s) exited with exit code 3\n")


def test_waiting_for_one_job(cluster: Any) -> None:
    ran = cluster.flux("job", "wait", submitted(cluster, "--flags=waitable", "false"))
    assert (ran.returncode, ran.stderr) == (1, "flux-job: task(s) exited with exit code 1\n")


def test_the_default_listing(cluster: Any) -> None:
    pending = submitted(cluster, "--urgency=0", "--job-name=averylongname", "true")
    running = submitted(cluster, "--wait-event=start", "-N1", "-t", "1h", "sleep", "60")
    dependent = submitted(cluster, f"--dependency=afterok:{running}", "true")
    head, *lines = re.sub(r" \d\.\d{3}s", "   TIME", cluster.flux("jobs").stdout).splitlines()
    assert head == HEAD
    assert set(lines) == {
        f"{dependent:>12} {user():<8} true        D      1      -        - depends:after-success={running}",
        f"{pending:>12} {user():<8} averylong+  S      1      -        - held",
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
