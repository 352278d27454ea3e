"""Values in whole thousandths, so that sums are exact. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class MetricValue:
    """A value, in thousandths, with its metric and labels."""

    name: str
    labels: Mapping[str, str]
    thousandths: int


def thousandths(value: float) -> int:
    """Return a value in thousandths, rounded up as Kubernetes does: a value above 0 stays above 0."""
    return int((Decimal(str(value)) * 1000).to_integral_value(ROUND_CEILING))


def total(samples: Iterable[MetricValue], *, adds: bool) -> int:
    """Return the sum of values that add up, else the largest."""
    values = [each.thousandths for each in samples]
    return sum(values) if adds else max(values)


def quantity(thousandths: int) -> str:
    """Return a value as a Kubernetes Quantity."""
    whole, rest = divmod(thousandths, 1000)
    return f"{thousandths}m" if rest else str(whole)
