"""Ranks of brokers: as idsets (RFC 22), as numbers whose bit N is set for rank N, and in messages.

The time for a set of bits does not grow with the number of ranks, of which a MiniCluster has up to 100,000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats import idset

if TYPE_CHECKING:
    from collections.abc import Iterable


def bits(text: str) -> int:
    """Return the ranks of a valid idset, as bits."""
    return idset.decode_bits(text)


def span(first: int, stop: int) -> int:
    """Return the ranks from `first` to `stop` - 1, as bits; none where there are none between."""
    return (1 << stop) - (1 << first) if first < stop else 0


def of(ranks: Iterable[int]) -> int:
    """Return these ranks, as bits."""
    found = set(ranks)
    digits = bytearray(b"0") * (max(found, default=0) + 1)
    for rank in found:
        digits[-1 - rank] = ord("1")
    return int(digits, 2)


def listed(ranks: int) -> frozenset[int]:
    """Return each rank of some that are bits."""
    return frozenset(idset.ids_of(ranks))


def count(ranks: int) -> int:
    """Return how many ranks these are."""
    return ranks.bit_count()


def encode(ranks: int) -> str:
    """Return ranks that are bits as an idset."""
    return idset.encode_bits(ranks)


def named(text: str) -> str:
    """Return an idset as a message names it: "rank 3", "ranks 1-2", or nothing for none."""
    if not text:
        return ""
    return f"rank {text}" if text.isdecimal() else f"ranks {text}"
