"""MiniClusters without a lead of their own: with a `leadBroker`, all their brokers follow another one's.

What a lead alone needs is not made: its API with its keys and tokens, its PodDisruptionBudget, an autoscaler
by its queue. Nobody connects to followers, but for each other.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from broker_config import broker_toml
from broker_config.formats import host_ranges
from minicluster import document
from minicluster.plan.objects.settings import broker_settings

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.records import Site

FANOUT = 32
"""How many brokers connect to one by default (flux-broker-attributes(7), tbon.topo)."""
_KARY = re.compile(r"kary:(\d+)")


def site_of(cluster: MiniCluster, site: Site) -> Site:
    """Return the site as this MiniCluster uses it: followers have no lead API, whatever it offers."""
    if not document.bursts_out(cluster.spec):
        return site
    return replace(site, lead_api=False, operator_namespace="")


def need_names(cluster: MiniCluster, site: Site) -> bool:
    """Whether followers may connect to one another by their names: not if all connect to the lead.

    By default that is so up to FANOUT followers, those of the lead's MiniCluster among them. A topology that
    is no `kary:N`, or a whole broker.toml of the user's, may be anything.
    """
    if cluster.spec.flux.minimal_service:
        return False  # that Service names a lead, and no other broker
    settings = broker_settings(cluster, site)
    if broker_toml.replaces(settings):
        return True
    found = _KARY.fullmatch(settings.topology or f"kary:{FANOUT}")
    if found is None:
        return True
    fanout = int(found[1])
    return bool(fanout) and host_ranges.total(settings.host_ranges) > fanout + 1
