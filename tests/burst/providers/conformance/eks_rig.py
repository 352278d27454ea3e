"""The provider `eks` for the cases of conformance: AWS's client, a rehearsed account, and pods in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from burst.providers.cloud_machines import PricedMachine
from burst.rehearsal.eks_account import EksAccount, cloud

if TYPE_CHECKING:
    from burst.lifecycle.records import ResourceKey

MACHINE = PricedMachine.model_validate(
    {
        "machine": "c7i.2xlarge",
        "cores": 4,
        "price": "0.40",
        "spotPrice": "0.15",
        "priceDate": "2026-11-01",
        "most": 10,
    }
)


class EksRig:
    """A clock that is moved by hand, and the account."""

    machine = MACHINE.machine

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self._folder = tempfile.TemporaryDirectory()
        self.cloud = cloud(lambda: self.now, [MACHINE])
        self.account = EksAccount(self.cloud, Path(self._folder.name))
        self.account.__enter__()
        self.provider = self.account.provider([MACHINE])

    def close(self) -> None:
        self.account.__exit__(None, None, None)
        self._folder.cleanup()

    def wait(self) -> None:
        self.now += 120.0

    def occupy(self, key: ResourceKey) -> None:
        size = {"minSize": 1, "maxSize": 1, "desiredSize": 1}
        wanted = {"scalingConfig": size, "tags": {"team": "physics"}}
        self.cloud.make(self.account.eks.cluster, key.name, self.machine, 1, {}, detail=wanted)

    def others(self) -> int:
        return sum(each.detail.get("tags") == {"team": "physics"} for each in self.cloud.listed_groups())
