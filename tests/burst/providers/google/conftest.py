"""Google's clouds as they are rehearsed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.burst.providers.google.rigs import ComputeEngineRig, GkeClusterRig, GkeRig

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[ComputeEngineRig]:
    rig = ComputeEngineRig(tmp_path)
    yield rig
    rig.close()


@pytest.fixture
def gke(tmp_path: Path) -> Iterator[GkeRig]:
    rig = GkeRig(tmp_path)
    yield rig
    rig.close()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[GkeClusterRig]:
    rig = GkeClusterRig(tmp_path)
    yield rig
    rig.close()
