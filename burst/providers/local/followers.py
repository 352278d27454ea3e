"""The brokers of a burst as pods of this machine: the MiniCluster's start script, with variables."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from broker_config.formats import bootstrap
from burst.providers.local.records import ENDED
from minicluster.local import processes
from minicluster.local.records import LocalContainer, LocalPod
from minicluster.local.site import own_programs
from minicluster.local.state_directory import SOCKET_PATH_LIMIT, ClusterDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from burst.providers.local.records import BurstDirectory, FollowerTask

START = "start.sh"
_INHERITED = ("HOME", "LANG", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "SHELL", "TZ", "USER", "XDG_RUNTIME_DIR")
"""All that brokers get of the environment: a service may have secrets in its own."""


def ranks(cluster: ClusterDirectory, slot: str, nodes: int) -> dict[str, int]:
    """Return the ranks of a slot's first hosts, by name. Raises OSError, ValueError where it has fewer."""
    tables = tomllib.loads((cluster.config / "broker.toml").read_text())
    known = {name: rank for rank, name in enumerate(bootstrap.names_of(tables.get("bootstrap", {})))}
    wanted = [f"{slot}-{number}" for number in range(nodes)]
    if missing := [name for name in wanted if name not in known]:
        raise ValueError(f"host {missing[0]} is not in {cluster.config}/broker.toml")
    return {name: known[name] for name in wanted}


def too_long(directory: BurstDirectory, rank: int) -> str:
    """Return why brokers cannot have their sockets in a directory; empty: they can."""
    longest = len(os.fsencode(directory.brokers.run(rank) / "flux" / f"local-{rank}"))
    if longest <= SOCKET_PATH_LIMIT:
        return ""
    return (
        f"{directory.path.parent}: the path is too long for sockets ({longest} of at most {SOCKET_PATH_LIMIT}"
        " bytes); let the service keep its state in a directory with a shorter one"
    )


def pods(directory: BurstDirectory, task: FollowerTask) -> Iterator[LocalPod]:
    """Yield the pod of each broker."""
    cluster = ClusterDirectory(Path(task.cluster))
    shared = _environment(directory, cluster, task)
    for host, rank in task.hosts.items():
        run = directory.brokers.run(rank)
        own = {
            "JOB_COMPLETION_INDEX": str(rank),
            "MINICLUSTER_HOST": host,
            "MINICLUSTER_RUN": str(run),
            "MINICLUSTER_STATE": str(run / "state"),
            "MINICLUSTER_TERMINATION_LOG": str(run / ENDED),
        }
        command = ("sh", str(cluster.config / START))
        yield LocalPod(host, (LocalContainer("broker", command, {**shared, **own}, directory.path),), rank)


def inherited() -> dict[str, str]:
    """Return what brokers get of this process's environment."""
    kept = {key: os.environ[key] for key in _INHERITED if key in os.environ}
    return kept | {key: value for key, value in os.environ.items() if key.startswith("LC_")}


def _environment(directory: BurstDirectory, cluster: ClusterDirectory, task: FollowerTask) -> dict[str, str]:
    kept = inherited()
    first = [str(cluster.programs)] if cluster.programs.is_dir() else []
    path = [*first, kept.get("PATH", os.defpath), str(own_programs())]
    return {
        **kept,
        "PATH": os.pathsep.join(path),
        # Flux gives its scripts a socket to read from: without this bash would take it for a network's, and
        # run the user's ~/.bashrc first, whatever that takes (bash(1), INVOCATION).
        "SHLVL": "1",
        "TMPDIR": str(directory.brokers.temporary),
        "MINICLUSTER_CONFIG": str(cluster.config),
        "MINICLUSTER_CURVE": str(cluster.curve),
        "MINICLUSTER_FENCE": str(task.fence),
        "MINICLUSTER_LEAVE_AFTER": str(task.leave_after),
        processes.MARKER: str(directory.path),
    }
