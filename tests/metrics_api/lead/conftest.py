"""MiniClusters with the lead API: on the embedded instance always, on real Flux if it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.lead.conftest import engine, flux, lay_out, pods
from tests.metrics_api.lead.reading import Reader

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lead.pods import Pods

__all__ = ["engine", "flux", "lay_out", "pods"]  # fixtures


@pytest.fixture
def lead(pods: Callable[..., Pods]) -> Callable[..., tuple[Pods, Reader]]:
    """Start brokers of a MiniCluster, and wait until they work; it, and a reader of its metrics."""

    def start(size: int = 3, started: int | None = None, **more: object) -> tuple[Pods, Reader]:
        cluster = pods(size, **more)
        cluster.start(*range(size if started is None else started))
        with cluster.lead_api.watch() as watch:
            watch.until(running=True)
        return cluster, Reader(cluster)

    return start
