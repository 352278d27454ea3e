"""A rehearsed account of AWS with nothing in it."""

from __future__ import annotations

import pytest

from tests.burst.providers.eks_world import EksWorld


@pytest.fixture
def world() -> EksWorld:
    return EksWorld()
