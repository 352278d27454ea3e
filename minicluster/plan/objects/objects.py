"""The objects of a MiniCluster in the order in which they are made: the Job behind what it needs.

The Secret, made once and never seen again, is not among them: see `curve_secret`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.plan.objects import (
    autoscaler,
    broker_service,
    config_map,
    disruption_budget,
    job,
    names,
    network_policies,
    services_pod,
    sidecar_services,
)
from minicluster.plan.records import ObjectKey

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site


def build(
    cluster: MiniCluster,
    site: Site,
    *,
    suspended: bool,
    pods: int | None = None,
    job_suspended: bool | None = None,
) -> tuple[Object, ...]:
    """Return the objects, all but the Secret; while suspended without the services pod and the autoscaler.

    The Job is for so many `pods`, and is suspended where `job_suspended`; None: as the document says.
    """
    scaling = autoscaler.wanted_by(cluster, suspended=suspended)
    services = [services_pod.build(cluster, site)] if cluster.spec.services and not suspended else []
    return (
        config_map.build(cluster, site),
        broker_service.build(cluster, site),
        *sidecar_services.build(cluster, site),
        *network_policies.build(cluster, site),
        disruption_budget.build(cluster, site),
        *services,
        job.build(cluster, site, pods, job_suspended=job_suspended),
        *((autoscaler.build(cluster, site, scaling),) if scaling else ()),
    )


def secret_key(cluster: MiniCluster) -> ObjectKey:
    """Return which object holds the certificate."""
    return ObjectKey("Secret", names.curve_secret(cluster))


def services_key(cluster: MiniCluster) -> ObjectKey:
    """Return which object is the services pod."""
    return ObjectKey("Pod", names.services_pod(cluster))


def unwanted(cluster: MiniCluster) -> tuple[ObjectKey, ...]:
    """Return which objects the document does not ask for now: whoever has such a one is not in the way."""
    wanted = autoscaler.wanted_by(cluster, suspended=False)
    return () if wanted else (autoscaler.key(cluster),)


def key_of(item: Object) -> ObjectKey:
    """Return an object's kind and name."""
    return ObjectKey(item["kind"], item["metadata"]["name"])
