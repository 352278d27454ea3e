"""The ranks of a slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from broker_config.formats import idset

if TYPE_CHECKING:
    from collections.abc import Iterable


class SlotRanks(NamedTuple):
    """The ranks of a slot: so many from the first one on, with so many cores and GPUs each."""

    first: int
    size: int
    cores: int
    gpus: int = 0

    def within(self, *texts: str) -> frozenset[int]:
        """Return which ranks of some idsets are the slot's, counted from its first one."""
        ranks = (rank for text in texts if text for rank in idset.decode(text.strip("[]")))
        return frozenset(rank - self.first for rank in ranks if 0 <= rank - self.first < self.size)

    def encode(self, ranks: Iterable[int]) -> str:
        """Return ranks of the slot as the instance counts them."""
        return idset.encode(self.first + rank for rank in ranks)
