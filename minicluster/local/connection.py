"""The way from a cluster's name to its instance."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from minicluster.local import processes, state_file
from minicluster.within import context

if TYPE_CHECKING:
    from minicluster.instance.port import Instance

INNER = ("FLUX_", "MINICLUSTER_", "PMI_")


def of(name: str) -> Instance:
    """Connect to a cluster's instance. Raises NoSuchCluster, InstanceError."""
    from minicluster.instance.connection import connect

    cluster, state = state_file.need(name)
    return connect(cluster.uri, "flux" if state.engine == "flux" else "embedded")


def environment(name: str) -> dict[str, str]:
    """Return this process's environment, in which `flux` is the cluster's. Raises NoSuchCluster."""
    from minicluster.local.site import own_programs

    cluster, state = state_file.need(name)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(INNER)}
    first = [str(cluster.programs)] if state.engine == "embedded" else []
    path = os.pathsep.join([*first, kept.get("PATH", os.defpath), str(own_programs())])
    return {
        **kept,
        "PATH": path,
        "FLUX_URI": cluster.uri,
        context.CONTROL: str(cluster.control),
        # With a slash at its end the path leads there as well, and differs from that of the cluster's own
        # processes, which are killed with it: the user's shell, and `down` in it, must outlive the cluster.
        processes.MARKER: f"{cluster.path}/",
    }
