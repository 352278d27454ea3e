"""A MiniCluster's lead as a model: queues, ranks of a slot, and jobs that run for some time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from burst.errors import ClusterGone, LeadAway
from burst.lifecycle.records import ProbeResult, ResourcePhase, SlotView
from burst.providers.memory import PODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from burst.providers.memory import MemoryCloud
    from tests.burst.life.meter import Meter

LOCAL = 2
"""Nodes that are there without a burst."""


@dataclass
class ModelJob:
    """A job."""

    nodes: int
    seconds: float
    queue: str = "default"
    ends: float | None = None
    """When it ends, while it runs."""
    where: str = ""
    runs: int = 0
    """How often it has run to its end."""
    depends: bool = False


class ModelLead:
    """One MiniCluster with a slot."""

    def __init__(self, cloud: MemoryCloud, size: int) -> None:
        self.instance = "instance-1"
        self.cloud = cloud
        self.jobs: dict[int, ModelJob] = {}
        self.lost: list[int] = []
        """Jobs whose nodes went while they ran."""
        self.started = {"default": True, "burst-0": False}
        self.drained: set[int] = set()
        self.probes: dict[str, dict[int, ProbeResult]] = {}
        self.wrong: dict[int, str] = {}
        """By rank: why jobs do not run there."""
        self.unresponsive: dict[int, float] = {}
        self.is_away = False
        self.is_gone = False
        self._size = size
        self._now = 0.0

    def submit(self, nodes: int, seconds: float) -> int:
        """Add a job to the default queue."""
        job = len(self.jobs) + 1
        self.jobs[job] = ModelJob(nodes, seconds)
        return job

    @property
    def online(self) -> frozenset[int]:
        """The ranks of the slot that are up: those of pods that are ready."""
        there = self.cloud.there()
        up = any(each.key.kind == PODS and each.phase is ResourcePhase.READY for each in there)
        nodes = sum(each.nodes or 0 for each in there)
        return frozenset(range(min(nodes, self._size))) if up else frozenset()

    def pass_time(self, now: float) -> None:
        """Let jobs end and start."""
        self._now = now
        for number, job in self.jobs.items():
            if job.ends is None:
                continue
            if job.where == "burst-0" and len(self.online) < job.nodes:
                self.lost.append(number)
                job.ends = None
                job.queue = "failed"
            elif job.ends <= now:
                job.ends = None
                job.runs += 1
                job.queue = "done"
        self._start("default", LOCAL)
        self._start("burst-0", len(self.online - self.drained))

    def _start(self, queue: str, nodes: int) -> None:
        free = nodes - sum(each.nodes for each in self._running(queue).values())
        for job in self.jobs.values():
            if self.started[queue] and job.queue == queue and job.ends is None and job.nodes <= free:
                job.ends, job.where = self._now + job.seconds, queue
                free -= job.nodes

    def _running(self, queue: str) -> dict[int, ModelJob]:
        return {
            number: job for number, job in self.jobs.items() if job.ends is not None and job.where == queue
        }

    # -- what bursting asks ------------------------------------------------------------------------------

    def view(self, slot: str, label: str) -> SlotView:
        return SlotView(
            instance=self.instance,
            online=self.online,
            unresponsive=dict(self.unresponsive),
            drained=frozenset(self.drained),
            started=self.started[slot],
            pending=frozenset(n for n, job in self.jobs.items() if job.queue == slot and job.ends is None),
            running=frozenset(self._running(slot)),
            probes=dict(self.probes.get(label, {})),
        )

    def probe(self, label: str, ranks: tuple[int, ...]) -> None:
        self.drained -= set(ranks)
        known = self.probes.setdefault(label, {})
        for rank in ranks:
            known.setdefault(rank, ProbeResult(rank not in self.wrong, self.wrong.get(rank, "")))

    def move(self, jobs: tuple[int, ...], queue: str) -> dict[int, str]:
        found = {}
        for number in jobs:
            job = self.jobs[number]
            if job.ends is not None and job.where != queue:
                found[number] = "update of queue for running job not supported"
            elif job.queue in ("done", "failed"):
                found[number] = "job is inactive"
            else:
                job.queue, found[number] = queue, ""
        return found

    def start_queue(self, queue: str) -> None:
        self.started[queue] = True

    def close(self, slot: str, nodes: int) -> None:
        self.started[slot] = False
        self.drained |= set(range(nodes))

    def restart(self, jobs: tuple[int, ...]) -> None:
        for number in jobs:
            job = self.jobs[number]
            if job.ends is not None and job.where == "burst-0":
                job.ends, job.queue = None, "default"

    def conclude(self, jobs: tuple[int, ...]) -> dict[int, str]:
        found = {}
        for number in jobs:
            job = self.jobs[number]
            found[number] = {"done": "completed", "failed": "begun anew"}.get(job.queue, "goes on elsewhere")
            if job.queue == "failed":
                job.queue = "default"
        return found


class MeteredLead:
    """The same as bursting reaches it: each call is counted, and it may not answer."""

    def __init__(self, lead: ModelLead, meter: Meter) -> None:
        self._lead = lead
        self._meter = meter

    async def view(self, slot: str, label: str) -> SlotView:
        found: SlotView = self._called("view", slot, label)
        return found

    async def probe(self, _slot: str, label: str, ranks: Iterable[int]) -> None:
        self._called("probe", label, tuple(ranks))

    async def move(self, jobs: Iterable[int], queue: str) -> Mapping[int, str]:
        found: dict[int, str] = self._called("move", tuple(jobs), queue)
        return found

    async def start_queue(self, queue: str) -> None:
        self._called("start_queue", queue)

    async def close(self, slot: str, nodes: int, _reason: str) -> None:
        self._called("close", slot, nodes)

    async def restart(self, jobs: Iterable[int]) -> None:
        self._called("restart", tuple(jobs))

    async def conclude(self, _slot: str, jobs: Iterable[int], _since: float) -> Mapping[int, str]:
        found: dict[int, str] = self._called("conclude", tuple(jobs))
        return found

    def _called(self, name: str, *arguments: Any) -> Any:
        if self._lead.is_gone:
            raise ClusterGone("its MiniCluster is gone")
        if self._lead.is_away:
            raise LeadAway("the lead does not answer")
        try:
            return self._meter.call(f"lead {name}", getattr(self._lead, name))(*arguments)
        except ConnectionResetError as error:
            raise LeadAway(str(error)) from None
