"""What is set for a MiniCluster, from its document and the settings of the service. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.clusters.records import ClusterPolicy
from burst.settings import policy
from burst.settings.policy import ManagedCluster

if TYPE_CHECKING:
    from burst.clusters.records import BurstingCluster
    from burst.settings.records import BurstSettings


def of_cluster(cluster: BurstingCluster, settings: BurstSettings, now: float) -> ClusterPolicy:
    """Return it as it is at a time: budgets are those of its period."""
    found = cluster.document.spec.bursting
    if found is None:
        return ClusterPolicy(problem="the document has no spec.bursting")
    namespace, _, name = cluster.title.partition("/")
    managed = ManagedCluster(cluster.uid, namespace, name)
    choice = policy.providers(found, settings, managed)
    kinds = {each.name: each.kind for each in settings.providers}
    fit = tuple(name for name in choice.names if kinds[name] not in cluster.unfit)
    problems = [cluster.problem, *choice.problems, policy.currency_problem(found, settings)]
    if choice.names and not fit:
        kind = kinds[choice.names[0]]
        problems.append(
            f"{', '.join(choice.names)}: brokers of kind {kind} cannot join a MiniCluster there:"
            f" {cluster.unfit[kind]}"
        )
    if not found.join and cluster.alone is None:
        problems.append("spec.bursting.join is false, and nothing there runs in an instance of its own")
    return ClusterPolicy(
        providers=fit,
        selection=policy.selection(found),
        durations=policy.durations(found),
        timeouts=policy.timeouts(found),
        limits=policy.limits(found, settings, managed, now),
        is_isolated=not found.join,
        is_dry=found.dry_run,
        most_nodes=found.max_nodes or None,
        most_bursts=found.max_bursts or None,
        problem="; ".join(filter(None, problems)),
    )
