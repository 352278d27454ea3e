"""Documents, keys and times for the tests of the plan."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from broker_config import curve
from minicluster import document
from minicluster.plan import FreshKeys

if TYPE_CHECKING:
    from collections.abc import Callable


NOW = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
UID = "8c8a2f4e-6b0f-4f3a-9d53-0f6f2a1c7b11"


@pytest.fixture(scope="session")
def keys() -> FreshKeys:
    return FreshKeys(curve.generate())


@pytest.fixture(scope="session")
def now() -> datetime:
    return NOW


@pytest.fixture(scope="session")
def make() -> Callable[..., document.MiniCluster]:
    """Return a MiniCluster of a spec; a container that runs `hostname` is there already."""

    def build(
        wanted: dict[str, Any] | None = None, *, status: dict[str, Any] | None = None, **metadata: Any
    ) -> document.MiniCluster:
        return document.validate(
            {
                "apiVersion": document.API_VERSION,
                "kind": document.KIND,
                "metadata": {"name": "hpc", "namespace": "science", "uid": UID, "generation": 1, **metadata},
                "spec": {"containers": [{"image": "app", "command": "hostname"}], **(wanted or {})},
                "status": status or {},
            }
        )

    return build
