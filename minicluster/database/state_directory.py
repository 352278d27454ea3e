"""The directory with what a service of one user remembers, which nobody else may enter."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from minicluster.database.errors import StateDirectoryUnusable

NAME = "minicluster"
PAYER_KEY = "rest-api-payers.pub"
"""The file in which `minicluster serve` leaves a public key for burst services of the same user."""


def default() -> Path:
    """Return the directory of a user who names none (XDG Base Directory Specification: state)."""
    chosen = os.environ.get("XDG_STATE_HOME", "")
    base = Path(chosen) if chosen.startswith("/") else Path.home() / ".local" / "state"
    return base / NAME


def opened(path: Path, content: str) -> Path:
    """Return the directory, which is made if it is not there. Raises StateDirectoryUnusable.

    The message says that others could read `content` where they may enter it.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.stat()
    except OSError as error:
        raise StateDirectoryUnusable(
            f"state directory {path}: {error.strerror}; name another one with --state"
        ) from error
    if found.st_uid != os.geteuid():
        raise StateDirectoryUnusable(
            f"state directory {path}: is another user's; name another one with --state"
        )
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        raise StateDirectoryUnusable(
            f"state directory {path}: mode {mode:04o} lets others read {content}: chmod 700"
        )
    return path
