"""The process behind a burst on this machine: `python -m burst.providers.local.supervisor DIRECTORY`.

It starts the burst's brokers, and starts those again that fail. It ends, with all of them and the directory:
by SIGTERM; when the burst's time is over; when the MiniCluster's directory is gone; when all brokers have
left. Nobody else is needed for that.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from burst.providers.local import followers, isolated
from burst.providers.local.records import BurstDirectory, SupervisorStatus
from burst.providers.side_process import log, takes
from minicluster.local import processes
from minicluster.local.container_restarts import ContainerRestarts
from minicluster.local.kubelet import Kubelet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from burst.providers.local.records import FollowerTask
    from minicluster.local.records import EndedContainer, LocalPod

STOP_TIMEOUT = 5.0
"""Seconds between SIGTERM and SIGKILL at the end."""
POLL_INTERVAL = 0.1
"""Seconds."""
MAX_FAILURES = 4
"""So many times in a row a start script may fail; it starts its broker again by itself."""
PROBLEM_SECONDS = 30.0
"""For how long it can be read what broke a burst, once all of its brokers have left."""
STEADY = 60.0
"""Seconds after which a start script that failed had begun well."""


class FollowerSupervisor:
    """One burst's life. It needs a running event loop."""

    def __init__(self, directory: BurstDirectory, task: FollowerTask) -> None:
        self._directory = directory
        self._task = task
        self._over = asyncio.Event()
        self._kubelet = Kubelet(directory.brokers, self._on_end)
        self._restarts = ContainerRestarts(self._restart)
        self._failures: dict[str, int] = {}
        self._started: dict[str, float] = {}
        self._left: set[str] = set()
        self._left_at = 0.0
        self._status = SupervisorStatus(os.getpid(), processes.start_time(os.getpid()))
        self._written: SupervisorStatus | None = None
        self._ports = contextlib.ExitStack()
        """Reserves those of an instance of its own until its brokers have them."""

    async def live(self) -> str:
        """Run the brokers until it is over; return why it is."""
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(signum, self._over.set)
        self._set(self._status)
        try:
            for pod in self._pods():
                self._started[pod.name] = time.monotonic()
                self._kubelet.start(pod)
            while not (reason := self._reason()):
                self._set(dataclasses.replace(self._status, ready=self._is_ready()))
                if self._status.ready:
                    self._ports.close()
                await asyncio.sleep(POLL_INTERVAL)
        finally:
            self._restarts.cancel()
            await self._kubelet.stop(self._task.hosts, STOP_TIMEOUT)
            self._kubelet.kill()
            self._kubelet.close()
            self._ports.close()
        return reason

    def _pods(self) -> Iterable[LocalPod]:
        if not self._task.document:
            return followers.pods(self._directory, self._task)
        made = isolated.prepared(self._directory, self._task, log)
        self._ports = made.ports
        return isolated.brokers(self._directory, made)

    def _reason(self) -> str:
        """Return why the burst is over; empty: it is not."""
        if self._over.is_set():
            return "it was ended"
        if time.time() >= self._task.until:
            return "its time is over"
        if not (Path(self._task.cluster) / "etc" / followers.START).exists():
            return f"the MiniCluster's directory {self._task.cluster} is gone"
        kept = PROBLEM_SECONDS if self._status.problem else 0.0
        if len(self._left) == len(self._task.hosts) and time.monotonic() - self._left_at >= kept:
            return "all its brokers have left"
        return ""

    def _is_ready(self) -> bool:
        ranks = self._task.hosts.values()
        return all(map(self._kubelet.is_running, self._task.hosts)) and all(
            self._directory.brokers.socket(rank).exists() for rank in ranks
        )

    def _on_end(self, ended: EndedContainer) -> None:
        if self._over.is_set():
            return
        name = ended.pod.name
        refusal = self._directory.refusal(self._task.hosts[name])
        if refusal:
            self._set(dataclasses.replace(self._status, problem=f"{name}: {refusal}"))
        if refusal or ended.code == 0:
            self._left.add(name)
            self._left_at = time.monotonic()
            return
        began_well = time.monotonic() - self._started[name] > STEADY
        self._failures[name] = 1 if began_well else self._failures.get(name, 0) + 1
        log(f"{ended}; it is started again")
        if self._failures[name] >= MAX_FAILURES:
            problem = f"{name} has failed {MAX_FAILURES} times in a row"
            self._set(dataclasses.replace(self._status, problem=problem))
        self._restarts.plan(ended)

    def _restart(self, ended: EndedContainer) -> None:
        self._started[ended.pod.name] = time.monotonic()
        self._kubelet.restart(ended)

    def _set(self, status: SupervisorStatus) -> None:
        self._status = status
        if status == self._written:
            return
        try:
            self._directory.write(status)
            self._written = status
        except OSError as error:  # a full disk must not end the brokers
            log(f"cannot write its status: {error.strerror}")


def main(directory: BurstDirectory) -> int:
    """Live a burst's life, unless another supervisor does, and remove its directory; return the exit code."""
    if not takes(directory.lock):
        return 0
    task = directory.task()
    if task is None or directory.going.exists():
        return 1
    log(f"over: {asyncio.run(_live(directory, task))}")
    directory.remove()
    return 0


async def _live(directory: BurstDirectory, task: FollowerTask) -> str:
    return await FollowerSupervisor(directory, task).live()


if __name__ == "__main__":
    sys.exit(main(BurstDirectory(Path(sys.argv[1]))))
