"""Clusters that save to one archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.lead.saving.saved import Saved

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.lead.pods import Pods


@pytest.fixture
def saved(pods: Callable[..., Pods], tmp_path: Path) -> Callable[..., Saved]:
    """Make clusters that save to one archive."""
    return lambda size=3, **more: Saved(pods, tmp_path, size, **more)
