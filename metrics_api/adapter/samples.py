"""The samples of a lead broker: parses them, chooses among them, and divides values among pods. Pure."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from metrics_api.answers.samples import MetricValue, thousandths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metrics_api.answers.selectors import Selector

MAX_SAMPLES = 10_000
"""Samples in one answer of a lead."""
MAX_LABEL_LENGTH = 1_000
"""Characters of a label's value."""
LARGEST = 9.2e15
"""In thousandths. Kubernetes computes with Quantities in thousandths of 64 bits."""
STALE_SECONDS = 5.0
"""The age of the oldest sample that is passed on."""


class ReadingError(Exception):
    """A lead's answer is invalid; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer of a lead."""

    age: float
    """The samples' age in seconds, when the lead answered."""
    samples: tuple[MetricValue, ...]

    def chosen(self, metric: str, labels: Selector) -> tuple[MetricValue, ...]:
        """Return the samples of a metric whose labels match."""
        return tuple(each for each in self.samples if each.name == metric and labels.matches(each.labels))


def parse(text: bytes) -> Reading:
    """Read a lead's answer to GET /v1/queue. Raises ReadingError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ReadingError("answers something that is no JSON") from None
    if not isinstance(document, dict):
        raise ReadingError("answers something that is no object")
    age, samples = document.get("age"), document.get("samples")
    if not _is_number(age) or not -1 <= age < math.inf:
        raise ReadingError("does not say how old its numbers are")
    if age > STALE_SECONDS:
        raise ReadingError(f"has numbers of {age:.0f} s ago only")
    if not isinstance(samples, list) or len(samples) > MAX_SAMPLES:
        raise ReadingError("has no list of numbers, or too long a one")
    return Reading(max(float(age), 0.0), tuple(_sample(each) for each in samples))


def split_evenly(whole: int, parts: int) -> Sequence[int]:
    """Return a value in parts that are equal to within a thousandth, and add up to exactly the whole."""
    each, rest = divmod(whole, parts)
    return [each + (number < rest) for number in range(parts)]


def _sample(document: Any) -> MetricValue:
    if not isinstance(document, dict):
        raise ReadingError("has a number that is no object")
    name, labels, value = document.get("name"), document.get("labels"), document.get("value")
    if not isinstance(name, str) or not isinstance(labels, dict):
        raise ReadingError("has a number without a name, or without labels")
    if not all(isinstance(text, str) and len(text) <= MAX_LABEL_LENGTH for text in labels.values()):
        raise ReadingError("has a label that is no text, or too long a one")
    if not _is_number(value) or not 0 <= value <= LARGEST / 1000:
        raise ReadingError(f"has no number for {name[:80]!r}")
    return MetricValue(name, labels, thousandths(value))


def _is_number(found: Any) -> TypeGuard[int | float]:
    return isinstance(found, int | float) and not isinstance(found, bool)
