"""A played instance for each test that asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.malleable.played import Played

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[..., Played]]:
    """Make a played instance of one job; it is ended after the test."""
    made: list[Played] = []

    def make(**options: Any) -> Played:
        made.append(Played(tmp_path, **options))
        return made[-1]

    yield make
    for played in made:
        played.close()
