"""Ranks of brokers as idsets (RFC 22) and in messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats import idset

if TYPE_CHECKING:
    from collections.abc import Iterable


def decode(text: str) -> frozenset[int]:
    """Return the ranks of a valid idset."""
    return frozenset(idset.decode(text))


def encode(ranks: Iterable[int]) -> str:
    """Return ranks as an idset."""
    return idset.encode(ranks)


def named(text: str) -> str:
    """Return an idset as a message names it: "rank 3", "ranks 1-2", or nothing for none."""
    if not text:
        return ""
    return f"rank {text}" if text.isdecimal() else f"ranks {text}"
