"""The directory with what a service remembers: its database and its master key, for its user alone."""

from __future__ import annotations

import fcntl
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from restful.cli.errors import ServeError

NAME = "minicluster"
DATABASE = "serve.db"


@dataclass(frozen=True, slots=True)
class StateDirectory:
    """The paths in it."""

    path: Path

    @property
    def database(self) -> str:
        """The URL of the database."""
        return f"sqlite:///{self.path / DATABASE}"

    @property
    def has_database(self) -> bool:
        """Whether a service has run with it."""
        return (self.path / DATABASE).exists()

    @property
    def master_key(self) -> Path:
        """The key under all others."""
        return self.path / "master.key"


def default() -> Path:
    """Return the directory of a user who names none (XDG Base Directory Specification: state)."""
    chosen = os.environ.get("XDG_STATE_HOME", "")
    base = Path(chosen) if chosen.startswith("/") else Path.home() / ".local" / "state"
    return base / NAME


def opened(path: Path) -> StateDirectory:
    """Return the directory, which is made if it is not there. Raises ServeError."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
    except OSError as error:
        raise ServeError(
            f"state directory {path}: {error.strerror}; name another one with --state"
        ) from error
    if found.st_uid != os.geteuid():
        raise ServeError(f"state directory {path}: is another user's; name another one with --state")
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        raise ServeError(
            f"state directory {path}: mode {mode:04o} lets others read digests of passwords: chmod 700"
        )
    return StateDirectory(path)


def locked(directory: StateDirectory) -> IO[str]:
    """Return a file that locks the directory as long as it is open. Raises ServeError."""
    file = (directory.path / "lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise ServeError(
            f"state directory {directory.path}: another `minicluster serve` works with it; end that one, or"
            " name another one with --state"
        ) from error
    return file
