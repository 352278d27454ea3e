"""A timer that can be set again. Flux's own timers, by `call_later`, cannot be canceled."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.flux_scheduler.flux_port import Flux


class Alarm:
    """Calls `ring` at the time that was set last."""

    def __init__(self, flux: Flux, ring: Callable[[], None]) -> None:
        self._flux = flux
        self._ring = ring
        self._due: float | None = None

    def set(self, due: float | None) -> None:
        """Ring at this time; None: do not ring."""
        if due is not None and due != self._due:
            self._flux.call_later(max(0.0, due - self._flux.clock()), partial(self._rings, due))
        self._due = due

    def _rings(self, due: float) -> None:
        if due == self._due:
            self._due = None
            self._ring()
