"""What was charged is the bill of a rehearsed cloud: by how much it may differ (decision 0095)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.burst.proofs.cloud_rigs import CloudRig


class CloudBill(NamedTuple):
    """The bill of a cloud after a burst's life, and when services could see what."""

    rig: CloudRig
    ticks: Sequence[float]
    """When services have done all that there was to do: every call was answered."""
    asked: Sequence[float]
    """Those of them in which the cloud was asked."""

    def check(self, charged: int) -> None:
        """What was charged is the bill, but for the time until a service could first see each end.

        What no listing that was answered could show, as that lags and calls fail, cannot be charged.
        """
        cloud, late, unseen = self.rig.found.cloud, 0.0, 0.0
        for each in cloud.machines:
            assert each.ended is not None
            first, last = each.started + cloud.lag, each.ended + cloud.lag
            if not any(first <= tick < last for tick in self.asked):
                unseen += (each.ended - each.started) * each.price / 3600
            late += (self._seen(each.ended) - each.ended) * each.price / 3600
        late += self._late_fee()
        bill, rounding = cloud.bill(), len(cloud.machines) + 2
        assert bill - unseen - rounding <= charged <= bill + late + rounding, f"{bill=} {charged=} {late=}"

    def _seen(self, ended: float) -> float:
        """Return when a listing could first show an end: of what ends at a tick the answer came before."""
        return next(tick for tick in self.ticks if tick > ended + self.rig.found.cloud.lag)

    def _late_fee(self) -> float:
        """Return what a cluster costs from its end until a listing could show that nothing is left.

        It has its fee in the ledger while anything of the burst is there.
        """
        cloud = self.rig.found.cloud
        clusters = [each for each in cloud.groups if each.fee]
        ends = [each.gone or 0.0 for each in clusters] + [each.ended or 0.0 for each in cloud.machines]
        if not clusters:
            return 0.0
        seen = self._seen(max(ends))
        return sum((seen - (each.gone or 0.0)) * each.fee / 3600 for each in clusters)
