"""All rehearsed services of Google behind one address, with the file of a service account for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.rehearsal.compute_engine import FakeComputeEngine
from burst.rehearsal.gke import FakeGke
from burst.rehearsal.gke_clusters import FakeGkeClusters
from burst.rehearsal.google_account import PROJECT, FakeGoogleAccount, google_server
from burst.rehearsal.server import ServedCloud

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from burst.rehearsal.cloud import RehearsedCloud


class RehearsedGoogle(ServedCloud):
    """One project over one RehearsedCloud; it serves until it is left."""

    def __init__(self, cloud: RehearsedCloud, folder: Path, *, page_size: int = 500) -> None:
        """The file of the service account is written into a folder, which is private."""
        self.cloud = cloud
        self.account = FakeGoogleAccount(cloud.now)
        self.compute = FakeComputeEngine(cloud, self.account, page_size=page_size)
        self.gke = FakeGke(cloud, self.account)
        self.clusters = FakeGkeClusters(self.gke)
        routes = [*self.account.routes(), *self.compute.routes(), *self.clusters.routes(), *self.gke.routes()]
        super().__init__(google_server(routes))
        self._key = self.account.write_key(folder / "service-account.json", self.server.url)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What a provider's settings need in order to use it instead of Google."""
        return {"project": PROJECT, "credentialsFile": str(self._key), "endpoint": self.server.url}
