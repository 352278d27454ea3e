"""The machine of the local tests, for the examples."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "local"))

from typing import TYPE_CHECKING

from local_machine import Machine, engines

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=engines())
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine on each engine there is; after the test nothing of its clusters may be left."""
    path = Path(tempfile.mkdtemp(prefix="mct-", dir="/tmp"))
    made = Machine(path / "m", request.param)
    yield made
    for row in made.rows("list"):
        made.call("down", row["name"])
    assert made.left() == ([], [])
    shutil.rmtree(path, ignore_errors=True)
