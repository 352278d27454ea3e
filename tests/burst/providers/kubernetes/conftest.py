"""A provider of an API server that fails as it is asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from burst.providers.kubernetes.provider import KubernetesProvider
from burst.providers.kubernetes.settings import KubernetesSettings
from burst.providers.provider import WantedBurst
from tests.burst.joining.near import join_settings
from tests.burst.providers.kubernetes.fake_api import NAMESPACE, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from burst.lifecycle.records import ResourceKey, ResourceReport
    from tests.burst.providers.kubernetes.fake_api import FakeApi

NOW = 1_800_000_000.0


class FarCluster(NamedTuple):
    """The server, and a provider of it."""

    api: FakeApi
    provider: KubernetesProvider
    wanted: WantedBurst

    @property
    def key(self) -> ResourceKey:
        """The burst's only resource."""
        return self.provider.resources(self.wanted)[0]

    def create(self) -> None:
        """Make the burst."""
        self.provider.create(self.key, "token", self.wanted)

    def get(self) -> ResourceReport:
        """Return its status."""
        return self.provider.get(self.key, self.wanted)

    def delete(self) -> None:
        """Delete it."""
        self.provider.delete(self.key, self.wanted)


@pytest.fixture
def far(tmp_path: Path) -> Iterator[FarCluster]:
    with serving(tmp_path) as (api, kubeconfig):
        settings = KubernetesSettings.model_validate(
            {
                "kubeconfig": str(kubeconfig),
                "namespace": NAMESPACE,
                "offers": [{"machine": "c8", "cores": 8, "price": "0.40", "most": 3}],
            }
        )
        provider = KubernetesProvider("far", settings, join_settings, lambda: NOW)
        wanted = WantedBurst(
            "62dgmfw4gk", "here", 2, "c8", spot=False, until=NOW + 600, cluster="uid", slot="burst-0"
        )
        yield FarCluster(api, provider, wanted)
