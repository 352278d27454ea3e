"""Condition Bursting: which bursts there are, as the burst service wrote them into the status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.formats.printable import few
from minicluster.plan.constants import Reason
from minicluster.plan.status.condition_value import ConditionValue

if TYPE_CHECKING:
    from minicluster.document import BurstStatus, MiniCluster

ACTIVE = "active"
ENDING = frozenset({"draining", "deleting"})


def condition(cluster: MiniCluster) -> ConditionValue | None:
    """Return whether bursts run jobs; None where the document does not have them managed."""
    if cluster.spec.bursting is None:
        return None
    bursts = cluster.status.bursts
    if not bursts:
        return ConditionValue("False", Reason.NO_BURSTS, "there are no bursts")
    states = {each.state for each in bursts}
    message = few([_phrase(each) for each in bursts], separator="; ")
    if ACTIVE in states:
        return ConditionValue("True", Reason.BURSTS_ACTIVE, message)
    reason = Reason.BURSTS_ENDING if states <= ENDING else Reason.BURSTS_STARTING
    return ConditionValue("False", reason, message)


def _phrase(burst: BurstStatus) -> str:
    """Return what is known of a burst, such as `burst-0: 2 nodes of research, active until …`."""
    nodes = f"{burst.nodes} node{'s' * (burst.nodes != 1)}"
    limit = f" until {burst.until}" if burst.state == ACTIVE and burst.until else ""
    cost = f", at most {burst.cost}" if burst.cost else ""
    return f"{burst.slot or burst.id}: {nodes} of {burst.provider}, {burst.state}{limit}{cost}"
