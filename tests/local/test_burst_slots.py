"""Hosts that are declared for bursts and never come: what they change for ordinary jobs, and what not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from local_machine import Machine, document, eventually

if TYPE_CHECKING:
    from pathlib import Path

SPEC = {
    "interactive": True,
    "drainTimeoutSeconds": 2,
    "flux": {
        "bursting": {"clusters": [{"name": "burst-0", "size": 2, "cores": 3}]},
        "brokerConfig": "[queues.debug]\n",
    },
}
STARTED = {"default": True, "burst": False, "burst-0": False, "debug": True}


@pytest.fixture
def up(machine: Machine, tmp_path: Path) -> Machine:
    """A cluster of two brokers with one core each, and a slot of two hosts."""
    done = machine.up(document(tmp_path, spec=SPEC, resources={"limits": {"cpu": "1"}}))
    assert done.returncode == 0, done.stderr
    return machine


def flux(machine: Machine, *words: str) -> str:
    return machine.good("shell", "mc", "--", "flux", *words).stdout


def started(machine: Machine) -> dict[str, bool]:
    """Which queues start jobs."""
    rows = flux(machine, "queue", "list", "-n", "-o", "{queue} {started}").splitlines()
    return {name: state in {"y", "✔"} for name, state in map(str.split, rows)}


def test_ordinary_jobs_do_not_wait_for_those_of_bursts(up: Machine) -> None:
    """Older jobs wait in the waiting room and for the slot, and none runs there."""
    assert started(up) == STARTED
    wait = [flux(up, "submit", "-N1", f"--queue={name}", "true").strip() for name in ("burst", "burst-0")]
    for queue in ("default", "debug"):
        hosts = flux(up, "run", "-N2", f"--queue={queue}", "printenv", "FLUX_TASK_RANK")
        assert sorted(hosts.split()) == ["0", "1"]
    ran = flux(up, "jobs", "-a", "--filter=completed", "-n", "-o", "{queue} {nodelist}").splitlines()
    assert sorted(ran) == ["debug mc-[0-1]", "default mc-[0-1]"]
    rows = {row["id"]: row["state"] for row in up.rows("jobs", "mc")}
    assert rows == dict.fromkeys(wait, "SCHED")


def test_ordinary_jobs_fit_on_local_nodes_or_not_at_all(up: Machine) -> None:
    """Four hosts are declared."""
    done = up.call("shell", "mc", "--", "flux", "run", "-N3", "true")
    assert done.returncode != 0
    assert "unsatisfiable" in done.stderr


def test_nodes_of_slots_are_shown_as_down(up: Machine) -> None:
    """With their own number of cores, and their properties."""
    shown = flux(up, "resource", "list", "-s", "all", "-n", "-o", "{nnodes} {ncores} {properties} {nodelist}")
    assert sorted(map(str.split, shown.splitlines())) == [
        ["2", "2", "local", "mc-[0-1]"],
        ["2", "6", "burst,burst-0", "burst-0-[0-1]"],
    ]
    assert flux(up, "resource", "list", "-s", "down", "-n", "-o", "{nodelist}") == "burst-0-[0-1]\n"


def test_what_waits_for_a_burst_is_saved_and_restored(up: Machine, tmp_path: Path) -> None:
    """Ordinary jobs start at once, the slot's queue is stopped, whoever started it before."""
    wait = [flux(up, "submit", "-N1", f"--queue={name}", "true").strip() for name in ("burst", "burst-0")]
    flux(up, "queue", "start", "burst-0")
    dump = tmp_path / "x.dump"
    up.good("down", "mc", "--dump", dump)
    done = up.up(tmp_path / "mc.yaml", "--restore", str(dump))
    assert done.returncode == 0, done.stderr
    assert started(up) == STARTED
    rows = {row["id"]: row["state"] for row in up.rows("jobs", "mc")}
    assert rows == dict.fromkeys(wait, "SCHED")
    assert flux(up, "run", "-N2", "echo", "here").split() == ["here", "here"]


def test_a_dump_that_fails_starts_what_was_started(up: Machine, tmp_path: Path) -> None:
    """Neither the queues of bursts, nor one that somebody had stopped."""
    flux(up, "queue", "stop", "debug")
    (tmp_path / "folder").mkdir()
    done = up.call("down", "mc", "--dump", tmp_path / "folder")
    assert done.returncode != 0, done.stderr
    assert "nothing was ended" in done.stderr
    assert started(up) == {**STARTED, "debug": False}


def test_the_queue_of_a_lost_slot_is_closed_without_a_service(machine: Machine, tmp_path: Path) -> None:
    """Under strict order a job that waits there holds up all behind it."""
    done = machine.up(document(tmp_path, spec={**SPEC, "bursting": {}}, resources={"limits": {"cpu": "1"}}))
    assert done.returncode == 0, done.stderr
    flux(machine, "queue", "start", "burst-0")
    eventually(lambda: not started(machine)["burst-0"], "the queue of the slot to be closed")
    reason = "none of its nodes is there: it is started again once they are back and have been tried"
    assert reason in flux(machine, "queue", "status", "burst-0")
