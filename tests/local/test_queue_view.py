"""`status` and `top`: what a queue demands, and what waits there and why."""

from __future__ import annotations

import json
import signal
import time
from typing import TYPE_CHECKING

import pytest
from local_machine import Machine, document, eventually

if TYPE_CHECKING:
    from pathlib import Path

SPEC = {"maxSize": 4, "minSize": 2, "interactive": True}


@pytest.fixture
def up(machine: Machine, tmp_path: Path) -> Machine:
    """A cluster of two brokers with one core each, called mc."""
    done = machine.up(document(tmp_path, spec=SPEC, resources={"limits": {"cpu": "1"}}))
    assert done.returncode == 0, done.stderr
    return machine


def submit(up: Machine, *words: str) -> str:
    return up.good("submit", "mc", *words).stdout.strip()


def test_what_waits_is_shown_with_what_is_demanded(up: Machine) -> None:
    """Of jobs that could run, that are held, that depend on others."""
    assert up.rows("top", "mc", "--once")[0]["nodes_demanded"] == 2  # its least size
    for _ in range(2):
        submit(up, "-N", "1", "--", "sleep", "600")
    waits = submit(up, "-N", "1", "--", "sleep", "600")
    pending = submit(up, "--urgency", "0", "--", "sleep", "600")
    depends = submit(up, "--dependency", f"afterok:{waits}", "--", "true")
    (seen,) = up.rows("status", "mc")
    assert (seen["nodes_demanded"], seen["jobs_running"], seen["jobs_pending"]) == (3, 2, 3)
    why = {each["id"]: each["why"] for each in seen["waiting"]}
    assert why.keys() == {waits, pending, depends}
    assert why[waits] == "waits for resources: 0 of 2 cores on 2 nodes are free"
    assert why[pending] == "held: its urgency is 0"
    assert why[depends].startswith("depends on ")
    up.good("shell", "mc", "--", "flux", "queue", "stop", "--all")
    assert "is stopped" in up.rows("status", "mc")[0]["waiting"][0]["why"]


def test_people_are_shown_the_same(embedded: Machine, tmp_path: Path) -> None:
    """As lines, and a table of what waits, of which the rest is counted."""
    up = embedded
    up.up(document(tmp_path, spec=SPEC, resources={"limits": {"cpu": "1"}}))
    submit(up, "-n", "2", "--", "sleep", "600")
    up.good(
        "shell", "mc", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do flux submit sleep 600; done"
    )
    for shown in (up.good("top", "mc", "--once").stdout, up.good("status", "mc").stdout):
        lines = [" ".join(line.split()) for line in shown.splitlines()]
        assert {"nodes demanded: 4", "jobs pending: 12", "waiting:"} <= set(lines)
        assert lines[-1] == "and 2 more"
        assert sum(line.endswith("cores on 2 nodes are free") for line in lines) == 10


def test_top_goes_on_until_it_is_interrupted(embedded: Machine, tmp_path: Path) -> None:
    """A line of JSON a look, which shows what has happened in between. Ctrl-C is how it is ended."""
    up = embedded
    up.up(document(tmp_path, spec=SPEC, resources={"limits": {"cpu": "1"}}))
    top = up.start("top", "mc", "--output", "json", "--interval", "0.2")
    try:
        assert top.stdout is not None
        samples = (json.loads(line) for line in top.stdout)
        assert next(samples)["jobs_running"] == 0
        submit(up, "--", "sleep", "600")
        assert eventually(lambda: next(samples)["jobs_running"] == 1, "the job to be seen")
        top.send_signal(signal.SIGINT)
        assert (top.wait(30), top.communicate()[1]) == (0, "")
    finally:
        top.kill()
        top.communicate()


def test_top_of_what_is_not_up_reports_it(embedded: Machine) -> None:
    done = embedded.call("top", "mc", "--once")
    assert (done.returncode, done.stderr) == (
        1,
        "minicluster: cluster mc: is not up; `minicluster list` shows the ones that are\n",
    )


def test_what_a_waiting_job_lacks_is_named(embedded: Machine, tmp_path: Path) -> None:
    """Nodes that are not up, a job before it, nodes that are drained, a time."""
    up = embedded
    up.up(document(tmp_path, spec=SPEC, resources={"limits": {"cpu": "1"}}))
    large = submit(up, "-N", "4", "--", "true")
    small = submit(up, "--", "true")
    later = submit(up, "--dependency", f"begin-time:{2**31}", "--", "true")
    info = {row["id"]: row["info"] for row in up.rows("jobs", "mc")}
    assert info == {
        large: "needs 4 nodes, 2 are up; up to 4 with `minicluster scale`",
        small: f"behind {large}, though 2 of 2 cores on 2 nodes are free",
        later: f"begins at {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(2**31))}",
    }
    up.good("shell", "mc", "--", "flux", "resource", "drain", "1", "broken fan")
    info = {row["id"]: row["info"] for row in up.rows("jobs", "mc")}
    assert info[large] == "needs 4 nodes, 1 is up; 1 node is drained"
    assert info[small] == f"behind {large}, though 1 of 1 cores on 1 node are free; 1 node is drained"


def test_the_lead_is_full_where_all_of_the_size_are_there(embedded: Machine, tmp_path: Path) -> None:
    """Brokers above the size are offline, which is as it should be."""
    embedded.up(document(tmp_path, spec=SPEC))
    (status,) = embedded.rows("status", "mc")
    assert [each["state"] for each in status["brokers"]] == ["full", "full", "offline", "offline"]
