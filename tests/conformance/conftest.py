"""The instances that the suite runs on: the embedded one always, real Flux where it is installed.

Each is there once for every adapter of `BrokerLink`. "relay" is the embedded one, spoken to as an instance in
a far pod is: in lines, through its relay. "handle" is real Flux, by its bindings in this process. "lead" and
"lead-handle" are both, through the lead's API with a token for jobs.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.instance.connection import real_flux
from minicluster.instance.errors import NoEngine
from tests.conformance import bindings
from tests.conformance.laboratory import Laboratory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


OF_FLUX = ("flux", "handle", "lead-handle")


@pytest.fixture(scope="session", params=["embedded", "relay", "lead", "flux", "handle", "lead-handle"])
def engine(request: pytest.FixtureRequest) -> str:
    """Name the engine and the way to it; real Flux is asked for only where it is on PATH."""
    name: str = request.param
    if name != "flux" and request.config.getoption("--golden-write"):
        pytest.skip("expected values are recorded from real Flux only")
    try:
        if name in OF_FLUX:
            real_flux()
        if name in ("handle", "lead-handle"):
            bindings.need(real_flux())
    except (NoEngine, ImportError) as reason:
        pytest.skip(str(reason))
    return name


@pytest.fixture(scope="session")
def flux_folder(engine: str, scratch: Path) -> Path:
    """The folder with the engine's `flux` command."""
    if engine in OF_FLUX:
        return Path(real_flux()).parent
    from minicluster.embedded.broker.launcher import write_bin  # noqa: PLC0415 - real Flux is recorded without it

    return write_bin(scratch / "bin").parent


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    """A folder with a path short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="mc-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def laboratories(engine: str, flux_folder: Path, scratch: Path) -> Iterator[Callable[[str], Laboratory]]:
    """Make instances that are not started yet, from more configuration; they end with the session."""
    made: list[Laboratory] = []

    def make(extra: str = "", access: str = "") -> Laboratory:
        folder = Path(tempfile.mkdtemp(prefix=engine[0], dir=scratch))
        kind = "flux" if engine in OF_FLUX else "embedded"
        made.append(Laboratory(kind, flux_folder, folder, extra, access, reached=engine))
        return made[-1]

    yield make
    for lab in made:
        lab.stop()


@pytest.fixture(scope="session")
def lab(laboratories: Callable[[str], Laboratory]) -> Laboratory:
    """The instance that most cases share; each leaves it without active jobs, drains and stopped queues."""
    shared = laboratories("")
    shared.start()
    return shared


@pytest.fixture
def fresh(laboratories: Callable[[str], Laboratory]) -> Iterator[Callable[..., Laboratory]]:
    """Start an instance for one case alone."""
    started: list[Laboratory] = []

    def start(
        extra: str = "",
        *options: str,
        properties: Mapping[str, str] | None = None,
        absent: tuple[str, ...] = (),
    ) -> Laboratory:
        own = laboratories(extra)
        own.properties, own.absent = properties or {}, absent
        started.append(own)
        own.start(*options)
        return own

    yield start
    for each in started:
        each.stop()
