"""A restore: what it refuses, and jobs that do not fit any more."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
import tarfile
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.lead.client import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.lead.saving.saved import Saved


def restored(cluster: Saved, content: bytes) -> dict[str, Any]:
    """The last words of a lead that is to restore this."""
    cluster.archive.write_bytes(content)
    cluster.pods.start(0)
    assert cluster.pods.wait() == 1
    assert cluster.archive.read_bytes() == content
    message = json.loads((cluster.pods.directory / "termination-0").read_text())
    assert isinstance(message, dict)
    return message


def dumped(cluster: Saved) -> bytes:
    """What a cluster with some jobs saves."""
    cluster.up(0)
    for number in range(20):
        cluster.submit(f"job-{number}", "--urgency=0")
    cluster.save()
    cluster.saved()
    cluster.lose_state()
    return cluster.archive.read_bytes()


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9, 0.999])
def test_truncated_dump(saved: Callable[..., Saved], part: float) -> None:
    """It is refused, and stays as it is."""
    cluster = saved(1)
    whole = dumped(cluster)
    message = restored(cluster, whole[: int(len(whole) * part)])
    assert "truncated" in message["error"]
    assert str(cluster.archive) in message["error"]


def test_dump_of_the_other_engine(saved: Callable[..., Saved], engine: str) -> None:
    """Both are named."""
    cluster = saved(1)
    other_dump = _archive() if engine == "embedded" else _database(cluster.archive.parent)
    names = ["Flux", "the embedded instance"]
    wrote, this = names if engine == "embedded" else names[::-1]
    assert (
        f"was written by {wrote}, and this is {this}, which cannot read it"
        in restored(cluster, other_dump)["error"]
    )


def _archive() -> bytes:

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("job"))
    return gzip.compress(packed.getvalue())


def _database(folder: Path) -> bytes:

    path = folder / "some.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE jobs (id)")
    database.close()
    return path.read_bytes()


def test_jobs_that_do_not_fit_are_kept(saved: Callable[..., Saved]) -> None:
    """Queued, held and waiting ones; the status names them; in a larger cluster they run."""
    large = saved(3).up(0, 1, 2)
    large.pods.run("queue", "stop", "--all")
    wide = large.submit("wide", "-N3")
    large.submit("after", "-N2", f"--dependency=afterok:{wide}")
    large.submit("held", "-N3", "--urgency=0")
    large.submit("narrow")
    large.save()
    large.saved()
    large.pods.close()
    small = saved(1).up(0)
    until(lambda: small.lines() == {"narrow": 1}, "the narrow job's end")
    kept = [each.partition(":")[0] for each in small.lead_api.status()["kept"]]
    assert sorted(kept) == sorted(large.names[name].replace("ƒ", "f") for name in ("wide", "after", "held"))
    assert "it is kept" in small.pods.log_text() or "is kept, it does not fit" in small.pods.log_text()
    assert small.pods.run("jobs", "-n", "-o", "{name}", "--filter=pending").splitlines() == ["sh"] * 3
    small.save()
    assert small.saved()["jobs"] == 3
    small.pods.close()
    again = saved(3).up(0, 1, 2)
    until(lambda: again.lines() == Counter(["narrow", "wide", "after"]), "what was kept")
    assert again.lead_api.status()["kept"] == []
    assert again.state(large.names["held"]) == "SCHED"
