"""Four real brokers that each test leaves as they were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from minicluster.instance.connection import connect
from tests.conformance.left_as_found import leave_as_found

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def clean_up(cluster: Any) -> Iterator[None]:
    """Each test leaves no active job, no drained node and started queues."""
    yield
    with connect(cluster.uri) as instance:
        leave_as_found(instance)
