"""Where the operator's time and results are counted: what `metrics.OperatorMetrics` is to its users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


class Meter(Protocol):
    """Where the time goes."""

    def step(self, name: str) -> AbstractContextManager[None]:
        """Measure a step: `whole`, `decide`, `apply`, `status`, `events`; what it raises is counted."""
        ...


class ReconcileMeter(Meter, Protocol):
    """Where it is counted how reconciles end."""

    def reconciled(self, result: str) -> None:
        """Count a reconcile: `ok`, `refused`, `gone`, `retry` or `error`."""
        ...
