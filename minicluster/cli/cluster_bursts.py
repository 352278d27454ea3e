"""The open bursts of a cluster, read once a job is found that waits for one, or runs in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.backends.errors import BackendError
from minicluster.instance.errors import InstanceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.backends.port import Backend
    from minicluster.instance.records import BurstSummary


def reader(backend: Backend, cluster: str) -> Callable[[], Sequence[BurstSummary]]:
    """Return a function that reads them; what cannot be read now is as if there were none."""

    def read() -> Sequence[BurstSummary]:
        try:
            return backend.watch(cluster, lambda _, watched: watched.sample().bursts)
        except (BackendError, InstanceError):
            return ()

    return read
