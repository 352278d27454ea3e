"""Decides how a MiniCluster with a profile is cut into brokers: once, before its Job is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster import document
from minicluster.document import GranularityStatus, RunMode, rank_resources
from minicluster.document.bounds import MAX_HOSTS
from minicluster.document.rules import MAX_HOST_NAME
from minicluster.plan.brokers import cutting, node_offer
from queue_policies.placement.granularity import granularity
from queue_policies.placement.records import ProfileKind

if TYPE_CHECKING:
    from minicluster.document import GranularityName, MiniCluster
    from minicluster.plan.records import Observed, Site


def refusal(cluster: MiniCluster, observed: Observed, site: Site) -> str:
    """Return why a document cannot be cut as it says; empty: it can, or it was decided before."""
    wanted = cluster.spec.granularity
    if wanted in {None, site.granularity} or site.granularity_override or not _is_open(cluster, observed):
        return ""
    return (
        f"spec.granularity: {wanted} is not what the operator has for all ({site.granularity}), and it lets"
        " no document choose; take spec.granularity out, or ask for --granularity-override"
    )


def decide(cluster: MiniCluster, observed: Observed, site: Site) -> GranularityStatus | None:
    """Return how the brokers are cut, as it was stored, or else as it is decided now; None: they are not.

    Brokers are cut once: the pods of a Job are all made from one template, which cannot change.
    """
    stored, spec = cluster.status.granularity, cluster.spec
    if stored is not None or not _is_open(cluster, observed):
        return stored
    policy = spec.granularity or site.granularity
    if policy == "none" or spec.profile is None:
        return None
    return _decided(cluster, observed, policy)


def _is_open(cluster: MiniCluster, observed: Observed) -> bool:
    """Whether it is still to be decided: no pods were made, and its hosts are not those of another lead."""
    is_new = observed.job is None and not cluster.status.maximum_size
    return is_new and cluster.status.granularity is None and not document.bursts_out(cluster.spec)


def _decided(cluster: MiniCluster, observed: Observed, policy: GranularityName) -> GranularityStatus:
    spec = cluster.spec
    profile = ProfileKind(spec.profile)
    size, resources = max(spec.size, 1), document.runner(spec).resources
    cores = size * (rank_resources.cores(resources, None) or 1)
    tasks = _tasks(cluster, cores)
    rooms = [each.cores * tasks // cores for each in node_offer.offered(cluster, observed.nodes or ())]
    if not any(rooms):  # not known, or none is large enough yet: then nodes are taken for a broker each
        rooms = [-(-tasks // size)] * max(spec.max_size, size)
    division = granularity(tasks, profile, policy, rooms, workers=size)
    most = min(division.workers // size, _most_parts(cluster))
    number = 1 if spec.network.one_per_node == "Required" else cutting.greatest_cut(resources, most)
    return GranularityStatus(
        policy=policy,
        profile=profile.value,
        nodes=division.nodes,
        groups=min(division.groups, size * number),
        brokers=number,
    )


def _tasks(cluster: MiniCluster, cores: int) -> int:
    """Return the tasks for which brokers are cut: the main job's, or one a core where jobs come later."""
    spec = cluster.spec
    if document.run_mode(spec) is not RunMode.PLAIN:
        return cores
    return spec.tasks or max(spec.size, 1)


def _most_parts(cluster: MiniCluster) -> int:
    """Return into how many brokers each one can be cut: hosts and the lengths of their names are bounded."""
    spec = cluster.spec
    size = max(spec.max_size, spec.size, 1)
    remote = spec.flux.bursting.clusters
    as_many = sum(not each.size for each in remote)  # slots that have as many hosts as there are brokers
    known = MAX_HOSTS - sum(each.size for each in remote)
    numbers = 10 ** (MAX_HOST_NAME - len(f"{cluster.metadata.name}-"))
    return int(min(known // (size * (1 + as_many)), numbers // size))
