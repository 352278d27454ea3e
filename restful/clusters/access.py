"""What a request may do at a cluster: its scopes, as far as a grant there allows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from restful.clusters.spec import Tenancy
from restful.errors import HttpProblem
from restful.identity.scopes import GrantRole, at_cluster, stronger
from restful.store.groups import EVERY_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from restful.clusters.cluster import ServedCluster
    from restful.clusters.registry import Clusters
    from restful.identity.principal import Principal


class Grants(Protocol):
    """Who was granted what."""

    async def grants(self, user: str) -> Mapping[str, frozenset[GrantRole]]:
        """Return what a user was granted, by the cluster's name."""


class ClusterAccess:
    """Which clusters somebody may use, and for what."""

    def __init__(self, clusters: Clusters, grants: Grants) -> None:
        self._clusters = clusters
        self._grants = grants

    async def scopes(self, principal: Principal, cluster: ServedCluster) -> frozenset[str]:
        """Return the scopes that a request has at a cluster; none without a grant.

        The owner of a cluster needs no grant, and a grant to use every cluster is none for somebody's own.
        What an operator may do beyond his own jobs depends on his grant.
        """
        found = await self._grants.grants(principal.user)
        granted = set(found.get(cluster.name, ()))
        everywhere = found.get(EVERY_CLUSTER, frozenset[GrantRole]())
        own = cluster.spec.tenancy is Tenancy.OWN
        granted |= everywhere & {GrantRole.OPERATE} if own else everywhere
        if cluster.owner and cluster.owner == principal.user:
            granted.add(GrantRole.USE)
        return at_cluster(principal.scopes, principal.role, stronger(granted))

    async def cluster(
        self, principal: Principal, name: str, scope: str
    ) -> tuple[ServedCluster, frozenset[str]]:
        """Return a cluster and the scopes there. Raises problem "not-found", or "forbidden" without `scope`.

        A cluster at which somebody may do nothing is as one that is not there.
        """
        cluster = self._clusters.get(name)
        scopes = frozenset[str]() if cluster is None else await self.scopes(principal, cluster)
        if not scopes:  # asked in both cases, so that both take as long
            former = await self._clusters.former(name) if name.isprintable() else None
            if former is not None:
                cluster, scopes = former, await self.scopes(principal, former)
        if cluster is None or not scopes:
            raise HttpProblem("not-found", f"there is no cluster {name[:100]!r}")
        if scope not in scopes:
            raise HttpProblem("forbidden", f"at cluster {name} that needs the scope {scope}")
        return cluster, scopes

    async def usable(self, principal: Principal) -> list[ServedCluster]:
        """Return the clusters at which somebody may do anything."""
        return [each for each in self._clusters if await self.scopes(principal, each)]
