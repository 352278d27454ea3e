"""The pods of one cluster on this machine, started, replaced and ended as a Job controller would."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.local import pod_policy, pods
from minicluster.local.kubelet import Kubelet, Streams
from minicluster.local.output import last_lines
from minicluster.local.pod_policy import Verdict, back_off

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from minicluster.local.preparation import Prepared
    from minicluster.local.records import Ended, Pod
    from minicluster.local.state_directory import ClusterDirectory

MAIN_STARTED = "main-started"
"""Made by the start script in the lead's run directory when the main command begins."""
EXIT_CODE = "exit-code"
"""Written there when it ended."""
POLL = 0.01


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the lead ended: the main command's exit code, or None with the reason why there is none."""

    exit_code: int | None
    reason: str = ""


class LocalCluster:
    """Broker pods by rank, and the services pod.

    `replace_lead` says what the loss of the lead means: in a persistent cluster it is started again, in the
    foreground the run is over. `notice` is told what happens to pods.
    """

    def __init__(
        self,
        prepared: Prepared,
        notice: Callable[[str], None],
        streams: Streams,
        *,
        replace_lead: bool,
    ) -> None:
        self._blueprint = prepared.blueprint
        self._policy = pod_policy.of_job(prepared.blueprint.job)
        self._notice = notice
        self._replace_lead = replace_lead
        self._kubelet = Kubelet(self.directory, self._on_end, streams)
        self._wanted: set[str] = set()
        self._losses = 0
        self._restarts: dict[str, int] = {}
        self._pending: set[asyncio.TimerHandle] = set()
        self._outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    @property
    def directory(self) -> ClusterDirectory:
        """Where the cluster's files are."""
        return self._blueprint.directory

    def start(self, ranks: range) -> None:
        """Start the brokers of these ranks; with the lead also the services."""
        if 0 in ranks:
            services = pods.services(self._blueprint)
            if services is not None:
                self._start(services)
        for rank in ranks:
            self._start(pods.broker(self._blueprint, rank))

    async def leave(self, ranks: range, grace: float) -> None:
        """End the brokers of these ranks, for good."""
        names = {f"{self._blueprint.name}-{rank}" for rank in ranks}
        self._wanted -= names
        await self._kubelet.stop(names, grace)

    async def stop(self, grace: float) -> None:
        """End everything: the lead first, so that it can end its instance, then what is left."""
        lead = f"{self._blueprint.name}-0"
        names, self._wanted = self._wanted, set()
        await self._kubelet.stop({lead}, grace)
        await self._kubelet.stop(names - {lead}, min(grace, 2.0))

    def kill(self) -> None:
        """End every last process."""
        self._wanted = set()
        for handle in self._pending:
            handle.cancel()
        self._kubelet.kill()
        self._kubelet.close()

    def joined(self, size: int) -> int:
        """Return how many of the first `size` brokers take requests."""
        return sum(self.directory.socket(rank).exists() for rank in range(size))

    async def main_started(self) -> None:
        """Wait until the main command begins, or the lead has ended."""
        started = self.directory.run(0) / MAIN_STARTED
        while not (started.exists() or self._outcome.done()):
            await asyncio.sleep(POLL)

    @property
    def ended(self) -> bool:
        """Whether the lead has ended for good."""
        return self._outcome.done()

    @property
    def instance_ended(self) -> bool:
        """Whether the lead ended in order, so that it told the followers."""
        return self._outcome.done() and self._outcome.result().exit_code is not None

    async def outcome(self) -> Outcome:
        """Wait for the lead's end."""
        return await asyncio.shield(self._outcome)

    def since_command(self) -> float:
        """Return how many seconds ago the main command ended; 0 where it did not."""
        try:
            return max(0.0, time.time() - (self.directory.run(0) / EXIT_CODE).stat().st_mtime)
        except OSError:
            return 0.0

    async def followers_gone(self, limit: float) -> None:
        """Wait until the followers, which the lead told to end, have done so."""
        services = pods.services(self._blueprint)
        names = self._wanted - {f"{self._blueprint.name}-0", services.name if services else ""}
        end = asyncio.get_running_loop().time() + limit
        while any(self._kubelet.is_running(name) for name in names):
            if asyncio.get_running_loop().time() > end:
                return
            await asyncio.sleep(POLL)

    def environment(self) -> dict[str, str]:
        """Return what a program beside the brokers needs to find this cluster's flux."""
        return dict(pods.broker(self._blueprint, 0).containers[0].environment)

    async def child_ended(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a program beside the brokers, and return its exit code."""
        return await self._kubelet.child_ended(process)

    def last_words(self, rank: int) -> list[str]:
        """Return the last lines that a broker wrote."""
        return last_lines(self.directory.log(f"{self._blueprint.name}-{rank}"))

    def _start(self, pod: Pod) -> None:
        self._wanted.add(pod.name)
        self._kubelet.start(pod)

    def _on_end(self, ended: Ended) -> None:
        if ended.pod.name not in self._wanted:
            self._lead_gone(ended)
            return
        if ended.pod.rank is not None and ended.container is not ended.pod.containers[0]:
            self._again(ended)  # a sidecar lives as long as its broker
            return
        verdict = self._policy.verdict(ended, self._losses)
        if verdict is Verdict.REPLACE and not (ended.pod.is_lead and not self._replace_lead):
            self._replace(ended)
        else:
            self._lead_gone(ended)

    def _lead_gone(self, ended: Ended) -> None:
        if not ended.pod.is_lead or ended.container is not ended.pod.containers[0] or self._outcome.done():
            return
        self._outcome.set_result(self._result(ended))

    def _result(self, ended: Ended) -> Outcome:
        told = self._told_code()
        if told is not None:
            return Outcome(told)
        if ended.code == 0 and not ended.signal:
            return Outcome(0)
        how = f"was killed by signal {ended.signal or ended.code - 128}" if ended.code > 128 else ""
        return Outcome(None, f"the lead broker (rank 0) {how or f'ended with exit code {ended.code}'}")

    def _told_code(self) -> int | None:
        """Return the main command's own exit code, as the start script kept it; None where it did not end."""
        try:
            text = (self.directory.run(0) / EXIT_CODE).read_text().strip()
        except OSError:
            return None
        return int(text) if text.isdecimal() else None

    def _replace(self, ended: Ended) -> None:
        if ended.pod.rank is not None:
            self._losses += 1
        self._notice(f"{ended}; it is started again")
        self._again(ended)

    def _again(self, ended: Ended) -> None:
        key = f"{ended.pod.name}/{ended.container.name}"
        times = self._restarts[key] = self._restarts.get(key, -1) + 1
        loop = asyncio.get_running_loop()
        handle = loop.call_later(back_off(times), self._restart_if_wanted, ended)
        self._pending.add(handle)

    def _restart_if_wanted(self, ended: Ended) -> None:
        if ended.pod.name in self._wanted:
            self._kubelet.restart(ended)
