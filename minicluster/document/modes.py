"""What a document means: which container runs Flux, how the command runs, how many brokers.

Plain functions over valid records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_config.burst_slots import usable_names
from broker_config.settings import BurstCluster, RunMode

if TYPE_CHECKING:
    from minicluster.document.cluster import MiniCluster, MiniClusterSpec
    from minicluster.document.container import Container, Volume

RUNNER_NAME = "flux"
"""The name of the container that runs Flux, if the document has none for it."""

__all__ = [
    "RUNNER_NAME",
    "RunMode",
    "bursted_clusters",
    "bursts_out",
    "container_name",
    "headless_name",
    "is_empty_dir",
    "is_interactive",
    "max_size",
    "min_size",
    "mount_path",
    "quorum",
    "run_mode",
    "runner",
    "runner_index",
    "sidecars",
    "sources",
]


def runner(spec: MiniClusterSpec) -> Container:
    """Return the container that runs Flux: the only one, or the one with `runFlux`."""
    return spec.containers[runner_index(spec)]


def runner_index(spec: MiniClusterSpec) -> int:
    """Return the index of the container that runs Flux in `spec.containers`."""
    if len(spec.containers) == 1:
        return 0
    return next(index for index, container in enumerate(spec.containers) if container.run_flux)


def container_name(spec: MiniClusterSpec, index: int) -> str:
    """Return the Kubernetes name of a container."""
    return spec.containers[index].name or RUNNER_NAME


def sidecars(spec: MiniClusterSpec) -> tuple[Container, ...]:
    """Return the containers beside the one that runs Flux."""
    index = runner_index(spec)
    return spec.containers[:index] + spec.containers[index + 1 :]


def is_interactive(spec: MiniClusterSpec) -> bool:
    """Whether the instance stays up for jobs: by `interactive`, or without a command to run."""
    container = runner(spec)
    return spec.interactive or not (container.command.strip() or container.commands.script.strip())


def run_mode(spec: MiniClusterSpec) -> RunMode:
    """Return how the lead broker runs the main command."""
    container = runner(spec)
    if is_interactive(spec):
        return RunMode.INTERACTIVE
    if container.launcher:
        return RunMode.LAUNCHER
    return RunMode.BATCH if container.batch else RunMode.PLAIN


def max_size(cluster: MiniCluster) -> int:
    """Return how many hosts Flux knows: the number at its start, else `maxSize`, else `size`."""
    spec = cluster.spec
    return cluster.status.maximum_size or max(spec.max_size or spec.size, 1)


def min_size(spec: MiniClusterSpec) -> int:
    """Return the floor of scaling: `minSize`, else 1."""
    return spec.min_size or 1


def quorum(spec: MiniClusterSpec) -> int:
    """Return how many brokers must be up before work starts: `minSize`, else `size`, at least 1."""
    return spec.min_size or max(spec.size, 1)


def headless_name(cluster: MiniCluster) -> str:
    """Return the name of the headless Service, which is the pods' subdomain."""
    return cluster.spec.network.headless_name or cluster.metadata.name


def bursts_out(spec: MiniClusterSpec) -> bool:
    """Whether this MiniCluster joins another one's lead broker."""
    return bool(spec.flux.bursting.lead_broker.address)


def bursted_clusters(cluster: MiniCluster) -> tuple[BurstCluster, ...]:
    """Return each remote cluster, with the defaults of its name and its size filled in.

    A missing size is this MiniCluster's `max_size`: unlike `size` it never changes, nor does the host list.
    A name that is missing, reserved for queues (`default`, `burst`, `local`) or another one's is
    `burst-<index>`.
    """
    clusters = cluster.spec.flux.bursting.clusters
    names = usable_names(remote.name for remote in clusters)
    return tuple(
        BurstCluster(name, remote.size or max_size(cluster), remote.cores, remote.gpus)
        for name, remote in zip(names, clusters, strict=True)
    )


def mount_path(name: str, volume: Volume) -> str:
    """Return where a volume is mounted: its path, else `/mnt/<name>`."""
    return volume.path or f"/mnt/{name}"


def sources(volume: Volume) -> tuple[tuple[str, str], ...]:
    """Return the sources of a volume (of a valid one at most one), each as field and value."""
    return tuple(
        (name, str(value))
        for name, value in (
            ("hostPath", volume.host_path),
            ("configMapName", volume.config_map_name),
            ("claimName", volume.claim_name),
            ("secretName", volume.secret_name),
            ("csiDriver", volume.csi_driver),
            ("emptyDir", volume.empty_dir),
        )
        if value
    )


def is_empty_dir(volume: Volume) -> bool:
    """Whether a volume is an empty directory: by `emptyDir`, or without any source."""
    return volume.empty_dir or not sources(volume)
