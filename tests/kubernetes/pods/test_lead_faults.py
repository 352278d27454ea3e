"""What becomes of jobs when the lead is lost: with a volume for its state all are known, else it is said."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from minicluster.plan.status.lead_loss import NOTE
from tests.devcluster import ControlPlane, node_images, until
from tests.kubernetes import operators
from tests.kubernetes.ledger import Ledger
from tests.kubernetes.live import SECONDS, Live

pytestmark = pytest.mark.timeout(600)
SMALL = {"emptyDir": True, "emptyDirMedium": "Memory", "emptyDirSizeLimit": "8Mi", "path": "/run/minicluster"}


@pytest.fixture
def ledger(live: Live, nodes: ControlPlane, tmp_path: Path) -> Ledger:
    """A MiniCluster whose lead keeps its state in a volume, and a ledger."""
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(0o777)
    flux = {"container": {"disable": True}, "stateVolume": {"hostPath": str(state)}}
    return Ledger.created(live, nodes, tmp_path / "ledger", flux=flux)


def lost(live: Live) -> list[str]:
    """Return what Events say of a lead that was lost."""
    events = operators.events(live.api, live.namespace)
    return [note for type_, reason, note in events if (type_, reason) == ("Warning", "LeadLost")]


def test_a_lead_whose_pod_is_deleted_comes_back_with_its_queue(ledger: Ledger, live: Live) -> None:
    """Jobs that wait are kept; those that run end with the instance. Followers keep their pods."""
    ledger.begin(0)
    running = set(ledger.running().values())
    uids = {rank: pod["metadata"]["uid"] for rank, pod in live.pods.by_rank().items()}
    live.pods.delete(0)
    live.until(Running=("False", "LeadLost"))
    live.pods.replaced(0, uids[0])
    live.joined(2)
    failed = ledger.balance()
    assert set(failed) == running
    assert ledger.never_ended(failed)
    assert live.pods.by_rank()[1]["metadata"]["uid"] == uids[1]
    assert live.message("Running") == "the instance is up and waits for work"


def test_a_lead_that_is_killed_comes_back_with_its_queue(
    ledger: Ledger, live: Live, nodes: ControlPlane, engine: str
) -> None:
    """Without a word, as when memory runs out; the jobs that ran are over."""
    ledger.begin(0)
    if engine == node_images.REAL:  # which forgets what it accepted after its last checkpoint
        checkpoint = ("flux", "kvs", "put", "--sync", "checkpoint=now")
        done = ledger.minicluster.process("shell", "mc", "--", *checkpoint)
        assert done.returncode == 0, done.stderr
    running = set(ledger.running().values())
    uid = live.pods.by_rank()[0]["metadata"]["uid"]
    for pid in live.pods.processes(nodes, 0):
        os.kill(pid, signal.SIGKILL)
    live.pods.replaced(0, uid)
    live.joined(2)
    failed = ledger.balance()
    assert set(failed) == running
    assert ledger.never_ended(failed)


def test_without_a_volume_the_status_reports_what_was_lost(
    live: Live, nodes: ControlPlane, tmp_path: Path
) -> None:
    """And an Event. What comes back is another instance, which works."""
    ledger = Ledger.created(live, nodes, tmp_path / "ledger")
    ledger.begin(0)
    uid = live.pods.by_rank()[0]["metadata"]["uid"]
    live.pods.delete(0)
    live.until(Running=("False", "LeadLost"))
    words = (
        "its queue and its jobs are lost (spec.flux.stateVolume would keep them); another one takes new work"
    )
    assert words in live.message("Running")
    live.pods.replaced(0, uid)
    live.joined(2)
    assert live.message("Running") == f"the instance is up and waits for work; {NOTE}"
    assert [words in note for note in lost(live)] == [True]
    assert ledger.listed() == []
    ledger.release()
    assert not any(ledger.written())
    ledger.ids.clear()
    ledger.submit([0.2, 0.2])
    assert ledger.balance() == {}


@pytest.fixture
def cramped(live: Live, nodes: ControlPlane, tmp_path: Path) -> Ledger:
    """A MiniCluster with jobs whose brokers have a small disk for all that they write; the lead's is full."""
    ledger = Ledger.of(live, nodes, tmp_path / "ledger")
    container: dict[str, Any] = ledger.container()
    container["volumes"]["run"] = SMALL
    live.create(container, interactive=True).joined(2)
    ledger.begin(0)
    ledger.minicluster.process("shell", "mc", "--", "dd", "if=/dev/zero", "of=/run/minicluster/full", "bs=4k")
    return ledger


def make_room(ledger: Ledger) -> None:
    """End what `cramped` has begun."""
    assert ledger.minicluster.process("shell", "mc", "--", "rm", "/run/minicluster/full").returncode == 0


def test_a_lead_whose_disk_is_full_accepts_and_starts_nothing(
    cramped: Ledger, live: Live, engine: str
) -> None:
    """What it could not keep; what waited goes on when there is room."""
    if engine == node_images.REAL:
        pytest.skip("real Flux goes on, and keeps in memory what it cannot write")
    running = set(cramped.running().values())
    refused = cramped.minicluster("submit", "mc", "--", "true")
    assert (refused.returncode, "disk is full" in refused.stderr) == (1, True), refused.stderr
    cramped.release()
    until(lambda: len(cramped.written()) >= len(running), "the jobs that ran to end", SECONDS)
    until(lambda: "no job starts until it can" in live.pods.log(0), "that to be said", SECONDS)
    until(lambda: "disk is full" in live.message("Running"), "the status to say why", SECONDS)
    waiting = {row["id"] for row in cramped.listed("SCHED")}
    # One a broker may have been decided to be next, which is not stored: it does not start either.
    promised = set(cramped.ids) - running - waiting
    assert len(promised) <= len(running)
    assert not waiting & running
    assert set(cramped.written()) <= {cramped.ids.index(job) for job in running}
    make_room(cramped)
    failed = cramped.balance()
    assert set(failed) <= running
    assert all("cannot be stored" in why and "disk is full" in why for why in failed.values())
    assert live.joined(2)["phase"] == "Running"
    until(lambda: "no jobs start" not in live.message("Running"), "the status to be as before", SECONDS)


def test_a_lead_of_real_flux_whose_disk_is_full_goes_on(cramped: Ledger, live: Live, engine: str) -> None:
    """As long as it lives, in memory; its log says so."""
    if engine != node_images.REAL:
        pytest.skip("the embedded instance accepts nothing that it could not keep")
    cramped.submit([0.2])
    assert cramped.balance() == {}
    assert "database or disk is full" in live.pods.log(0)
    make_room(cramped)
    cramped.submit([0.2])
    assert cramped.balance() == {}
