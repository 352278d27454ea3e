"""Four real brokers that each test leaves as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def clean_up(cluster: Any) -> Iterator[None]:
    """Each test leaves no active job, no drained node and started queues."""
    yield
    cluster.flux("cancel", "--all", "--quiet")
    cluster.flux("resource", "undrain", "-f", "0-3")
    cluster.flux("queue", "start", "--all", "--quiet")
    assert cluster.flux("queue", "drain", "-t", "10s").returncode == 0
