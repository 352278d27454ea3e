"""A service with faults, and a client whose clock is the test's."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.cli.main import run
from minicluster.client import Client
from minicluster.client.logins import Login, LoginFile
from minicluster.client.retries import RetryPolicy
from minicluster.client.timing import Timing
from tests.client.fake_jobs import FakeJobs
from tests.client.fake_service import Service, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Call = Callable[..., tuple[int, str, str]]
"""Run a command by its words; return its exit code, standard output, and standard error on one line."""
ME = {"id": "01U", "name": "alice", "role": "user", "scopes": "jobs:read", "clusters": {}}


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


@pytest.fixture
def call(
    service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Call:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    service.routes["GET", "/v2/me"] = lambda _: (200, ME)

    def answer(*words: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["minicluster", *words])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code: Any = 0
        try:
            run()
        except SystemExit as end:
            code = end.code or 0
        out, err = capsys.readouterr()
        return int(code), out, " ".join(err.replace("│", "").split())

    return answer


@pytest.fixture
def logged_in(call: Call, service: Service) -> LoginFile:
    """A login of a personal token."""
    with LoginFile().locked() as logins:
        logins[service.url] = Login("mcp_mine")
    return LoginFile()
