"""Folders with short paths, and pods that end with their test."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.release_0_1_0 import adapters
from tests.release_0_1_0.pods import Pods

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@pytest.fixture
def short() -> Iterator[Path]:
    """A path that leaves room for the name of a socket."""
    directory = Path(tempfile.mkdtemp(prefix="mc-", dir="/tmp"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def flux(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the embedded instance's command, as it is today."""
    return adapters.flux_program(tmp_path_factory.mktemp("bin"))


@pytest.fixture
def pods(short: Path, flux: Path) -> Iterator[Callable[..., Pods]]:
    """Make pods with these files, and another engine's folder where one is given."""
    made: list[Pods] = []

    def make(files: Mapping[str, bytes], engine: Path | None = None) -> Pods:
        made.append(Pods(short, engine or flux, files))
        return made[-1]

    yield make
    for each in made:
        each.close()
