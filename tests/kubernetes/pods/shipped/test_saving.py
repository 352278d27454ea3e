"""What is saved under the chart's operator goes on with other brokers: every job completes once."""

from pathlib import Path

import pytest

from tests.devcluster import ControlPlane
from tests.kubernetes.archived import ARCHIVE, Archived
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.ledger import LONG
from tests.kubernetes.live import SECONDS, Live

pytestmark = pytest.mark.timeout(600)


def test_taken_down_with_a_dump_and_up_again(
    live: Live, nodes: ControlPlane, minicluster: CommandLine, tmp_path: Path
) -> None:
    """`minicluster down --dump` ends with what was saved, once everything is gone."""
    saved = Archived(live, nodes, tmp_path)
    saved.create(2)
    saved.ledger.begin(1, LONG)
    saved.release()
    done = minicluster("down", "mc", "--dump", "--timeout", SECONDS)
    assert done.returncode == 0, done.stderr
    size = (saved.folder / "mc.tgz").stat().st_size
    note = saved.event("Saved")
    jobs = note.partition(" saved to ")[0]
    assert note == f"{jobs} saved to {ARCHIVE} ({size} bytes)"
    assert done.stdout == f"cluster mc is down\nsaved to {ARCHIVE}: {jobs} that had not ended\n"
    assert f"minicluster: mc: saving to {ARCHIVE} before its pods go: " in done.stderr
    saved.gone()
    saved.create(3)
    saved.completed()
