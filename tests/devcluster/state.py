"""Where a cluster keeps its files, and how what a crash left behind is found and removed.

Every cluster has a directory of its own (mode 0700) below one folder a user, in memory (/dev/shm) where
there is room. A lock on its file `alive` is held for as long as its guardian lives: a directory that can be
locked is a leftover. Its processes carry the directory's name in their environment, so that even those which
forked away are found.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.devcluster import control_groups
from tests.devcluster.errors import HarnessError

MARK = "MINICLUSTER_TEST_CLUSTER"  # the environment variable that names a process's cluster
MEMORY = Path("/dev/shm")
LOCK = ".lock"
ROOM = 2 << 30  # bytes free that a control plane with 1,000 MiniClusters in it does not use up


@dataclass(frozen=True, slots=True)
class State:
    """A directory and the descriptor of its lock."""

    directory: Path
    lock: int


def folders() -> list[Path]:
    """Name the folders that may hold clusters of this user, the preferred one first."""
    name = f"minicluster-test-{os.getuid()}"
    parents = [MEMORY, Path(tempfile.gettempdir())]
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        parents.reverse()
    return [parent / name for parent in parents if parent.is_dir()]


def create(name: str | None = None) -> State:
    """Make a directory for a cluster and lock it; a name makes it one of a kind, raising when it is taken."""
    folder = folders()[0]
    with locked(folder):
        sweep(folder)
        directory = folder / (name or secrets.token_hex(4))
        try:
            directory.mkdir(mode=0o700)
        except FileExistsError:
            raise HarnessError(f"a test cluster runs already in {directory}") from None
        descriptor = os.open(directory / "alive", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return State(directory, descriptor)


def find(name: str) -> Path | None:
    """Return the directory of the named cluster, if it lives."""
    for folder in folders():
        directory = folder / name
        if directory.is_dir() and is_alive(directory):
            return directory
    return None


def clean() -> None:
    """Remove what crashes left behind."""
    for folder in folders():
        if folder.is_dir():
            with locked(folder):
                sweep(folder)


def private(folder: Path) -> None:
    """Make a folder that only its owner can enter; refuse one of another user."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise HarnessError(f"{folder} must be a directory of user {os.getuid()} with mode 0700; remove it")


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time create and clean; a folder that holds no cluster is removed at the end."""
    descriptor = lock(folder)
    try:
        yield
        if [entry.name for entry in folder.iterdir()] == [LOCK]:
            (folder / LOCK).unlink()
            folder.rmdir()
    finally:
        os.close(descriptor)


def lock(folder: Path) -> int:
    """Make the folder and lock it; again if the one before removed it while we waited."""
    while True:
        with contextlib.suppress(FileNotFoundError):
            private(folder)
            descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                return descriptor
            os.close(descriptor)


def sweep(folder: Path) -> None:
    """Remove every directory whose guardian is gone, and the processes that still belong to it."""
    for directory in folder.iterdir():
        if directory.is_dir() and not is_alive(directory):
            kill_marked(directory)
            control_groups.remove(directory)
            shutil.rmtree(directory, ignore_errors=True)


def is_alive(directory: Path) -> bool:
    """Try the lock that a living guardian holds."""
    try:
        descriptor = os.open(directory / "alive", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def kill_marked(directory: Path) -> None:
    """Kill the processes whose environment names this cluster."""
    for pid in marked(directory):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def marked(directory: Path) -> list[int]:
    """List the living processes whose environment names this cluster; those of other users cannot be read."""
    entry = f"{MARK}={directory}".encode()
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if entry in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
    return found
