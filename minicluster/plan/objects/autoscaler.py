"""The HorizontalPodAutoscaler that a document asks for: the size follows what the queue demands.

It moves `spec.size`, by the scale subresource; what then happens is as if a person had changed it. There is
none while there is no queue to follow: while suspended, or being saved for that, and once it has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
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
"""By how much the size may grow in a PERIOD, whichever is more."""
SHRINK_AFTER = 300
"""Seconds for which less must be demanded before the size shrinks.

Jobs come in bursts, and a node that was given back may take minutes to come again.
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
                        # The target of type Value counts pods that are ready, and fails where none is.
                        "target": {"type": "AverageValue", "averageValue": str(wanted.target)},
                    },
                }
            ],
            "behavior": merged(_behavior(site), passed(wanted.behavior)),
        },
    }


def _behavior(site: Site) -> Object:
    """Return how fast the size changes: up at once, down once it has been enough for a while."""
    # By itself a tenth more or less changes nothing: of 20 nodes two too few, for ever. The demand is exact.
    exactly = {"tolerance": "0"} if site.scaling_tolerance else {}
    steps = [
        {"type": "Percent", "value": GROWTH_PERCENT, "periodSeconds": PERIOD},
        {"type": "Pods", "value": GROWTH_PODS, "periodSeconds": PERIOD},
    ]
    # Any number may go at a time: each waits for its jobs anyway.
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
    """Return the least and the greatest size; without a `maxSize` growth ends at the size at start."""
    least = wanted.min_size or document.min_size(cluster.spec)
    return least, wanted.max_size or document.max_size(cluster)


def wanted_by(cluster: MiniCluster, *, suspended: bool) -> Autoscaling | None:
    """Return what the document asks for, None where there is to be no autoscaler now."""
    return None if suspended or cluster.spec.suspend else cluster.spec.autoscaling


def key(cluster: MiniCluster) -> ObjectKey:
    """Return which object is the autoscaler."""
    return ObjectKey(AUTOSCALER_KIND, names.autoscaler(cluster))


def own(cluster: MiniCluster, observed: Observed) -> ObservedObject | None:
    """Return the autoscaler where it exists and is this MiniCluster's."""
    found = observed.find(key(cluster))
    return found if found is not None and found.owner_uid == cluster.metadata.uid else None


def refusals(found: Iterable[ApplyRefusal], *, of_autoscaler: bool) -> tuple[ApplyRefusal, ...]:
    """Return what was refused: the autoscaler, or what brokers need."""
    return tuple(each for each in found if (each.key.kind == AUTOSCALER_KIND) is of_autoscaler)
