"""Makes the played instance of this folder importable."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.append(str(Path(__file__).parent))

from played import Played

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[..., Played]]:
    """Make a played instance of one job; it is ended after the test."""
    made: list[Played] = []

    def make(**options: object) -> Played:
        made.append(Played(tmp_path, **options))
        return made[-1]

    yield make
    for played in made:
        played.close()
