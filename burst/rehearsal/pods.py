"""Pods of bursts in memory: what a provider with node pools runs on its nodes, where there is no cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.lifecycle.records import PREFIX, ResourceKey
from burst.providers.memory import MemoryCloud, MemoryProvider

if TYPE_CHECKING:
    from collections.abc import Sequence

    from burst.providers.provider import WantedBurst

WORKERS = "workers"
"""The kind that the provider `kubernetes` has for all objects of a burst."""


class RehearsedPods(MemoryProvider):
    """One resource a burst, which comes and goes as a MemoryCloud has it, and fails as that orders."""

    def __init__(self, cloud: MemoryCloud, name: str = "pods") -> None:
        super().__init__(cloud, (), name)

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return the pods of a burst: as many as it has nodes."""
        return (ResourceKey(WORKERS, f"{PREFIX}{wanted.label}-pods", wanted.nodes),)
