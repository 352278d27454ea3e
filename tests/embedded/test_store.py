"""The store: what is written survives, and what happens when nothing can be written."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from minicluster.embedded.errors import StorageError
from minicluster.embedded.jobs.batch import StorageLost
from minicluster.embedded.jobs.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "jobs.sqlite")


def _fill(store: Store) -> None:
    """Let the file grow no more, as on a file system that is full."""
    pages = store.database._connection.execute("PRAGMA page_count").fetchone()[0]
    store.database._connection.execute(f"PRAGMA max_page_count={pages}")


def _make_room(store: Store) -> None:
    store.database._connection.execute("PRAGMA max_page_count=1000000")


BIG = b"x" * 200_000


def test_what_is_written_can_be_read(store: Store) -> None:
    store.jobs.add(7, 1000, "{}")
    store.eventlogs.append(7, "eventlog", "one")
    store.output.append(7, 0, "stdout", b"data", 1.5)
    store.output.append(7, 0, "stdout", None, 2.5)
    store.flush()
    assert [line for _, line in store.eventlogs.lines(7, "eventlog")] == ["one"]
    assert [chunk[1:] for chunk in store.output.chunks(7)] == [
        (0, "stdout", b"data", 1.5),
        (0, "stdout", None, 2.5),
    ]


def test_events_can_be_read_before_they_are_written(store: Store) -> None:
    store.jobs.add(7, 1000, "{}")
    store.eventlogs.append(7, "eventlog", "one")
    store.flush()
    store.eventlogs.append(7, "eventlog", "two")
    store.eventlogs.append(7, "other", "x")
    store.eventlogs.append(8, "eventlog", "x")
    before = store.eventlogs.lines(7, "eventlog")
    store.flush()
    assert before == store.eventlogs.lines(7, "eventlog")
    assert [line for _, line in store.eventlogs.lines(7, "eventlog", after=before[0][0])] == ["two"]


def test_a_full_file_system_drops_output_and_keeps_events(store: Store) -> None:
    store.jobs.add(7, 1000, "{}")
    store.flush()
    _fill(store)
    store.eventlogs.append(7, "eventlog", "kept")
    store.output.append(7, 0, "stdout", BIG, 1.0)
    with pytest.raises(
        StorageLost, match=r"job data cannot be stored in .*: database or disk is full"
    ) as lost:
        store.flush()
    assert lost.value.jobs == [7]
    store.flush()  # the small event fits where the output did not
    assert ([line for _, line in store.eventlogs.lines(7, "eventlog")], store.output.chunks(7)) == (
        ["kept"],
        [],
    )


def test_what_ended_is_listed_before_it_is_written(store: Store) -> None:
    store.jobs.add(7, 1000, "{}")
    store.jobs.set_inactive(7, 5.0, 1, None, '{"id":7}')
    assert (list(store.jobs.inactive()), list(store.jobs.inactive(since=6.0)), store.jobs.info(7)) == (
        [(7, '{"id":7}')],
        [],
        '{"id":7}',
    )
    store.flush()
    assert list(store.jobs.inactive()) == [(7, '{"id":7}')]


def test_a_withdrawn_job_was_never_there(store: Store) -> None:
    store.eventlogs.append(6, "eventlog", "kept")
    store.jobs.add(7, 1000, "{}")
    store.eventlogs.append(7, "eventlog", "gone")
    store.withdraw(7)
    store.flush()
    assert (
        store.jobs.jobspec(7),
        store.eventlogs.lines(7, "eventlog"),
        len(store.eventlogs.lines(6, "eventlog")),
    ) == (None, [], 1)


def test_many_jobs_are_read_page_by_page(store: Store) -> None:
    for job in range(1, 700):
        store.jobs.add(job, 1000, "{}")
    store.flush()
    assert list(store.jobs.ids()) == [row[0] for row in store.jobs.active()] == list(range(1, 700))


def test_it_survives_sigkill(tmp_path: Path) -> None:
    """What was flushed is there after the process was killed without a word."""
    program = (
        "import sys, os, signal; from pathlib import Path\n"
        "from minicluster.embedded.jobs.store import Store\n"
        "s = Store(Path(sys.argv[1]))\n"
        "s.jobs.add(7, 1000, '{}'); s.eventlogs.append(7, 'eventlog', 'written'); s.flush()\n"
        "s.eventlogs.append(7, 'eventlog', 'not yet'); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "jobs.sqlite"
    ended = subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    store = Store(path)
    assert [line for _, line in store.eventlogs.lines(7, "eventlog")] == ["written"]


def test_a_directory_that_cannot_be_written_is_named() -> None:
    with pytest.raises(StorageError, match=r"/proc/jobs.sqlite: the job data cannot be opened for writing: "):
        Store(Path("/proc/jobs.sqlite"))


def test_a_newer_file_is_refused(store: Store, tmp_path: Path) -> None:
    store.values.set("version", "99")
    store.close()
    with pytest.raises(StorageError, match="written by version 99; this one knows up to 1"):
        Store(tmp_path / "jobs.sqlite")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "jobs.sqlite").write_bytes(os.urandom(4096))
    with pytest.raises(StorageError, match="file is not a database"):
        Store(tmp_path / "jobs.sqlite")


def test_a_locked_file_is_no_reason_to_lose_events(store: Store, tmp_path: Path) -> None:
    store.database._connection.execute("PRAGMA busy_timeout=1")
    other = sqlite3.connect(tmp_path / "jobs.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store.eventlogs.append(7, "eventlog", "kept")
    with pytest.raises(StorageLost, match="database is locked"):
        store.flush()
    other.close()
    store.flush()
    assert [line for _, line in store.eventlogs.lines(7, "eventlog")] == ["kept"]
