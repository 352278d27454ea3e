"""Whose a directory or file is: what another user made, or could have changed, is never used.

Where nobody has made the state directory yet, another user may: it lies in a directory for all users (/tmp).
Its content would then act as this user.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import IO, TYPE_CHECKING

from minicluster.local.errors import StateDirectoryError

if TYPE_CHECKING:
    from pathlib import Path

ROOT_VARIABLE = "MINICLUSTER_RUNTIME_DIR"


def is_private_directory(path: Path) -> bool:
    """Return whether the directory is there. Raises StateDirectoryError where it is not this user's alone."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StateDirectoryError(
            f"state directory {path}: cannot be read: {error.strerror}; name another one in {ROOT_VARIABLE}"
        ) from error
    if fault := _directory_fault(status):
        raise StateDirectoryError(
            f"state directory {path}: must be a directory of your own that nobody else can enter (mode 0700);"
            f" {fault}, or name another one in {ROOT_VARIABLE}"
        )
    return True


def opened(path: Path) -> IO[str]:
    """Open a file of this user for reading. Raises OSError, StateDirectoryError where it is another one."""
    try:
        # O_NONBLOCK: a FIFO is opened at once, and refused.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _file_refused(path, "it is a symbolic link") from error
        raise
    file = os.fdopen(descriptor)
    if fault := _file_fault(os.fstat(descriptor)):
        file.close()
        raise _file_refused(path, fault)
    return file


def _directory_fault(status: os.stat_result) -> str:
    """Return what is wrong with a state directory, and what to do; empty: nothing."""
    if not stat.S_ISDIR(status.st_mode):
        return "it is something else: remove it"
    if status.st_uid != os.geteuid():
        return f"it belongs to user {status.st_uid}: trust nothing in it, have it removed"
    if status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        return f"it has mode {mode:04o}: remove it, or chmod 700 it if all in it is yours"
    return ""


def _file_fault(status: os.stat_result) -> str:
    if not stat.S_ISREG(status.st_mode):
        return "it is no regular file"
    if status.st_uid != os.geteuid():
        return f"it belongs to user {status.st_uid}"
    # 0.1.0 left it to the umask; the directory around it keeps its user's group out.
    return "everybody can write it" if status.st_mode & 0o002 else ""


def _file_refused(path: Path, fault: str) -> StateDirectoryError:
    return StateDirectoryError(
        f"state file {path}: must be a file of your own; {fault}: trust nothing in {path.parent},"
        " and remove it"
    )
