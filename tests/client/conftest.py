"""A service with faults, and a client whose clock is the test's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from minicluster.client import Client
from minicluster.client.retries import RetryPolicy
from minicluster.client.timing import Timing
from tests.client.fake_jobs import FakeJobs
from tests.client.fake_service import Service, running

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Clock:
    """Time that passes only where somebody sleeps."""

    time: float = 1_000_000.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        """Return it."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let it pass."""
        self.slept.append(seconds)
        self.time += seconds

    @property
    def timing(self) -> Timing:
        """The same for a client."""
        return Timing(self.now, self.now, self.sleep, lambda: 1.0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    for name in ("MINICLUSTER_SERVER", "MINICLUSTER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with running() as found:
        yield found


@pytest.fixture
def jobs(service: Service) -> FakeJobs:
    return FakeJobs(service)


@pytest.fixture
def client(service: Service, clock: Clock) -> Iterator[Client]:
    with Client(service.url, "mcp_secret", timing=clock.timing, retry=RetryPolicy(seconds=30)) as found:
        yield found
