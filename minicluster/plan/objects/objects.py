"""The objects of a MiniCluster in the order in which they are made: the Job after what it needs.

The Secret is not among them, as it is created once and never read again: see `curve_secret`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.plan.objects import (
    autoscaler,
    broker_service,
    config_map,
    disruption_budget,
    followers,
    job,
    names,
    network_policies,
    services_pod,
    shared_flux_files,
    sidecar_services,
)
from minicluster.plan.objects.labels import namespace
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
    mounts_flux_files: bool | None = None,
) -> tuple[Object, ...]:
    """Return the objects without the Secret; while suspended also without services pod and autoscaler.

    `pods` is the Job's number of pods, `job_suspended` whether it is suspended; None: as in the document.
    `mounts_flux_files`: whether its pods mount those of the namespace; None: as those of a new Job.
    """
    site = followers.site_of(cluster, site)
    follows = document.bursts_out(cluster.spec)
    has_names = not follows or followers.need_names(cluster, site)
    if mounts_flux_files is None:
        mounts_flux_files = shared_flux_files.are_mounted(site, None)
    scaling = autoscaler.wanted_by(cluster, suspended=suspended)
    services = [services_pod.build(cluster, site)] if cluster.spec.services and not suspended else []
    return (
        *([_flux_files(cluster, site)] if mounts_flux_files else []),
        config_map.build(cluster, site, with_zips=not mounts_flux_files),
        *([broker_service.build(cluster, site)] if has_names else []),
        *sidecar_services.build(cluster, site),
        *network_policies.build(cluster, site),
        *([] if follows else [disruption_budget.build(cluster, site)]),
        *services,
        job.build(
            cluster,
            site,
            pods,
            job_suspended=job_suspended,
            mounts_flux_files=mounts_flux_files,
        ),
        *((autoscaler.build(cluster, site, scaling),) if scaling else ()),
    )


def _flux_files(cluster: MiniCluster, site: Site) -> Object:
    return shared_flux_files.build(namespace(cluster, site), site.flux_files)


def secret_key(cluster: MiniCluster) -> ObjectKey:
    """Return the key of the Secret."""
    return ObjectKey("Secret", names.curve_secret(cluster))


def services_key(cluster: MiniCluster) -> ObjectKey:
    """Return the key of the services pod."""
    return ObjectKey("Pod", names.services_pod(cluster))


def unwanted(cluster: MiniCluster) -> tuple[ObjectKey, ...]:
    """Return the keys of objects that the document does not ask for: such objects never conflict."""
    wanted = autoscaler.wanted_by(cluster, suspended=False)
    return () if wanted else (autoscaler.key(cluster),)


def key_of(item: Object) -> ObjectKey:
    """Return an object's kind and name."""
    return ObjectKey(item["kind"], item["metadata"]["name"])
