"""An account with a rehearsed cluster of EKS, and providers that use it by AWS's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.planning import money
from burst.providers.eks.clients import AwsClients
from burst.providers.eks.clusters import EksClusters
from burst.providers.eks.groups import EksGroups
from burst.providers.eks.settings import EksSettings
from burst.providers.memory import MemoryCloud
from burst.providers.node_pools.cluster_provider import ClusterProvider
from burst.providers.node_pools.provider import NodePoolProvider
from burst.providers.node_pools.settings import OWN_NAMESPACE
from burst.rehearsal.aws_queries import AwsQueries
from burst.rehearsal.cloud import RehearsedCloud
from burst.rehearsal.eks import RehearsedEks
from burst.rehearsal.pods import RehearsedPods
from burst.rehearsal.server import CloudServer, ServedCloud

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from burst.providers.cloud_machines import PricedMachine
    from burst.providers.eks.settings import EksClusterCreation
    from burst.providers.node_pools.pods_on_nodes import PodsInClusters
    from burst.providers.provider import BurstProvider

KEY, SECRET = "AKIAREHEARSED", "known-to-rehearsals-alone"
NAMESPACE = "bursts"


def cloud(now: Callable[[], float], machines: Sequence[PricedMachine], fee: int = 0) -> RehearsedCloud:
    """Return a cloud that sells what a price table has, and clusters for a fee an hour."""
    spot = {each.machine: money.amount(each.spot_price) for each in machines if each.spot_price}
    prices = {each.machine: money.amount(each.price) for each in machines}
    return RehearsedCloud(now, prices, spot_prices=spot, fee=fee)


class EksAccount(ServedCloud):
    """Answers as AWS does, until it is left."""

    def __init__(self, found: RehearsedCloud, folder: Path, cluster: str = "far") -> None:
        """`folder` is a private one, for the file with credentials."""
        self.cloud = found
        self.eks = RehearsedEks(found, cluster)
        self.queries = AwsQueries(self.eks)
        self.credentials = folder / "aws-credentials"
        self._clients: dict[tuple[Path | None, str], AwsClients] = {}
        self.credentials.touch(0o600)
        text = f"[default]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n"
        self.credentials.write_text(text)
        self.credentials.chmod(0o400)
        super().__init__(CloudServer([*self.eks.routes(), *self.queries.routes()], self.eks.unknown))

    def settings(self, machines: Sequence[PricedMachine], **more: object) -> EksSettings:
        """Return the settings that an administrator has for this account."""
        rows = [each.model_dump(by_alias=True, exclude_unset=True) for each in machines]
        return EksSettings.model_validate(
            {
                "region": self.eks.region,
                "cluster": self.eks.cluster,
                "nodeRole": f"arn:aws:iam::{self.eks.account}:role/burst-nodes",
                "subnets": list(self.queries.subnets),
                "namespace": NAMESPACE,
                "credentialsFile": str(self.credentials),
                "machines": rows,
                **more,
            }
        )

    def groups(self, settings: EksSettings, name: str = "eks") -> EksGroups:
        """Return the node groups of this account as a provider has them."""
        return EksGroups(name, settings, self._client(settings))

    def _client(self, settings: EksSettings) -> AwsClients:
        key = (settings.credentials_file, settings.profile)
        if key not in self._clients:
            self._clients[key] = AwsClients(settings.region, *key, self.server.url)
        return self._clients[key]

    def provider(
        self, machines: Sequence[PricedMachine], name: str = "eks", pods: BurstProvider | None = None
    ) -> NodePoolProvider:
        """Return a provider whose pods are in memory, or others."""
        pods = pods or RehearsedPods(MemoryCloud(self.cloud.now))
        return NodePoolProvider(self.groups(self.settings(machines), name), pods)

    def cluster_provider(
        self,
        machines: Sequence[PricedMachine],
        creation: EksClusterCreation,
        name: str = "eks",
        pods: PodsInClusters | None = None,
    ) -> ClusterProvider:
        """Return a provider that makes a cluster for each burst, with this account's role and subnets."""
        wanted = {
            **creation.model_dump(by_alias=True, exclude_unset=True),
            "clusterRole": f"arn:aws:iam::{self.eks.account}:role/burst-clusters",
            "subnets": list(self.queries.subnets),
        }
        settings = self.settings(machines, cluster={"create": wanted}, namespace=OWN_NAMESPACE)
        assert settings.cluster.create is not None  # noqa: S101 - as it was just set
        clusters = EksClusters(name, settings, settings.cluster.create, self._client(settings))
        return ClusterProvider(clusters, pods or RehearsedPods(MemoryCloud(self.cloud.now)))
