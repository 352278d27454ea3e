"""A state directory for each test, and the check that nothing is left in it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # test modules share local_machine

from typing import TYPE_CHECKING

from local_machine import Machine, engines

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def root() -> Iterator[Path]:
    """A short path (sockets allow 107 bytes)."""
    path = Path(tempfile.mkdtemp(prefix="mct-", dir="/tmp"))
    yield path / "m"
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(params=engines())
def machine(request: pytest.FixtureRequest, root: Path) -> Iterator[Machine]:
    """A machine on each engine there is; after the test nothing of its clusters may be left."""
    made = Machine(root, request.param)
    yield made
    _down(made)


@pytest.fixture
def embedded(root: Path) -> Iterator[Machine]:
    """A machine on the embedded engine, for tests that do not depend on the engine."""
    made = Machine(root, "embedded")
    yield made
    _down(made)


def _down(machine: Machine) -> None:
    for row in machine.rows("list"):
        machine.call("down", row["name"])
    assert machine.left() == ([], [])
