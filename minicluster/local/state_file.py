"""Reading and writing state.json, and distinguishing live clusters from those of dead supervisors."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.local import ownership, processes, state_directory
from minicluster.local.errors import NoSuchCluster
from minicluster.local.records import ClusterState, LocalPhase

if TYPE_CHECKING:
    from minicluster.local.state_directory import ClusterDirectory

HATCHING = 30.0
"""Seconds after which a cluster's directory without state.json counts as a dead process's."""


def write(cluster: ClusterDirectory, state: ClusterState) -> None:
    """Write the state; a reader sees the old or the new one, never a part."""
    temporary = cluster.state.with_suffix(".new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with os.fdopen(os.open(temporary, flags, 0o600), "w") as file:
        json.dump(dataclasses.asdict(state), file)
    temporary.replace(cluster.state)


def read(cluster: ClusterDirectory) -> ClusterState | None:
    """Return the state, or None where there is none (yet). Raises StateDirectoryError for another user's."""
    try:
        with ownership.opened(cluster.state) as file:
            values = json.load(file)
    except (OSError, ValueError):
        return None
    values["phase"] = LocalPhase(values["phase"])
    values["links"] = tuple((path, target) for path, target in values["links"])
    return ClusterState(**values)


def is_alive(state: ClusterState) -> bool:
    """Whether the process that wrote the state still runs."""
    return processes.start_time(state.pid) == state.start_time


def is_abandoned(cluster: ClusterDirectory) -> bool:
    """Whether the process that made the directory died before it wrote a state."""
    try:
        return read(cluster) is None and time.time() - cluster.path.stat().st_mtime > HATCHING
    except OSError:
        return False


def own_identity() -> tuple[int, int]:
    """Return this process's id and start time."""
    return os.getpid(), processes.start_time(os.getpid())


def clean(cluster: ClusterDirectory) -> None:
    """Remove what a dead supervisor left: its processes, the links it made, its directory."""
    state = read(cluster)
    processes.sweep(lambda: processes.marked(cluster.path))
    if state is not None:
        unlink(cluster, state.links)
    state_directory.remove(cluster)


def unlink(cluster: ClusterDirectory, links: tuple[tuple[str, str], ...]) -> None:
    """Remove the links that stand for volumes, where they still lead into the cluster's directory."""
    for path, target in links:
        link = Path(path)
        try:
            if Path(target).parent == cluster.volumes and str(link.readlink()) == target:
                link.unlink()
        except OSError:
            continue  # it was replaced, or is out of reach


def live_clusters() -> list[tuple[ClusterDirectory, ClusterState]]:
    """Return the persistent clusters and runs that are up; those of dead supervisors are cleaned away."""
    found = []
    for cluster in state_directory.all_clusters():
        state = read(cluster)
        if state is None and not is_abandoned(cluster):
            continue
        if state is not None and is_alive(state):
            found.append((cluster, state))
        else:
            clean(cluster)
    return found


def need(name: str) -> tuple[ClusterDirectory, ClusterState]:
    """Return a cluster that is up. Raises NoSuchCluster, also after cleaning up behind a dead supervisor."""
    cluster = state_directory.find(name)
    state = read(cluster)
    if state is not None and is_alive(state):
        return cluster, state
    if cluster.path.exists() and state is not None:
        clean(cluster)
        raise NoSuchCluster(
            f"cluster {name}: its supervisor (process {state.pid}) died; what it left has been removed."
            " Start it again with minicluster up"
        )
    raise NoSuchCluster(f"cluster {name}: is not up; {_what_is(name)}")


def _what_is(name: str) -> str:
    """Return a hint for a message: a similar name, else the command that lists the clusters."""
    import difflib

    near = difflib.get_close_matches(name, [state.name for _, state in live_clusters()], 1)
    return f"did you mean {near[0]}?" if near else "`minicluster list` shows the ones that are"
