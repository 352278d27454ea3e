"""Dump and restore: all jobs with ids, events and output, in one file for an instance of any size.

A dump is a compact copy of the job data (an SQLite file); its table `meta` names the program that wrote it.
It is checked and synced to the disk before it gets its name, so that a file of that name is a whole dump.
The user who restores a dump trusts it: its jobs run as that user.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config.formats import eventlog
from broker_config.formats.job_states import JobState
from minicluster.embedded import log, partial_file
from minicluster.embedded.errors import DumpError, RpcError
from minicluster.embedded.jobs.database import APPLICATION_ID, VERSION
from minicluster.embedded.jobs.job_attributes import attributes
from minicluster.embedded.jobs.job_list import compile_constraint
from minicluster.embedded.jobs.replay import rebuilt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from minicluster.embedded.jobs.job_manager import JobManager
    from minicluster.embedded.services import RpcRequest

JSON = dict[str, Any]

_SQLITE = b"SQLite format 3\0"
_ARCHIVES = (
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
    b"\x04\x22\x4d\x18",
)  # gz bz2 xz zst lz4


class DumpedJob(NamedTuple):
    """A job as a dump has it: jobspec (RFC 14), eventlog (RFC 18), and R (RFC 20) once it had resources."""

    user: int
    jobspec: dict[str, Any]
    events: list[dict[str, Any]]
    resources: dict[str, Any] | None


def dump(manager: JobManager, request: RpcRequest) -> dict[str, Any]:
    """content.dump: write every job to `path`."""
    path = Path(request.need("path", str))
    running = manager.stats.count(JobState.RUNNING)
    if running:
        raise RpcError(errno.EBUSY, f"{running} job(s) are running: stop the queue and wait until it is idle")
    if not manager.commits.write():
        raise RpcError(errno.ENOSPC, manager.commits.trouble or "")
    try:
        jobs = write(manager.parts.store.database.copy_to, path)
    except DumpError as error:
        raise RpcError(errno.EIO, str(error)) from error
    return {"jobs": jobs, "bytes": path.stat().st_size}


def write(copy_to: Callable[[Path], None], path: Path) -> int:
    """Copy, check, sync, and only then rename; return the number of jobs. Raises DumpError.

    Only its owner can read the dump, as it has jobs' environments.
    """
    try:
        partial = partial_file.create(path)
        try:
            copy_to(partial)
            jobs = check(partial)
            _sync(partial)
            partial.replace(path)
            _sync(path.parent)
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
    except (OSError, sqlite3.Error) as error:
        raise DumpError(f"{path}: the dump cannot be written: {error}") from error
    return jobs


def check(path: Path) -> int:
    """Return the number of jobs in a dump. Raises DumpError where this version cannot read it."""
    _check_kind(path)
    try:
        with _opened(path) as db:
            _check_schema(path, db)
            version = db.execute("SELECT value FROM meta WHERE key='version'").fetchone()
            if version is None or int(version[0]) > VERSION:
                found = version[0] if version else "none"
                raise DumpError(
                    f"{path}: a dump of the embedded instance, version {found}; this reads up to {VERSION}"
                )
            (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)
            return int(db.execute("SELECT COUNT(*) FROM jobs").fetchone()[0])
    except sqlite3.Error as error:
        raise DumpError(f"{path}: the dump is truncated or damaged: {error}") from error


def jobs(path: Path) -> Iterator[DumpedJob]:
    """Yield the jobs of a dump, by their ids. Raises DumpError as `check` does."""
    check(path)
    with _opened(path) as db:
        for job, user, jobspec, resources in db.execute(
            "SELECT id, userid, jobspec, R FROM jobs ORDER BY id"
        ):
            events = [eventlog.decode(line) for line in _lines(db, job)]
            yield DumpedJob(user, json.loads(jobspec), events, json.loads(resources) if resources else None)


def listing(path: Path, constraint: Mapping[str, Any], since: float = 0.0) -> Iterator[JSON]:
    """Yield jobs of a dump with the attributes of job-list, those that wait first, then the latest.

    `constraint` is as of RFC 31. Those that ended before `since` are left out. Raises DumpError as `check`
    does.
    """
    check(path)
    is_wanted = compile_constraint(constraint)
    with _opened(path) as db:
        for *row, info in db.execute(
            "SELECT id, userid, jobspec, R, info FROM jobs WHERE t_inactive IS NULL OR t_inactive > ?"
            " ORDER BY t_inactive IS NOT NULL, t_inactive DESC, id DESC",
            (since,),
        ):
            shown = json.loads(info) if info else attributes(rebuilt((*row,), _lines(db, row[0])))
            if is_wanted(shown):
                yield shown


def restore(source: Path, target: Path, report: Callable[[int, str], None]) -> None:
    """Make the job data from a dump. Job data that exists is kept, and reported."""
    if target.exists():
        report(log.NOTICE, f"{target} holds jobs already: {source} is not restored over them")
        return
    count = check(source)
    try:
        partial = partial_file.create(target)
        try:
            shutil.copyfile(source, partial)
            _sync(partial)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise DumpError(f"{source} cannot be restored to {target}: {error}") from error
    report(log.INFO, f"restored {count} job(s) from {source}")


def _lines(db: sqlite3.Connection, job: int) -> Iterator[str]:
    """Yield the lines of a job's eventlog."""
    sql = "SELECT line FROM events WHERE job=? AND log='eventlog' ORDER BY seq"
    return (line for (line,) in db.execute(sql, (job,)))


def _check_kind(path: Path) -> None:
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise DumpError(f"{path}: the dump cannot be read: {error.strerror}") from error
    if head[257:262] == b"ustar" or head.startswith(_ARCHIVES):
        raise DumpError(
            f"{path}: a dump of Flux (a tar archive); this is the embedded instance, "
            "which restores only dumps of the embedded instance"
        )
    if not head.startswith(_SQLITE[: len(head)]) or not head:
        raise DumpError(f"{path}: no dump of the embedded instance")
    if len(head) >= 72 and int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise DumpError(f"{path}: an SQLite file, but no dump of the embedded instance")


def _check_schema(path: Path, db: sqlite3.Connection) -> None:
    """Raise DumpError where a name stands for a program, such as a view: its rows may have no end."""
    for kind, name, sql in db.execute("SELECT type, name, sql FROM sqlite_master"):
        if kind not in ("table", "index") or str(sql).upper().startswith("CREATE VIRTUAL"):
            found = f"virtual {kind}" if kind == "table" else kind
            raise DumpError(
                f"{path}: no dump of the embedded instance: it has a {found} {name!r}, and a dump has"
                " tables and indexes alone"
            )


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        yield db
    finally:
        db.close()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
