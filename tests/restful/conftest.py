"""An embedded instance for the tests of the service: one for all of a process, two brokers of two cores."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from minicluster.embedded.broker.launcher import write_bin
from tests.conformance.laboratory import Laboratory

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A test's own folder, with a path short enough for sockets."""
    with short_directory() as folder:
        yield folder


@pytest.fixture(scope="session")
def embedded() -> Iterator[Laboratory]:
    """The instance that most tests have in common; each looks after its own jobs only."""
    with short_directory() as folder:
        flux = write_bin(folder / "bin").parent
        laboratory = Laboratory("embedded", flux, folder / "e", reached="embedded")
        laboratory.start()
        yield laboratory
        laboratory.stop()


@contextlib.contextmanager
def short_directory() -> Iterator[Path]:
    """Give a folder with a path short enough for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="mcr-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
