"""The process behind a tunnel: `python -m burst.providers.kubernetes.tunnel.reach DIRECTORY`.

In a pod `pod_process` does the same without a directory.

It keeps connections to the relay idle. Each that the relay gives to a follower it connects to the lead's
broker. It ends by SIGTERM, or when the burst's time is over; nobody else is needed for that. While it runs, a
service may die and begin anew: brokers and jobs do not notice.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from burst.joining.records import LeadHost
from burst.joining.tunnel import relay_labels
from burst.providers.kubernetes.access import CheckedAccess
from burst.providers.kubernetes.tunnel.connections import HostSide, PodSide, exchange, taken
from burst.providers.kubernetes.tunnel.records import ReachDirectory, ReachStatus
from burst.providers.side_process import log, takes
from minicluster.kube_client.access import Access
from minicluster.kube_client.errors import ApiError, KubernetesError
from minicluster.kube_client.user_client import UserClient
from minicluster.local import processes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from burst.joining.records import LeadRoute
    from burst.providers.kubernetes.tunnel.connections import ConnectionSide
    from burst.providers.kubernetes.tunnel.records import ReachTask

IDLE_CONNECTIONS = 6
MIN_DELAY_SECONDS, MAX_DELAY_SECONDS = 0.2, 5.0
"""Between two tries to connect to the relay."""
_REFUSALS = (401, 403)
_LEAD = "the lead"
"""How a problem on that side of the tunnel begins."""
OVER, ENDED = "the burst's time is over", "it was ended"


class TunnelReach:
    """One tunnel's life. `report` is called with each status. It needs a running event loop."""

    def __init__(self, task: ReachTask, report: Callable[[ReachStatus], None]) -> None:
        self._task = task
        self._report = report
        self._over = asyncio.Event()
        self._pairs: set[asyncio.Task[None]] = set()
        self._status = ReachStatus(os.getpid(), processes.start_time(os.getpid()))

    def end(self) -> None:
        """Have it end before its time."""
        self._over.set()

    async def live(self) -> bool:
        """Connect until it is over; return whether its time is. Raises KubernetesError: no credentials."""
        task = self._task
        loop = asyncio.get_running_loop()
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(signum, self._over.set)
        self._set()
        labels = ",".join(f"{key}={value}" for key, value in relay_labels(task.label).items())
        async with (
            UserClient(CheckedAccess(task.kubeconfig, task.context)) as far,
            _lead_side(task.lead) as broker,
        ):
            relay = PodSide(far, task.namespace, labels, task.port)
            keeping = [asyncio.create_task(self._keep(relay, broker)) for _ in range(IDLE_CONNECTIONS)]
            try:
                return await self._wait()
            finally:
                for each in (*keeping, *self._pairs):
                    each.cancel()
                await asyncio.gather(*keeping, *self._pairs, return_exceptions=True)

    async def _wait(self) -> bool:
        while time.time() < self._task.until:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(60.0, max(self._task.until - time.time(), 0.0))):
                    await self._over.wait()
                return False
        return True

    async def _keep(self, relay: PodSide, broker: ConnectionSide) -> None:
        """Have one connection idle at a time; one that a follower has goes on by itself."""
        delay = MIN_DELAY_SECONDS
        while True:
            is_taken = asyncio.Event()
            life = asyncio.create_task(self._connection(relay, broker, is_taken))
            self._pairs.add(life)
            life.add_done_callback(self._pairs.discard)
            waiting = asyncio.create_task(is_taken.wait())
            try:
                await asyncio.wait((life, waiting), return_when=asyncio.FIRST_COMPLETED)
            finally:
                waiting.cancel()
            if is_taken.is_set():
                delay = MIN_DELAY_SECONDS
            else:
                await asyncio.sleep(delay)
                delay = min(delay * 2, MAX_DELAY_SECONDS)

    async def _connection(self, relay: PodSide, broker: ConnectionSide, is_taken: asyncio.Event) -> None:
        """Have a connection to the relay, from its begin to its end."""
        idle, pair = 0, 0

        def on_idle() -> None:
            nonlocal idle
            idle = 1
            former = self._status.problem
            problem = former if former.startswith(_LEAD) else ""
            self._set(idle=self._status.idle + 1, reached=True, problem=problem, refused=False)

        try:
            async with relay.connected() as stream:
                first = await taken(stream, on_idle)
                is_taken.set()
                idle, pair = 0, 1
                self._set(idle=self._status.idle - 1, pairs=self._status.pairs + 1)
                async with broker.connected() as lead:
                    self._set(problem="")
                    await exchange(stream, lead, first)
        except (KubernetesError, TimeoutError, OSError) as error:
            refused = isinstance(error, ApiError) and error.status in _REFUSALS
            what = str(error) or type(error).__name__
            self._set(problem=f"{_LEAD if pair else 'the relay'}: {what}", refused=refused)
        finally:
            self._set(idle=self._status.idle - idle, pairs=self._status.pairs - pair)

    def _set(self, **values: object) -> None:
        former, self._status = self._status, dataclasses.replace(self._status, **values)  # type: ignore[arg-type]
        if self._status.problem and self._status.problem != former.problem:
            log(self._status.problem)
        self._report(self._status)


@contextlib.asynccontextmanager
async def _lead_side(lead: LeadRoute | LeadHost) -> AsyncIterator[ConnectionSide]:
    """Give the lead's broker. Raises KubernetesError without credentials."""
    if isinstance(lead, LeadHost):
        yield HostSide(lead.host, lead.port)
        return
    async with UserClient(Access(lead.kubeconfig, lead.context)) as near:
        yield PodSide(near, lead.namespace, lead.labels, lead.port)


def main(directory: ReachDirectory) -> int:
    """Live a tunnel's life, unless another process does; return the exit code."""
    if not takes(directory.lock):
        return 0
    task = directory.task()
    if task is None:
        return 1
    try:
        log(f"over: {OVER if asyncio.run(_live(directory, task)) else ENDED}")
    except KubernetesError as error:
        log(f"{error}")
        return 1
    shutil.rmtree(directory.path, ignore_errors=True)
    return 0


async def _live(directory: ReachDirectory, task: ReachTask) -> bool:
    def report(status: ReachStatus) -> None:
        try:
            directory.write(status)
        except OSError as error:  # a full disk must not end the tunnel
            log(f"cannot write its status: {error.strerror}")

    return await TunnelReach(task, report).live()


if __name__ == "__main__":
    sys.exit(main(ReachDirectory(Path(sys.argv[1]))))
