"""The plug-in with the policies of this package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies.backfill import Backfill
from queue_policies.common_pool import CommonPool
from queue_policies.conservative import Conservative
from queue_policies.easy import Easy
from queue_policies.fcfs import Fcfs
from queue_policies.malleable import Malleable
from queue_policies.min_agreement import MinAgreement
from queue_policies.moldable import Moldable
from queue_policies.plugins import hookimpl
from queue_policies.preemptive import Preemptive
from queue_policies.priority_elastic import PriorityElastic
from queue_policies.rigid_max import RigidMax
from queue_policies.rigid_min import RigidMin
from queue_policies.water_filling import WaterFilling

if TYPE_CHECKING:
    from queue_policies.policy import Policy


@hookimpl
def minicluster_policies() -> list[type[Policy]]:
    """Return our own policies."""
    return [
        Fcfs,
        Backfill,
        Easy,
        Conservative,
        Preemptive,
        RigidMin,
        RigidMax,
        Moldable,
        PriorityElastic,
        WaterFilling,
        Malleable,
        MinAgreement,
        CommonPool,
    ]
