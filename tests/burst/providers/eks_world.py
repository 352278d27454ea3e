"""A rehearsed account of AWS: one for all tests of a process, as its clients take a while, anew for each."""

from __future__ import annotations

import atexit
import functools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from burst.providers.cloud_machines import PricedMachine
from burst.providers.eks.settings import EksClusterCreation
from burst.providers.provider import WantedBurst
from burst.rehearsal.aws_queries import AwsQueries
from burst.rehearsal.eks import RehearsedEks
from burst.rehearsal.eks_account import EksAccount, cloud

if TYPE_CHECKING:
    from burst.lifecycle.records import ResourceKey, ResourceReport
    from burst.providers.node_pools.cluster_provider import ClusterProvider
    from burst.providers.node_pools.provider import NodePoolProvider

START = 1_800_000_000.0
MACHINE = PricedMachine.model_validate(
    {
        "machine": "c7i.2xlarge",
        "cores": 4,
        "price": "0.36",
        "spotPrice": "0.18",
        "priceDate": "2026-11-01",
        "most": 10,
    }
)

FEE = 100_000
CREATION: dict[str, object] = {
    "feePerHour": "0.10",
    "readySeconds": 600,
    "clusterRole": "arn:aws:iam::123456789012:role/burst-clusters",
    "subnets": ["subnet-1", "subnet-2"],
}


@functools.cache
def _account() -> EksAccount:
    folder = tempfile.TemporaryDirectory()
    found = EksAccount(cloud(lambda: START, [MACHINE]), Path(folder.name))
    found.__enter__()
    atexit.register(folder.cleanup)
    atexit.register(found.__exit__, None, None, None)
    return found


class EksWorld:
    """The account with nothing in it, a provider of it, one burst, and a clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = START
        self.cloud = cloud(lambda: self.now, [MACHINE])
        self.account = _account()
        self.account.cloud = self.cloud
        vars(self.account.eks).update(vars(RehearsedEks(self.cloud)))
        vars(self.account.queries).update(vars(AwsQueries(self.account.eks)))
        self.provider: NodePoolProvider = self.account.provider([MACHINE])
        self.wanted = self.burst()

    def burst(self, label: str = "62dgmfw4gk", nodes: int = 4, *, spot: bool = False) -> WantedBurst:
        return WantedBurst(label, "here", nodes, MACHINE.machine, spot, START + 3_600)

    @property
    def key(self) -> ResourceKey:
        """The node group of the burst."""
        return self.provider.resources(self.wanted)[0]

    def create(self) -> None:
        self.provider.create(self.key, "token", self.wanted)

    def get(self) -> ResourceReport:
        return self.provider.get(self.key, self.wanted)

    def delete(self) -> None:
        self.provider.delete(self.key, self.wanted)

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


class EksClusterWorld(EksWorld):
    """The same account with a provider that makes a cluster for each burst."""

    def __init__(self, **creation: object) -> None:
        super().__init__()
        self.cloud.fee = FEE
        self.clusters: ClusterProvider = self.account.cluster_provider(
            [MACHINE], EksClusterCreation.model_validate({**CREATION, **creation})
        )

    def make(self) -> None:
        """Make all of the burst, each once the one before is ready."""
        for number, key in enumerate(self.clusters.resources(self.wanted)):
            self.clusters.create(key, f"token-{self.wanted.label}-{number}", self.wanted)
            self.pass_by(120)
