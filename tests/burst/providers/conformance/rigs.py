"""A provider and the world around it, as the cases need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from burst.planning.records import NodeShape, Offer
from burst.providers.memory import MemoryCloud, MemoryProvider
from burst.providers.provider import WantedBurst

if TYPE_CHECKING:
    from burst.lifecycle.records import ResourceKey
    from burst.providers.provider import BurstProvider

OFFER = Offer("memory", "c8", NodeShape(8), price=1_000_000)


class Rig(Protocol):
    """One provider; who writes another one gives this suite a rig for it."""

    provider: BurstProvider
    machine: str
    """One that it offers."""

    def wait(self) -> None:
        """Let so much time pass that what was begun is done."""

    def occupy(self, key: ResourceKey) -> None:
        """Have somebody else make something of this kind and name."""

    def others(self) -> int:
        """Return how many things of somebody else's are there."""


class MemoryRig:
    """The provider in memory, with a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.cloud = MemoryCloud(lambda: self.now)
        self.provider = MemoryProvider(self.cloud, [OFFER])
        self.machine = OFFER.machine

    def wait(self) -> None:
        self.now += 60.0

    def occupy(self, key: ResourceKey) -> None:
        wanted = WantedBurst("other", "elsewhere", 1, self.machine, spot=False, until=0.0)
        self.cloud.add(key, wanted, 0)

    def others(self) -> int:
        return sum(each.installation == "elsewhere" for each in self.cloud.there())
