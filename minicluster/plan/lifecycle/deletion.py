"""The plan for a MiniCluster that is being deleted, or that another controller manages: save it. Pure.

No object is applied: with `--cascade=foreground`, or with its namespace, they are being deleted already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.plan.constants import FINALIZER, ConditionType
from minicluster.plan.lifecycle import saving
from minicluster.plan.objects import autoscaler
from minicluster.plan.records import Plan
from minicluster.plan.status import dumps, events, saves, status

if TYPE_CHECKING:
    from datetime import datetime

    from minicluster.document import MiniCluster
    from minicluster.plan.records import Observed, Site


def plan(cluster: MiniCluster, observed: Observed, site: Site, now: datetime) -> Plan:
    """Return the plan until our finalizer is removed; an empty plan where it is not there."""
    stored = cluster.status
    if FINALIZER not in cluster.metadata.finalizers:
        return Plan(objects=(), status=status.kept(stored))
    save = saving.decide(cluster, observed, site, now)
    scaler = autoscaler.own(cluster, observed)
    saved = saves.condition(save, cluster)
    found = {ConditionType.SUSPENDED: saved} if saved else {}
    return Plan(
        objects=(),
        status=status.leaving(cluster, observed, save, now),
        events=(*dumps.events(observed.dump, stored), *events.of_changes(found, stored.conditions)),
        delete=(scaler.key,) if scaler else (),  # the queue is stopped: it would shrink what is being saved
        orders=save.orders,
        again=save.again,
        finalizer=save.pending,
    )
