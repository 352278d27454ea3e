"""The last lines of logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from minicluster.cli import logs

if TYPE_CHECKING:
    from minicluster.backends.port import Backend, Write


class Logs:
    """Two brokers' logs, of five lines each."""

    def logs(self, _name: str, write: Write, rank: int | None, *, follow: bool) -> None:
        """Write them one after the other."""
        assert not follow
        for each in (0, 1) if rank is None else (rank,):
            for number in range(5):
                label = b"" if rank is not None else b"mc-%d: " % each
                write(b"%sstep: %d\n" % (label, number))


@pytest.mark.parametrize(
    ("rank", "expected"),
    [
        (None, b"mc-0: step: 3\nmc-0: step: 4\nmc-1: step: 3\nmc-1: step: 4\n"),
        (1, b"step: 3\nstep: 4\n"),
    ],
    ids=["of each log", "of one"],
)
def test_the_last_lines_are_shown(
    capfdbinary: pytest.CaptureFixture[bytes], rank: int | None, expected: bytes
) -> None:
    logs._show_last(cast("Backend", Logs()), "mc", rank, 2)
    assert capfdbinary.readouterr().out == expected
