"""A provider and leads whose state is files: processes that are killed leave it as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from burst.lifecycle.records import ProbeResult, ResourceKey, ResourcePhase, ResourceReport, SlotView
from burst.planning.records import NodeShape, Offer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from burst.providers.provider import WantedBurst

CORES, MAX_NODES = 8, 4


@dataclass(frozen=True)
class StoredProvider:
    """A resource is a file with its burst and its installation."""

    folder: Path
    price: int
    fee: int = 0
    name = "stored"
    location = "files"

    def offers(self) -> Sequence[Offer]:
        return (Offer(self.name, "c8", NodeShape(CORES), self.price, ready=60.0, fee=self.fee),)

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        return (ResourceKey("file", f"made-{wanted.label}", wanted.nodes),)

    def create(self, key: ResourceKey, token: str, wanted: WantedBurst) -> None:
        (self.folder / key.name).write_text(f"{wanted.label} {wanted.installation} {key.nodes}")

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        there = (self.folder / key.name).exists()
        phase = ResourcePhase.READY if there else ResourcePhase.ABSENT
        nodes = self._nodes(key.nodes) if there else 0
        return ResourceReport(key, phase, burst=wanted.label, installation=wanted.installation, nodes=nodes)

    def _nodes(self, wanted: int) -> int:
        """Return how many are there: one of several is taken away at the end."""
        return wanted - (wanted > 1 and (self.folder / "over").exists())

    def delete(self, key: ResourceKey, wanted: WantedBurst) -> None:
        (self.folder / key.name).unlink(missing_ok=True)

    def broker_problem(self, wanted: WantedBurst) -> str:
        return ""

    def problems(self) -> Iterable[str]:
        return ()

    def tunnel_problems(self) -> Iterable[str]:
        return ()

    def owned(self, installation: str) -> Iterator[ResourceReport]:
        for path in self.folder.glob("made-*"):
            label, owner, nodes = path.read_text().split()
            if owner == installation:
                key = ResourceKey("file", path.name, int(nodes))
                nodes = self._nodes(key.nodes)
                yield ResourceReport(key, ResourcePhase.READY, "", label, owner, nodes=nodes)


@dataclass(frozen=True)
class StoredLead:
    """All ranks are there at once; jobs run until a file says that all have ended."""

    folder: Path
    cluster: str
    instance: str = "instance-1"

    @property
    def is_over(self) -> bool:
        return (self.folder / "over").exists()

    def _started(self, slot: str) -> Path:
        return self.folder / f"started-{self.cluster}-{slot}"

    async def view(self, slot: str, label: str) -> SlotView:
        ranks, is_started = frozenset(range(MAX_NODES)), self._started(slot).exists()
        return SlotView(
            instance=self.instance,
            online=ranks,
            drained=frozenset() if is_started else ranks,
            started=is_started,
            running=frozenset() if self.is_over else frozenset({1}),
            probes={rank: ProbeResult(done=True) for rank in ranks},
        )

    async def probe(self, slot: str, label: str, ranks: Iterable[int]) -> None:
        self._started(slot).touch()

    async def move(self, jobs: Iterable[int], queue: str) -> Mapping[int, str]:
        return dict.fromkeys(jobs, "")

    async def start_queue(self, queue: str) -> None:
        self._started(queue).touch()

    async def close(self, slot: str, nodes: int, reason: str) -> None:
        self._started(slot).unlink(missing_ok=True)

    async def conclude(self, slot: str, jobs: Iterable[int], since: float) -> Mapping[int, str]:
        return dict.fromkeys(jobs, "completed")

    async def restart(self, jobs: Iterable[int]) -> None:
        """Nothing of them is left."""
