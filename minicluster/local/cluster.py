"""The pods of one cluster on this machine, started, replaced and ended as a Job controller would."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from minicluster.local import pod_policy, pods
from minicluster.local.container_restarts import ContainerRestarts
from minicluster.local.kubelet import Kubelet, Streams
from minicluster.local.lead_run import POLL_INTERVAL, LeadRun
from minicluster.local.output import last_lines
from minicluster.local.pod_policy import Verdict

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

    from minicluster.local.preparation import Prepared
    from minicluster.local.records import EndedContainer, LocalPod
    from minicluster.local.state_directory import ClusterDirectory


class LocalCluster:
    """Broker pods by rank, and the services pod. `lead` is the lead's run.

    With `replace_lead` a lost lead is started again, as in a persistent cluster; else its loss ends the run.
    `notice` receives what happens to pods.
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
        self._restarts = ContainerRestarts(self._restart_if_wanted)
        self._wanted: set[str] = set()
        self._losses = 0
        self.lead = LeadRun(self.directory)

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
        self._restarts.cancel()
        self._kubelet.kill()
        self._kubelet.close()

    def joined(self, size: int) -> int:
        """Return how many of the first `size` brokers take requests."""
        return sum(self.directory.socket(rank).exists() for rank in range(size))

    async def followers_gone(self, limit: float) -> None:
        """Wait at most `limit` seconds for the end of the followers, which the lead has shut down."""
        services = pods.services(self._blueprint)
        names = self._wanted - {f"{self._blueprint.name}-0", services.name if services else ""}
        end = asyncio.get_running_loop().time() + limit
        while any(self._kubelet.is_running(name) for name in names):
            if asyncio.get_running_loop().time() > end:
                return
            await asyncio.sleep(POLL_INTERVAL)

    def environment(self) -> dict[str, str]:
        """Return the environment in which a program beside the brokers finds this cluster's flux."""
        return dict(pods.broker(self._blueprint, 0).main.environment)

    async def child_ended(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for a program beside the brokers, and return its exit code."""
        return await self._kubelet.child_ended(process)

    def log_tail(self, rank: int) -> list[str]:
        """Return the last lines that a broker wrote."""
        return last_lines(self.directory.log(f"{self._blueprint.name}-{rank}"))

    def _start(self, pod: LocalPod) -> None:
        self._wanted.add(pod.name)
        self._kubelet.start(pod)

    def _on_end(self, ended: EndedContainer) -> None:
        if ended.pod.name not in self._wanted:
            self.lead.end(ended)
            return
        if ended.pod.rank is not None and not ended.is_main:
            self._restarts.plan(ended)  # a sidecar lives as long as its broker
            return
        verdict = self._policy.verdict(ended, self._losses)
        if verdict is Verdict.REPLACE and not (ended.pod.is_lead and not self._replace_lead):
            self._replace(ended)
        else:
            self.lead.end(ended)

    def _replace(self, ended: EndedContainer) -> None:
        if ended.pod.rank is not None:
            self._losses += 1
        self._notice(f"{ended}; it is started again")
        self._restarts.plan(ended)

    def _restart_if_wanted(self, ended: EndedContainer) -> None:
        if ended.pod.name in self._wanted:
            self._kubelet.restart(ended)
