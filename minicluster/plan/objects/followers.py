"""MiniClusters without a lead of their own: with a `leadBroker`, all their brokers follow another one's.

What a lead alone needs is not made: its API with its keys and tokens, its PodDisruptionBudget, an autoscaler
by its queue. Nobody connects to followers, but for each other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from broker_config import broker_toml, tree
from broker_config.formats import host_ranges
from minicluster import document
from minicluster.plan.objects.settings import broker_settings

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.records import Site


def site_of(cluster: MiniCluster, site: Site) -> Site:
    """Return the site as this MiniCluster uses it: followers have no lead API, whatever it offers."""
    if not document.bursts_out(cluster.spec):
        return site
    return replace(site, lead_api=False, operator_namespace="")


def need_names(cluster: MiniCluster, site: Site) -> bool:
    """Whether followers may connect to one another by their names: not if all connect to the lead.

    By default all do. A topology that is no `kary:N`, or a whole broker.toml of the user's, may be anything.
    """
    if cluster.spec.flux.minimal_service:
        return False  # that Service names a lead, and no other broker
    settings = broker_settings(cluster, site)
    if broker_toml.replaces(settings):
        return True
    return not tree.is_flat(settings.tree, host_ranges.total(settings.host_ranges))
