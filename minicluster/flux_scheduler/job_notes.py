"""The annotations of a malleable job: how many workers it has, which these are, and what became of orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats.jobid import f58

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.flux_scheduler.flux_port import Flux
    from minicluster.malleable.session import Session
    from queue_policies.orders.program import ProgramOrders


class JobNotes:
    """Those of one job. `companions` are the ids of its further workers, by their tasks' numbers."""

    def __init__(
        self, flux: Flux, job: int, session: Session, orders: ProgramOrders, companions: Mapping[int, int]
    ) -> None:
        self._flux = flux
        self._job = job
        self._session = session
        self._orders = orders
        self._companions = companions

    def ordered(self) -> None:
        """Show the size that the order under way leads to."""
        order, size = self._session.order, self._session.size
        if order is not None:
            note = {"workers": size, "target": order.target(size)}
            self._flux.annotate(self._job, note, logged=False)

    def ended(self, what: str) -> None:
        """Show what became of the latest order."""
        jobs = [self._companions[task] for task in sorted(self._orders.slots) if task in self._companions]
        names = ",".join(map(f58, jobs))
        note = {"workers": self._session.size, "companions": names, "order": f"{self._orders.number} {what}"}
        self._flux.annotate(self._job, note)
        self._flux.annotate(self._job, {"target": None}, logged=False)
