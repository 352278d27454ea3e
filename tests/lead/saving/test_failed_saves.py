"""A save that fails, by its volume or by the lead's end, costs no job."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.lead.client import until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lead.saving.saved import Saved

MOUNTS = 'mount -t tmpfs -o size="$1" none "$2" && shift 2 && exec "$@"'


@pytest.fixture
def limited(tmp_path: Path) -> Callable[[Saved, str], Path]:
    """Put a small volume where the archive is, for the lead only; the folder as this process sees it."""
    done = subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("mounts need root on Linux")

    def limit(cluster: Saved, size: str) -> Path:
        folder = str(cluster.archive.parent)
        cluster.pods.wrapper = ["unshare", "-m", "sh", "-c", MOUNTS, "sh", size, folder]
        cluster.up(0)
        cluster.pods.wrapper = []
        return Path(f"/proc/{cluster.pods.processes[0].pid}/root{folder}")

    return limit


def fill(folder: Path, left: int) -> None:
    """Leave that many bytes."""
    room = shutil.disk_usage(folder).free
    (folder / "filler").write_bytes(bytes(max(0, room - left)))


def some(cluster: Saved) -> None:
    """One job runs, more than fit into a few kB wait."""
    cluster.submit("long", gate=True)
    cluster.running("long")
    cluster.pods.run("submit", "--cc=1-40", "sh", "-c", f"echo job >>{cluster.ledger}")


SOME = Counter(long=1, job=40)


@pytest.mark.parametrize(
    "left", [pytest.param(0, id="nothing-fits"), pytest.param(4096, id="half-a-dump-fits")]
)
def test_full_volume(saved: Callable[..., Saved], limited: Callable[..., Path], left: int) -> None:
    """The instance goes on, with every job; the older archive stays; with room the next order works."""
    cluster = saved(1)
    folder = limited(cluster, "1m")
    (folder / "mc.tgz").write_bytes(b"the older one")
    fill(folder, left)
    some(cluster)
    cluster.save(timeout=0)
    assert str(cluster.archive) in cluster.phase("failed")["error"]
    assert (folder / "mc.tgz").read_bytes() == b"the older one"
    assert {each.name for each in folder.iterdir()} == {"mc.tgz", "filler", ".saving.mc.tgz"}
    cluster.gate.touch()
    cluster.done()
    assert cluster.lines() == SOME
    (folder / "filler").unlink()
    cluster.save()
    cluster.saved()


def test_read_only_volume(saved: Callable[..., Saved], limited: Callable[..., Path]) -> None:
    """Nothing is stopped at all: the job that runs is not started again."""
    cluster = saved(1)
    folder = limited(cluster, "1m")
    lead = cluster.pods.processes[0].pid
    cluster.submit("long", gate=True)
    cluster.running("long")
    namespace = ["nsenter", "-t", str(lead), "-m", "mount", "-o", "remount,ro", str(cluster.archive.parent)]
    subprocess.run(namespace, check=True, capture_output=True)
    cluster.save()
    assert "cannot be written: Read-only file system" in cluster.phase("failed")["error"]
    cluster.gate.touch()
    cluster.done()
    left = [(each.name, each.stat().st_size) for each in folder.iterdir()]
    assert (cluster.result(cluster.names["long"]), left) == ("COMPLETED", [(".saving.mc.tgz", 0)])


@pytest.mark.parametrize("phase", ["waiting", "writing"])
def test_lead_that_is_killed_while_it_saves(saved: Callable[..., Saved], phase: str) -> None:
    """With its state directory it goes on: what ran is reported as failed, or its copy runs."""
    cluster = saved(1).up(0)
    cluster.submit("runs", gate=True)
    cluster.running("runs")
    for number in range(8):
        cluster.submit(f"job-{number}")
    cluster.save(timeout=600 if phase == "waiting" else 0)
    if phase == "waiting":
        until(lambda: (cluster.lead_api.status()["saving"] or {}).get("waiting_for"), "it waits")
    else:
        cluster.pods.wait_for_log("it is started again after the restore")
    cluster.pods.kill()
    for broker in cluster.pods.brokers(0):
        until(lambda broker=broker: not Path(f"/proc/{broker}").exists(), "the broker's end")  # type: ignore[misc]
    cluster.gate.touch()
    cluster.up(0).done()
    lines = cluster.lines()
    ran = lines.pop("runs", 0)
    assert lines == Counter(f"job-{number}" for number in range(8))
    assert ran == (phase == "writing")
    assert ran or cluster.result(cluster.names["runs"]) == "FAILED"
