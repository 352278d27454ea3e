"""How a service starts the processes of tunnels, finds those of services before it, and ends them."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Protocol

from burst.errors import RetryLater
from burst.joining.workers import name_of
from burst.lifecycle.records import PREFIX
from burst.providers.kubernetes.tunnel.records import ReachDirectory
from minicluster.local import processes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from burst.providers.kubernetes.tunnel.records import ReachState, ReachStatus, ReachTask
    from burst.providers.provider import WantedBurst

STOP_TIMEOUT = 3.0
"""Seconds between SIGTERM and SIGKILL."""


class ReachKeeper(Protocol):
    """Where the lead's side of tunnels runs: never in the service, whose end would be that of all jobs.

    Calls raise ProviderError where they fail.
    """

    def check(self, task: ReachTask) -> None:
        """Raise CallInvalid where it could never run."""

    def ensure(self, wanted: WantedBurst, task: Callable[[], ReachTask]) -> ReachState | None:
        """Have it run; return how it is, None before it has begun. Raises as `task` does, too."""

    def stop(self, wanted: WantedBurst) -> None:
        """End it, or begin to: it is gone when it is not left any more."""

    def left(self, installation: str) -> Iterator[ReachTask]:
        """Yield what there is of an installation."""

    def problems(self, kubeconfig: str) -> Iterable[str]:
        """Return why none could run for a provider with this kubeconfig; nothing if all is well."""


class ReachProcesses:
    """Processes of this machine, each with a directory below the service's own. See `ReachKeeper`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def check(self, task: ReachTask) -> None:
        """Accept whatever the service itself reaches."""

    def problems(self, _kubeconfig: str) -> Iterable[str]:
        """Return nothing: a process has the service's own rights."""
        return ()

    def ensure(self, wanted: WantedBurst, task: Callable[[], ReachTask]) -> ReachStatus | None:
        """Have one run; return how it is."""
        directory = self._of(wanted)
        status = directory.status()
        if status is not None and status.is_alive:
            return status
        try:
            if directory.task() is None:
                made = task()
                directory.path.mkdir(mode=0o700, parents=True, exist_ok=True)
                directory.write(made)
            if _is_free(directory):
                _start(directory)
        except OSError as error:
            raise RetryLater(f"{directory.path}: cannot be written: {error.strerror or error}") from error
        return None

    def stop(self, wanted: WantedBurst) -> None:
        """End it, and remove its directory."""
        directory = self._of(wanted)
        task = directory.task()
        if not directory.path.exists() or (task is not None and task.installation != wanted.installation):
            return
        self._end(directory)
        try:
            shutil.rmtree(directory.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise RetryLater(f"{directory.path}: cannot be removed: {error.strerror or error}") from error

    def _end(self, directory: ReachDirectory) -> None:
        """End every process of a directory, also one that has not begun yet. Raises RetryLater."""
        signum, end = signal.SIGTERM, time.monotonic() + STOP_TIMEOUT
        while found := _living(directory):
            if time.monotonic() > end:
                if signum is signal.SIGKILL:
                    raise RetryLater(f"process {min(found)} of {directory.path} does not end")
                signum, end = signal.SIGKILL, time.monotonic() + STOP_TIMEOUT
            for pid in found:
                processes.send(pid, signum)
            time.sleep(0.02)

    def left(self, installation: str) -> Iterator[ReachTask]:
        """Yield those of an installation."""
        for path in sorted(self._root.glob(f"{PREFIX}*")):
            task = ReachDirectory(path).task()
            if task is not None and task.installation == installation:
                yield task

    def _of(self, wanted: WantedBurst) -> ReachDirectory:
        return ReachDirectory(self._root / name_of(wanted.label))


def _living(directory: ReachDirectory) -> set[int]:
    return {pid for pid in processes.marked(directory.path) if processes.start_time(pid)}


def _is_free(directory: ReachDirectory) -> bool:
    """Return whether no process has the directory's lock. Raises OSError."""
    lock = os.open(directory.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return not _living(directory)


def _start(directory: ReachDirectory) -> None:
    """Start a process, which runs on alone; where it ends before this one, a thread reaps it."""
    environment = {**os.environ, processes.MARKER: str(directory.path)}
    with directory.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.reach", str(directory.path)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            start_new_session=True,
        )
    threading.Thread(target=process.wait, daemon=True).start()
