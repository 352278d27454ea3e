"""Providers of clouds by their official clients, over fakes of these clouds on loopback.

What an administrator has set of the account, such as project, region, cluster and credentials, is the
rehearsed one's; machines and prices are his.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from burst.errors import CallInvalid
from burst.providers.node_pools.cluster_provider import ClusterProvider
from burst.providers.node_pools.provider import NodePoolProvider

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import ExitStack
    from pathlib import Path

    from burst.providers.provider import BurstProvider
    from burst.rehearsal.cloud import RehearsedCloud

PAGE = 2
"""How many things a listing has at most in one answer: so few that there are several."""


class FakeParts(NamedTuple):
    """What a fake is made of."""

    name: str
    """The provider's."""
    settings: Any
    """Those of its kind."""
    cloud: RehearsedCloud
    pods: BurstProvider
    """What runs on nodes of pools."""
    folder: Path
    """A private one, for credentials."""
    stack: ExitStack
    """Ends what answers."""


def _eks(parts: FakeParts) -> BurstProvider:
    from burst.rehearsal.eks_account import EksAccount  # noqa: PLC0415 - only where one is used

    account = parts.stack.enter_context(EksAccount(parts.cloud, parts.folder))
    creation = parts.settings.cluster.create
    if creation is not None:
        return account.cluster_provider(parts.settings.machines, creation, parts.name, parts.pods)
    return account.provider(parts.settings.machines, parts.name, parts.pods)


def _google(parts: FakeParts, **given: Any) -> Any:
    """Return settings that lead to a rehearsed project."""
    from burst.rehearsal.google_account import PROJECT  # noqa: PLC0415 - as above
    from burst.rehearsal.google_cloud import RehearsedGoogle  # noqa: PLC0415

    google = parts.stack.enter_context(RehearsedGoogle(parts.cloud, parts.folder, page_size=PAGE))
    url, key = google.settings["endpoint"], parts.folder / "service-account.json"
    return parts.settings.model_copy(
        update={"project": PROJECT, "endpoint": url, "credentials_file": key, **given}
    )


def _gke(parts: FakeParts) -> BurstProvider:
    from burst.providers.gke.clusters import GkeClusters  # noqa: PLC0415 - only where one is used
    from burst.providers.gke.pools import GkeNodePools  # noqa: PLC0415 - as above
    from burst.providers.gke.settings import GkeCluster  # noqa: PLC0415 - as above

    creation = parts.settings.cluster.create
    if creation is not None:
        settings = _google(parts, location="us-central1-a", zone="")
        clusters = GkeClusters(parts.name, settings, creation, parts.cloud.now)
        return ClusterProvider(clusters, parts.pods)
    settings = _google(parts, location="us-central1-a", cluster=GkeCluster(name="far", create=None), zone="")
    return NodePoolProvider(GkeNodePools(parts.name, settings, parts.cloud.now), parts.pods)


def _compute_engine(parts: FakeParts) -> BurstProvider:
    from burst.providers.compute_engine.provider import ComputeEngineProvider  # noqa: PLC0415 - as above

    image = "global/images/family/flux"
    settings = _google(parts, region="us-central1", zones=(), subnetwork="", image=image)
    return ComputeEngineProvider(parts.name, settings, lambda _wanted: {}, now=parts.cloud.now)


FAKES: Mapping[str, Callable[[FakeParts], BurstProvider]] = {
    "eks": _eks,
    "gke": _gke,
    "compute-engine": _compute_engine,
}
"""By kind of provider."""
JOINED_MACHINES = frozenset({"compute-engine"})
"""Kinds whose machines join by themselves, without pods."""


def opened(kind: str, parts: FakeParts) -> BurstProvider:
    """Return a provider of a kind over its fake. Raises CallInvalid where the cloud's client is missing."""
    parts.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        return FAKES[kind](parts)
    except ImportError as error:  # the kinds themselves say it better, and are asked before
        raise CallInvalid(f"provider {parts.name} cannot be rehearsed: {error}") from error
