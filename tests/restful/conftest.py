"""An embedded instance for the tests of the service: one for all of a process, two brokers of two cores."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.broker.launcher import write_bin
from tests.conformance.laboratory import Laboratory

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """A folder with a path short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="mcr-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def embedded(short_folder: Path) -> Iterator[Laboratory]:
    """The instance that most tests have in common; each looks after its own jobs only."""
    flux = write_bin(short_folder / "bin").parent
    laboratory = Laboratory("embedded", flux, short_folder / "e", reached="embedded")
    laboratory.start()
    yield laboratory
    laboratory.stop()
