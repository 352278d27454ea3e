"""The directory with what a service remembers: its database and its master key, for its user alone."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from minicluster.database import state_directory
from restful.cli.errors import ServeError

if TYPE_CHECKING:
    from pathlib import Path

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

    def publish(self, key: str) -> None:
        """Write the public key by which this user's burst services verify who pays."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(self.path / state_directory.PAYER_KEY, flags, 0o600), "w") as file:
            file.write(f"{key}\n")


def default() -> Path:
    """Return the directory of a user who names none."""
    return state_directory.default()


def opened(path: Path) -> StateDirectory:
    """Return the directory, which is made if it is not there. Raises StateDirectoryUnusable."""
    return StateDirectory(state_directory.opened(path, "digests of passwords"))


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
