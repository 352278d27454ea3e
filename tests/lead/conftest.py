"""MiniClusters with the lead API: on the embedded instance always, on real Flux if it is installed."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.scheduler_settings import SchedulerSettings
from broker_config.settings import BrokerSettings, NodeResources
from minicluster.embedded.broker.launcher import write_bin
from minicluster.instance.connection import real_flux
from minicluster.instance.errors import NoEngine
from tests.lead.pods import Pods

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session", params=["embedded", "flux"])
def engine(request: pytest.FixtureRequest) -> str:
    """Name the engine."""
    if request.param == "flux":
        try:
            real_flux()
        except NoEngine as reason:
            pytest.skip(str(reason))
    return str(request.param)


@pytest.fixture(scope="session")
def flux(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the engine's command."""
    if engine == "flux":
        return Path(real_flux()).parent
    return write_bin(tmp_path_factory.mktemp("bin")).parent


@pytest.fixture(scope="session")
def lay_out(flux: Path) -> Iterator[Callable[..., Pods]]:
    """Make pods that are not started yet; they end with the session at the latest."""
    made: list[Pods] = []

    def make(size: int = 3, **more: object) -> Pods:
        directory = Path(tempfile.mkdtemp(prefix="mc-"))
        made.append(Pods(flux, directory, BrokerSettings("mc", size=size, **{"quorum": 1, **more})))
        return made[-1]

    yield make
    for each in made:
        each.close()
        shutil.rmtree(each.directory, ignore_errors=True)


@pytest.fixture
def pods(lay_out: Callable[..., Pods]) -> Iterator[Callable[..., Pods]]:
    """Make pods for one test."""
    made: list[Pods] = []

    def make(size: int = 3, **more: object) -> Pods:
        made.append(lay_out(size, **more))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(scope="session")
def three(lay_out: Callable[..., Pods]) -> Pods:
    """Three brokers of an interactive instance, which every test leaves as they were."""
    pods = lay_out().start(0, 1, 2)
    with pods.lead_api.watch() as watch:
        watch.until(online="0-2", running=True)
    return pods


@pytest.fixture(scope="module")
def lay_out_flux() -> Iterator[Callable[..., Pods]]:
    """Make pods of real Flux; they end with this file at the latest."""
    try:
        flux = Path(real_flux()).parent
    except NoEngine as reason:
        pytest.skip(str(reason))
    made: list[Pods] = []

    def make(policy: str, size: int = 1, **more: Any) -> Pods:
        directory = Path(tempfile.mkdtemp(prefix="mc-"))
        scheduler = SchedulerSettings(policy, settings=more.pop("policy_settings", {}))
        settings = BrokerSettings(
            "mc",
            size=size,
            **{"quorum": 1, "node": NodeResources(more.pop("cores", 4)), "scheduler": scheduler, **more},
        )
        made.append(Pods(flux, directory, settings))
        return made[-1]

    yield make
    for each in made:
        each.close()
        shutil.rmtree(each.directory, ignore_errors=True)
