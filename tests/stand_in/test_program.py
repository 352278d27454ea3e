"""The program of a stand-in: prints byte for byte, from the start, and ends as the job elsewhere did."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

import pytest

from minicluster.stand_in import spool as spools
from minicluster.stand_in import topics
from minicluster.stand_in.program import exit_code
from minicluster.stand_in.spool import Spool
from tests.devcluster.waiting import until

if TYPE_CHECKING:
    from pathlib import Path

LABEL = "aaaaaaaaaa"


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    """One that a stand-in reads."""
    made = Spool(str(tmp_path), LABEL)
    made.open(5, is_successor=False)
    return made


def started(spool: Spool, tmp_path: Path) -> subprocess.Popen[bytes]:
    """Begin to stand in; what is printed goes into files."""
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        command = [*topics.program(), str(spool.path), str(tmp_path)]
        return subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env={})


def test_output_comes_as_it_is_written_and_byte_for_byte(spool: Spool, tmp_path: Path) -> None:
    out, err = os.urandom(2 << 20), os.urandom(1 << 20)
    process = started(spool, tmp_path)
    try:
        spool.write("stdout", 0, out[:1000])
        until(lambda: (tmp_path / "out").read_bytes() == out[:1000], "the first bytes are there", 20)
        spool.write("stderr", 0, err)
        spool.write("stdout", 1000, out[1000:])
        spool.end(7 << 8, "", "")
        assert process.wait(20) == 7
    finally:
        process.kill()
        process.wait()
    assert (tmp_path / "out").read_bytes() == out
    assert (tmp_path / "err").read_bytes() == err
    record = spool.record()
    assert record is not None
    assert record.outcome == 7


def test_one_that_was_killed_is_followed_by_one_that_prints_from_the_start(
    spool: Spool, tmp_path: Path
) -> None:
    spool.write("stdout", 0, b"first\n")
    process = started(spool, tmp_path)
    until(lambda: (tmp_path / "out").read_bytes() == b"first\n", "it prints", 20)
    process.kill()
    process.wait()
    spool.open(6, is_successor=True)
    spool.write("stdout", 6, b"second\n")
    spool.end(0, "", "it took long")
    assert started(spool, tmp_path).wait(20) == 0
    assert (tmp_path / "out").read_bytes() == b"first\nsecond\n"
    assert (tmp_path / "err").read_bytes() == b"minicluster: it took long\n"


def test_results_are_there_when_it_ends(spool: Spool, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "result").write_bytes(b"42")
    with tarfile.open(tmp_path / "packed", "w") as tar:
        tar.add(tmp_path / "there", "there")
    data = (tmp_path / "packed").read_bytes()
    (tmp_path / "there" / "result").unlink()
    spool.write("results", 0, data)
    spool.end(0, hashlib.sha256(data).hexdigest(), "")
    assert started(spool, tmp_path).wait(20) == 0
    assert (tmp_path / "there" / "result").read_bytes() == b"42"


@pytest.mark.parametrize(("status", "code"), [(0, 1), (3 << 8, 3)])
def test_results_that_cannot_be_written_are_kept_and_it_fails(
    spool: Spool, tmp_path: Path, status: int, code: int
) -> None:
    """Who only looks at the exit code would take them for there."""
    spool.write("results", 0, b"not a tar")
    spool.end(status, hashlib.sha256(b"not a tar").hexdigest(), "")
    assert started(spool, tmp_path).wait(20) == code
    kept = spool.path / "results-not-written.tar"
    output = (tmp_path / "err").read_text()
    assert output.startswith("minicluster: its results are not written: they are no tar: ")
    assert output.endswith(f" (they are kept in {kept})\n")
    spool.clear()
    assert kept.read_bytes() == b"not a tar"


@pytest.mark.parametrize(
    ("status", "code"), [(0, 0), (7 << 8, 7), (signal.SIGKILL, 137), (signal.SIGSEGV | 0x80, 139)]
)
def test_it_ends_as_a_shell_shows_the_job(status: int, code: int) -> None:
    assert exit_code(status) == code


def test_its_command_names_where_it_is(spool: Spool) -> None:
    """In a folder or in a zip: nothing else is on its path."""
    assert topics.program()[0] == sys.executable
    assert topics.program()[1:3] == ["-I", "-X"]
    assert spools.read_json(spool.path / "job.json") == {"job": 5, "successor": False}
