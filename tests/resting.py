"""Clusters of a worker rest while it runs tests that need none: idle, one takes some hundredths of a core."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from tests import dealing
from tests.dealing import Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

    from tests.devcluster import ControlPlane

_kept: list[ControlPlane] = []
_asleep: list[ControlPlane] = []


@contextlib.contextmanager
def kept(plane: ControlPlane) -> Iterator[ControlPlane]:
    """Let a cluster rest where no test needs it."""
    _kept.append(plane)
    try:
        yield plane
    finally:
        _kept.remove(plane)


def before(item: pytest.Item) -> None:
    """Let all clusters rest for a test whose file needs none, and wake them for another."""
    if dealing.cluster_of(dealing.file_of(item.nodeid)) is not Cluster.NONE:
        while _asleep:
            _asleep.pop().wake()
    elif not _asleep:
        for plane in _kept:
            plane.rest()
            _asleep.append(plane)
