"""An instance elsewhere as a model: it is there while its machines are, and runs one job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from burst.errors import CallInvalid, RetryLater
from burst.lifecycle.isolation import JobElsewhere, OutputPart, PackedResults, RemoteView
from burst.lifecycle.records import ResourcePhase
from burst.providers.memory import NODES, PODS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.burst.life.meter import Meter
    from tests.burst.life.world import World

OUTPUT = {"stdout": b"out " * 64, "stderr": b"err " * 32}
RESULTS = b"an archive"
DIGEST = "5e" * 32
CHUNK = 100
"""Bytes that one look has of a stream."""


@dataclass
class ModelRemoteJob:
    """A job there."""

    seconds: float
    is_on_hold: bool = True
    is_canceled: bool = False
    ends: float | None = None
    runs: int = 0


@dataclass
class ModelRemote:
    """The instance of one burst."""

    label: str
    instance: str = "there-1"
    jobs: list[ModelRemoteJob] = field(default_factory=list)
    is_packed: bool = False


class ModelRemotes:
    """All instances; those whose pods are gone do not answer, and what ran there has ended."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.by_label: dict[str, ModelRemote] = {}
        self.seconds = 30.0
        """How long a job runs."""
        self.status = 7 << 8
        self.has_results = True
        self.refusal = ""
        """Why jobs are refused there."""
        self.silent: dict[str, float] = {}
        self.is_away = False

    def pass_time(self, now: float) -> None:
        """Let jobs end and start; what runs where nothing is there any more has ended without an end."""
        for remote in self.by_label.values():
            is_there = self.nodes(remote.label) > 0
            for job in remote.jobs:
                if job.ends is not None and (job.is_canceled or not is_there):
                    job.ends = None
                    job.is_canceled = True
                elif job.ends is not None and job.ends <= now:
                    job.ends = None
                    job.runs += 1
                elif job.ends is None and not (job.is_on_hold or job.is_canceled or job.runs) and is_there:
                    job.ends = now + self.seconds

    def nodes(self, label: str) -> int:
        """Return how many nodes of a burst are there, if its pods are ready."""
        there = [each for each in self.world.cloud.there() if each.burst == label]
        is_up = any(each.key.kind == PODS and each.phase is ResourcePhase.READY for each in there)
        return sum(each.key.nodes for each in there if each.key.kind == NODES) if is_up else 0

    def view(self, label: str, received: Mapping[str, int] | None) -> RemoteView:
        remote = self._there(label)
        job = results = None
        if remote.jobs:
            first = remote.jobs[0]
            is_over = bool(first.runs) or (first.is_canceled and first.ends is None)
            parts = tuple(_parts(received, OUTPUT)) if received is not None and first.runs else ()
            status = self.status if first.runs else 15
            how = (first.is_on_hold, first.is_canceled, is_over, status)
            job = JobElsewhere(1, *how, has_results=self.has_results, parts=parts)
            if remote.is_packed:
                found = tuple(_parts(received or {}, {"results": RESULTS}))
                results = PackedResults(True, "", DIGEST, found)
        return RemoteView(remote.instance, self.nodes(label), job, results)

    def submit(self, label: str, _jobspec: Mapping[str, Any]) -> int:
        remote = self._there(label)
        if self.refusal:
            raise CallInvalid(self.refusal)
        if not remote.jobs:
            remote.jobs.append(ModelRemoteJob(self.seconds))
        return 1

    def release(self, label: str) -> None:
        self._there(label).jobs[0].is_on_hold = False

    def pack(self, label: str) -> None:
        self._there(label).is_packed = True

    def cancel(self, label: str, _reason: str) -> None:
        self._there(label).jobs[0].is_canceled = True

    def _there(self, label: str) -> ModelRemote:
        if self.is_away or not self.nodes(label):
            self.silent.setdefault(label, self.world.now)
            raise RetryLater("the instance does not answer")
        self.silent.pop(label, None)
        return self.by_label.setdefault(label, ModelRemote(label))


def _parts(received: Mapping[str, int], written: Mapping[str, bytes]) -> list[OutputPart]:
    begin = {stream: received.get(stream, 0) for stream in written}
    return [
        OutputPart(stream, begin[stream], data[begin[stream] : begin[stream] + CHUNK])
        for stream, data in written.items()
        if data[begin[stream] :]
    ]


class MeteredRemote:
    """One of them as bursting reaches it: each call is counted, and its answer may be lost."""

    def __init__(self, remotes: ModelRemotes, label: str, meter: Meter) -> None:
        self._remotes = remotes
        self._label = label
        self._meter = meter

    @property
    def silent_since(self) -> float | None:
        return self._remotes.silent.get(self._label)

    async def view(self, received: Mapping[str, int] | None) -> RemoteView:
        found: RemoteView = self._called("view", received)
        return found

    async def submit(self, jobspec: Mapping[str, Any]) -> int:
        found: int = self._called("submit", jobspec)
        return found

    async def release(self) -> None:
        self._called("release")

    async def pack(self) -> None:
        self._called("pack")

    async def cancel(self, reason: str) -> None:
        self._called("cancel", reason)

    def _called(self, name: str, *arguments: Any) -> Any:
        try:
            return self._meter.call(f"remote {name}", getattr(self._remotes, name))(self._label, *arguments)
        except ConnectionResetError as error:
            raise RetryLater(str(error)) from None
