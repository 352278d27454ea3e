"""The PodDisruptionBudget: Kubernetes does not drain the node of the lead broker, which has the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.plan.constants import ANNOTATION_TOKENS, Component
from minicluster.plan.objects import names
from minicluster.plan.objects.labels import lead_pod, metadata

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site


def build(cluster: MiniCluster, site: Site) -> Object:
    """Return a budget for the lead alone. (maxUnavailable does not work on pods of a Job.)

    It is also the operator's note of which tokens the second Secret has: that one it cannot read.
    """
    about = metadata(cluster, site, names.disruption_budget(cluster), Component.BROKER)
    noted = {"annotations": {ANNOTATION_TOKENS: str(site.generations)}} if site.lead_api else {}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {**about, **noted},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": lead_pod(cluster)}},
    }
