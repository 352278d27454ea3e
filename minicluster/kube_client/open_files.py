"""How many files and connections a process may have open."""

from __future__ import annotations

import contextlib
import resource


def allow_many() -> None:
    """Allow as many connections as the system lets: shells allow few, and there is one a MiniCluster."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
