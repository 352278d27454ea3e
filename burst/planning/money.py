"""Money as whole micro-units of a currency, so that sums are exact and never a float."""

from __future__ import annotations

import math
import re

from burst.errors import AmountInvalid

MICRO = 1_000_000
"""Micro-units in one unit of a currency."""
HOUR = 3600
_AMOUNT = re.compile(r"(\d{1,12})(?:\.(\d{1,6}))?")


def amount(text: str) -> int:
    """Return an amount such as `12.50` in micro-units. Raises AmountInvalid."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise AmountInvalid(
            f"{text[:40]!r} is no amount; right would be 50 or 0.125, with at most 6 digits behind the point"
        )
    whole, fraction = found.groups("0")
    return int(whole) * MICRO + int(fraction.ljust(6, "0"))


def encode(micro: int) -> str:
    """Return an amount for people, with two digits behind the point, or as many as it has."""
    whole, fraction = divmod(abs(micro), MICRO)
    digits = f"{fraction:06}".rstrip("0").ljust(2, "0")
    return f"{'-' if micro < 0 else ''}{whole}.{digits}"


def rounded(micro: int) -> str:
    """Return an amount for people, rounded up to two digits behind the point."""
    cent = MICRO // 100
    return encode(-(-micro // cent) * cent)


def cost(price: int, nodes: int, seconds: float) -> int:
    """Return what nodes cost at a price an hour and node, in micro-units, rounded up."""
    return -(-price * nodes * math.ceil(seconds * 1000) // (HOUR * 1000))


def portions(total: int, weights: dict[str, int]) -> dict[str, int]:
    """Return a total divided in proportion to weights, each portion rounded up: none is too small."""
    whole = sum(weights.values())
    return {name: -(-total * weight // whole) for name, weight in weights.items()} if whole else {}
