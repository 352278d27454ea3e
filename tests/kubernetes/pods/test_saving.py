"""An instance on real nodes is saved before its pods go, and goes on from there: every job completes once."""

from pathlib import Path

import pytest

from tests.devcluster import ControlPlane, until
from tests.kubernetes.archived import ARCHIVE, Archived
from tests.kubernetes.ledger import LONG
from tests.kubernetes.live import SECONDS, Live
from tests.kubernetes.operators import path

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def saved(live: Live, nodes: ControlPlane, tmp_path: Path) -> Archived:
    """A MiniCluster with an archive, still to be created."""
    return Archived(live, nodes, tmp_path)


def test_suspended_and_resumed(saved: Archived) -> None:
    """What ran was waited for, what waited keeps its id."""
    saved.create(2)
    saved.ledger.begin(1)
    status = saved.suspend_amid_work()
    assert status["lastDump"]["path"] == ARCHIVE
    assert (saved.folder / "mc.tgz").stat().st_size == status["lastDump"]["bytes"]
    assert saved.live.pods.by_rank().keys() <= {0}
    waiting = status["lastDump"]["jobs"]
    note = saved.event("Saved")
    assert note == f"{waiting} jobs saved to {ARCHIVE} ({status['lastDump']['bytes']} bytes)"
    saved.resume(2)
    assert {row["id"] for row in saved.ledger.listed()} >= set(saved.ledger.ids[-waiting:])
    saved.completed()


def test_twenty_jobs_through_resizes_and_a_restore(saved: Archived) -> None:
    """2 → 4 → 1 → 3 at once, then saved with three brokers and restored with two; all sent by command."""
    saved.create(2)
    saved.release()
    saved.ledger.submit_by_command([2, 6, 3, 2, 5, 2, 4, 3, 2, 6, 2, 3, 4, 2, 5, 3, 2, 4, 2, 3])
    for size in (4, 1, 3):
        saved.live.change(size=size)
    saved.live.joined(3)
    before = saved.pending()
    status = saved.suspend()
    assert saved.notes_of("NotSaved") == []
    saved.resume(2)
    after = {row["id"] for row in saved.ledger.listed()}
    assert status["lastDump"]["jobs"] <= len(before)
    assert after >= set(sorted(before)[-status["lastDump"]["jobs"] :]) if status["lastDump"]["jobs"] else True
    saved.completed()


def test_deleted_and_made_anew(saved: Archived) -> None:
    """A MiniCluster of another size goes on with what the former one has left."""
    saved.create(3, drainTimeoutSeconds=2)
    running = saved.ledger.begin(1)
    waiting = saved.pending()
    saved.live.delete()
    note = saved.event("Saved")
    saved.gone()
    assert f"{running} as ƒ" in note
    saved.release()
    saved.create(2)
    assert {row["id"] for row in saved.ledger.listed()} >= waiting
    saved.completed()


def test_a_full_disk_keeps_the_older_archive(saved: Archived) -> None:
    """Nothing is suspended, and the instance goes on."""
    small = {"emptyDir": True, "emptyDirMedium": "Memory", "emptyDirSizeLimit": "1Mi", "path": "/archive"}
    saved.create(2, archive_volume=small)
    saved.shell("echo older >/archive/mc.tgz; head -c 2000000 /dev/zero >/archive/filling")
    saved.ledger.begin(1, LONG)
    saved.release()
    saved.live.change(suspend=True)
    saved.live.until(Suspended=("False", "SaveFailed"))
    note = saved.event("SaveFailed")
    assert note.startswith(f"nothing was saved to {ARCHIVE}: ")
    assert saved.shell("cat /archive/mc.tgz") == "older\n"
    saved.live.change(suspend=False)
    saved.completed()
    assert saved.live.status["phase"] == "Running"
    assert "lastDump" not in saved.live.status


def test_jobs_that_do_not_end_before_a_shrink_start_again(saved: Archived) -> None:
    """Under a new id, which the Event names with the old one, on ranks that stay."""
    saved.create(2, drainTimeoutSeconds=3)
    running = saved.ledger.begin(1)
    saved.live.change(size=1)
    note = saved.event("JobsRestarted")
    until(lambda: saved.live.status["size"] == 1 and len(saved.live.pods.by_rank()) == 1, "one pod", SECONDS)
    assert f"started again: {running} as ƒ" in note
    assert saved.notes_of("DrainTimedOut") == []
    saved.release()
    saved.completed()


@pytest.mark.parametrize("how", ["foreground", "namespace"])
def test_where_all_pods_are_deleted_at_once(saved: Archived, how: str) -> None:
    """The lead saves by itself, within its grace period; a job on another one may be said to have failed."""
    saved.create(2, drainTimeoutSeconds=20 if how == "foreground" else 3)
    hit = saved.ledger.begin(1, LONG)
    waiting = saved.pending()
    saved.release()
    mc = path(saved.live.namespace, saved.live.name)
    resource_path = mc if how == "foreground" else f"/api/v1/namespaces/{saved.live.namespace}"
    saved.live.api.delete(resource_path, propagationPolicy="Foreground")
    # With its namespace the lead's token may go before the operator has heard that the save ended. Then the
    # MiniCluster goes once the jobs' time is over, and the save was tried again after a minute.
    until(lambda: not saved.live.api.exists(mc), "the MiniCluster to be gone", 2 * SECONDS)
    assert (saved.folder / "mc.tgz").exists()
    if how == "foreground":
        saved.gone()
        saved.create(2)
        assert {row["id"] for row in saved.ledger.listed()} >= waiting
        saved.completed(but={hit})
