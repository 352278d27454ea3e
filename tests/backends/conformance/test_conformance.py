"""Each case over the back end in memory, over that of this machine, and those for users at a server."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.local import backend as local
from minicluster.local import burst_file, state_file
from minicluster.server_backend import backend as server
from tests.backends import memory_backend
from tests.backends.conformance.cases import CASES, INSTANCE_CASES, USERS_CASES, Scene, Teller
from tests.client.fake_service import running
from tests.server_backend.fake_cluster import FakeCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from minicluster.instance.records import BurstSummary

EVERY = [pytest.param(case, id=case.__name__) for case in (*CASES, *INSTANCE_CASES)]


@pytest.fixture
def memory() -> Iterator[Scene]:
    """A back end that has forgotten everything."""
    memory_backend.RACKS.clear()
    made = memory_backend.KIND.open({"rack": "r"}, Teller())

    def publish(name: str, bursts: tuple[BurstSummary, ...]) -> None:
        memory_backend.RACKS["r"][name].bursts = bursts

    yield Scene(made, publishes=publish)
    memory_backend.RACKS.clear()


@pytest.fixture
def this_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A state directory of the test's own, on a short path, in which nothing is left."""
    root = Path(tempfile.mkdtemp(prefix="mct-", dir="/tmp"))
    monkeypatch.setenv("MINICLUSTER_RUNTIME_DIR", str(root / "m"))
    monkeypatch.setenv("SHLVL", "2")
    for name in [each for each in os.environ if each.startswith("FLUX_")]:
        monkeypatch.delenv(name)
    made = local.KIND.open(
        {"engine": "embedded", "restore": "", "oversubscribe": False, "decisions": ""}, Teller()
    )

    def publish(name: str, bursts: tuple[BurstSummary, ...]) -> None:
        burst_file.write(state_file.need(name)[0], [dataclasses.asdict(each) for each in bursts])

    yield Scene(made, suspends=False, publishes=publish)
    for each in made.clusters().clusters:
        made.down(each.name, "")
    shutil.rmtree(root)


@pytest.fixture
def at_a_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A server of the RESTful API with cluster mc, in the hands of a user."""
    with running() as service:
        FakeCluster(service)
        monkeypatch.setenv("MINICLUSTER_TOKEN", "mcp_user")
        made = server.KIND.open({"server": service.url, "ca_file": ""}, Teller())
        yield Scene(made, suspends=False, up_before=True)


OWNERS = ("each_broker_has_logs",)
"""Cases of an instance that are for who has a cluster, not for who uses one."""
OF_USERS = [
    pytest.param(case, id=case.__name__)
    for case in (*USERS_CASES, *INSTANCE_CASES)
    if case.__name__ not in OWNERS
]


@pytest.mark.parametrize("case", OF_USERS)
def test_at_a_server(at_a_server: Scene, case: Callable[[Scene], None]) -> None:
    case(at_a_server)


@pytest.mark.parametrize("case", EVERY)
def test_in_memory(memory: Scene, case: Callable[[Scene], None]) -> None:
    case(memory)


@pytest.mark.parametrize("case", EVERY)
def test_on_this_machine(this_machine: Scene, case: Callable[[Scene], None]) -> None:
    case(this_machine)
