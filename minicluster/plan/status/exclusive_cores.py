"""Condition ExclusiveCores: whether a static CPU manager gives brokers cores of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.brokers import guarantee
from minicluster.plan.constants import Reason
from minicluster.plan.status.condition_value import ConditionValue

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.records import Site


def condition(cluster: MiniCluster, site: Site) -> ConditionValue | None:
    """Return it for brokers that were cut by a profile; None for others, which are left as they are.

    `cluster` is the document after the cut.
    """
    found = cluster.status.granularity
    if found is None:
        return None
    if found.profile == "io":
        return ConditionValue("False", Reason.NOT_PINNED, "brokers of the profile io are not pinned")
    obstacles = guarantee.obstacles(cluster, site)
    if obstacles:
        advice = "give it requests equal to its limits, for CPU and memory, and whole CPUs to what runs Flux"
        return ConditionValue("False", Reason.NOT_GUARANTEED, f"{'; '.join(obstacles)}: {advice}")
    cores = document.runner(cluster.spec).resources.limits["cpu"]
    return ConditionValue(
        "True",
        Reason.GUARANTEED,
        f"each broker pod is Guaranteed, with {cores} whole CPU{'' if cores == '1' else 's'}:"
        " a kubelet with the static CPU manager gives it cores of its own",
    )
