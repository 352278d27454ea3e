"""A copy of a SQLite database in a new file, made while others write (sqlite.org/backup.html)."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from typing import TYPE_CHECKING

from minicluster.database import address, driver_errors
from minicluster.database.errors import DatabaseError

if TYPE_CHECKING:
    from pathlib import Path

    from minicluster.database.address import DatabaseUrl


def backup(url: DatabaseUrl, target: Path) -> None:
    """Write a database to a new file, 0600; it has its name once all of it is on the disk. This blocks.

    Raises DatabaseError: for a file that is there, for PostgreSQL, and where there is no room.
    """
    if url.engine == address.POSTGRESQL:
        raise DatabaseError(
            f"PostgreSQL is saved by its own program: pg_dump --format=custom --file={target} {url}"
        )
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        _write(url, temporary)
        os.link(temporary, target)  # unlike a renaming it replaces nothing
        _to_disk(target.parent, os.O_DIRECTORY)
    except FileExistsError:
        raise DatabaseError(f"the backup {target} is there already: name a new file") from None
    except OSError as error:
        raise DatabaseError(f"the backup {target} cannot be written: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _write(url: DatabaseUrl, temporary: Path) -> None:
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    try:
        with (
            contextlib.closing(sqlite3.connect(url.path, timeout=driver_errors.LOCK_TIMEOUT)) as source,
            contextlib.closing(sqlite3.connect(temporary)) as copy,
        ):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE")  # the copy is one file, without a log beside it
    except sqlite3.Error as error:
        raise driver_errors.meaning(error, url.public, writes=True) or error from error
    _to_disk(temporary)


def _to_disk(path: Path, flags: int = 0) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
