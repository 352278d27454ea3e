"""The bursts of a cluster of this machine, which a burst service writes down and the commands read."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from minicluster.instance.records import BurstSummary
from minicluster.local import ownership
from minicluster.local.errors import StateDirectoryError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from minicluster.local.state_directory import ClusterDirectory


def write(cluster: ClusterDirectory, bursts: Sequence[Mapping[str, Any]]) -> None:
    """Write bursts, each with the fields of a BurstSummary; none: remove the file.

    A reader sees the old or the new ones, never a part. A cluster that has gone meanwhile has none.
    Raises StateDirectoryError.
    """
    temporary = cluster.bursts.with_suffix(".new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    try:
        if not bursts:
            cluster.bursts.unlink(missing_ok=True)
            return
        with os.fdopen(os.open(temporary, flags, 0o600), "w") as file:
            json.dump([dict(each) for each in bursts], file)
        temporary.replace(cluster.bursts)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StateDirectoryError(f"{cluster.bursts}: cannot be written: {error.strerror}") from error


def read(cluster: ClusterDirectory) -> tuple[BurstSummary, ...]:
    """Return the bursts that were written; raises StateDirectoryError for another user's file."""
    try:
        with ownership.opened(cluster.bursts) as file:
            return tuple(BurstSummary(**each) for each in json.load(file))
    except (OSError, ValueError, TypeError):
        return ()  # none, or those of a later release
