"""Values as they are passed on: whole thousandths, of which nothing is lost where they are added up. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True)
class MetricValue:
    """A value: its metric, its labels, and how many thousandths it is."""

    name: str
    labels: Mapping[str, str]
    thousandths: int


def thousandths(value: float) -> int:
    """Return a value in thousandths; rounded up, as Kubernetes does: what is more than nothing stays so."""
    return int((Decimal(str(value)) * 1000).to_integral_value(ROUND_CEILING))


def total(samples: Iterable[MetricValue], *, adds: bool) -> int:
    """Return the sum of values that add up, else the largest."""
    values = [each.thousandths for each in samples]
    return sum(values) if adds else max(values)


def quantity(thousandths: int) -> str:
    """Return a value as a Kubernetes Quantity."""
    whole, rest = divmod(thousandths, 1000)
    return f"{thousandths}m" if rest else str(whole)
