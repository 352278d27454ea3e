"""Protocols for measuring reconciles, which `metrics.OperatorMetrics` implements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Meter(Protocol):
    """Measures the steps of reconciles."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """Measure a step: `whole`, `decide`, `apply`, `status`, `events`; exceptions are counted."""
        ...


class ReconcileMeter(Meter, Protocol):
    """Measures the steps of reconciles, and counts reconciles by how they end."""

    def reconciled(self, result: str) -> None:
        """Count a reconcile: `ok`, `refused`, `gone`, `retry` or `error`."""
        ...
