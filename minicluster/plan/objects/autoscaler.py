"""The HorizontalPodAutoscaler of a document with `spec.autoscaling`: the size follows the queue's demand.

It changes `spec.size` by the scale subresource; what follows is the same as after a user's change. It exists
only while there is a queue: not while the MiniCluster is suspended, or saved for that, or has ended.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.brokers.cutting import parts
from minicluster.plan.constants import API_VERSION, KIND, Component
from minicluster.plan.objects import names
from minicluster.plan.objects.fields import merged, passed
from minicluster.plan.objects.labels import metadata
from minicluster.plan.records import ObjectKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.document import Autoscaling, MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import ApplyRefusal, Observed, ObservedObject, Site

AUTOSCALER_KIND = "HorizontalPodAutoscaler"
PERIOD = 15
"""Seconds between two evaluations of the autoscaler, unless it is configured otherwise."""
GROWTH_PODS, GROWTH_PERCENT = 4, 100
"""By how much the size may grow in a PERIOD: the greater of both."""
SHRINK_AFTER = 300
"""Seconds for which the demand must be smaller before the size shrinks.

Jobs come in bursts, and a new node for one that was given up may take minutes.
"""


def build(cluster: MiniCluster, site: Site, wanted: Autoscaling) -> Object:
    """Return the autoscaler."""
    target = {"apiVersion": API_VERSION, "kind": KIND, "name": cluster.metadata.name}
    least, greatest = bounds(cluster, wanted)
    return {
        "apiVersion": "autoscaling/v2",
        "kind": AUTOSCALER_KIND,
        "metadata": metadata(cluster, site, names.autoscaler(cluster), Component.BROKER),
        "spec": {
            "scaleTargetRef": target,
            "minReplicas": least,
            "maxReplicas": greatest,
            "metrics": [
                {
                    "type": "Object",
                    "object": {
                        "describedObject": target,
                        "metric": {"name": wanted.metric},
                        # A target of type Value counts ready pods, and fails where none is ready.
                        "target": {"type": "AverageValue", "averageValue": _target(cluster, wanted)},
                    },
                }
            ],
            "behavior": merged(_behavior(site), passed(wanted.behavior)),
        },
    }


def _behavior(site: Site) -> Object:
    """Return how fast the size changes: up at once, down after SHRINK_AFTER seconds of smaller demand."""
    # By default a tenth more or less changes nothing: two of 20 nodes too few, for ever. The demand is exact.
    exactly = {"tolerance": "0"} if site.scaling_tolerance else {}
    steps = [
        {"type": "Percent", "value": GROWTH_PERCENT, "periodSeconds": PERIOD},
        {"type": "Pods", "value": GROWTH_PODS, "periodSeconds": PERIOD},
    ]
    # Any number of pods may go at a time: each waits for its jobs.
    all_of_them = [{"type": "Percent", "value": 100, "periodSeconds": PERIOD}]
    return {
        "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": steps, **exactly},
        "scaleDown": {
            "stabilizationWindowSeconds": SHRINK_AFTER,
            "selectPolicy": "Max",
            "policies": all_of_them,
            **exactly,
        },
    }


def bounds(cluster: MiniCluster, wanted: Autoscaling) -> tuple[int, int]:
    """Return the least and the greatest `spec.size`; without a `maxSize` growth ends at the size at start."""
    each = parts(cluster)
    least = wanted.min_size or -(-document.min_size(cluster.spec) // each)
    if each == 1:
        return least, wanted.max_size or document.max_size(cluster)
    most = document.max_size(cluster) // each
    return least, min(wanted.max_size or most, most)


def _target(cluster: MiniCluster, wanted: Autoscaling) -> str:
    """Return how much of the metric one of `spec.size` is for: as much as its brokers together."""
    each = parts(cluster)
    if each == 1:
        return str(wanted.target)
    return f"{math.ceil(document.quantity(wanted.target) * each * 1000)}m"


def wanted_by(cluster: MiniCluster, *, suspended: bool) -> Autoscaling | None:
    """Return the document's autoscaling; None where there is to be no autoscaler now.

    Followers have no queue of their own, by which their number could be decided.
    """
    if suspended or cluster.spec.suspend or document.bursts_out(cluster.spec):
        return None
    return cluster.spec.autoscaling


def key(cluster: MiniCluster) -> ObjectKey:
    """Return the key of the autoscaler."""
    return ObjectKey(AUTOSCALER_KIND, names.autoscaler(cluster))


def own(cluster: MiniCluster, observed: Observed) -> ObservedObject | None:
    """Return the autoscaler; None where it does not exist, or has another owner."""
    found = observed.find(key(cluster))
    return found if found is not None and found.owner_uid == cluster.metadata.uid else None


def refusals(found: Iterable[ApplyRefusal], *, of_autoscaler: bool) -> tuple[ApplyRefusal, ...]:
    """Return the refusals of the autoscaler, or those of all other objects."""
    return tuple(each for each in found if (each.key.kind == AUTOSCALER_KIND) is of_autoscaler)
