"""Volumes and their mounts: the document's own, and those of every broker pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from minicluster.document.modes import mount_path
from minicluster.plan.constants import (
    EXECUTABLE,
    METRICS_TLS_DIR,
    MUNGE_DIR,
    READ_BY_OWNER,
    RUN_VOLUME,
    SHARED_MEMORY,
    STATE_VOLUME,
)
from minicluster.plan.objects import names
from minicluster.plan.objects.fields import present

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.document import Container, MiniCluster, StateVolume, Volume
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site

_CONFIG = "minicluster-config"


class Mounted(NamedTuple):
    """A volume of the pod, and its mounts in a container."""

    volume: Object
    mounts: tuple[Object, ...]


def config(cluster: MiniCluster, site: Site) -> Mounted:
    """Return the ConfigMap's directory: broker.toml, R and the scripts."""
    source = {"name": names.config_map(cluster), "defaultMode": EXECUTABLE}
    return _mounted(_CONFIG, {"configMap": source}, site.config_dir, read_only=True)


def config_and_flux_files(cluster: MiniCluster, site: Site, files: Iterable[str]) -> Mounted:
    """Return one directory of the ConfigMap and of these Flux files of the namespace.

    The ConfigMap comes last: its own files, which an operator of 0.1.0 puts there, win.
    """
    items = [{"key": name, "path": name} for name in files]
    shared = {"configMap": {"name": names.FLUX_FILES, "items": items}}
    own = {"configMap": {"name": names.config_map(cluster)}}
    source = {"sources": [shared, own], "defaultMode": EXECUTABLE}
    return _mounted(_CONFIG, {"projected": source}, site.config_dir, read_only=True)


def curve(cluster: MiniCluster, site: Site) -> Mounted:
    """Return the certificate's directory."""
    source = {"secretName": names.curve_secret(cluster), "defaultMode": READ_BY_OWNER}
    return _mounted("minicluster-curve", {"secret": source}, site.curve_dir, read_only=True)


def tokens(cluster: MiniCluster, site: Site) -> Mounted | None:
    """Return the directory with the tokens for single purposes; None: no lead API.

    Its Secret may be made, or replaced, while the pod runs.
    """
    if not site.lead_api:
        return None
    source = {"secretName": names.token_secret(cluster), "defaultMode": READ_BY_OWNER, "optional": True}
    return _mounted("minicluster-tokens", {"secret": source}, site.tokens_dir, read_only=True)


def run() -> Mounted:
    """Return the volume with the broker's socket, which sidecars share."""
    return _mounted("minicluster-run", {"emptyDir": {}}, RUN_VOLUME)


def shared_memory() -> Mounted:
    """Return /dev/shm in memory: the default of container runtimes, 64 MB, is too small for MPI."""
    return _mounted("minicluster-shm", {"emptyDir": {"medium": "Memory"}}, SHARED_MEMORY)


def state(cluster: MiniCluster) -> Mounted | None:
    """Return a rank's state directory, which outlives the pod; None: the document has no volume for it."""
    volume = cluster.spec.flux.state_volume
    if volume is None:
        return None
    part = f"{cluster.metadata.name}-$(JOB_COMPLETION_INDEX)"
    path = f"{volume.sub_path.rstrip('/')}/{part}" if volume.sub_path else part
    mount = {"name": "minicluster-state", "mountPath": STATE_VOLUME, "subPathExpr": path}
    return Mounted({"name": "minicluster-state", **_state_source(volume)}, (mount,))


def munge(cluster: MiniCluster) -> Mounted | None:
    """Return the directory with the munge key; None: the document names no Secret for it."""
    secret = cluster.spec.flux.munge_secret
    if not secret:
        return None
    source = {"secretName": secret, "defaultMode": READ_BY_OWNER}
    return _mounted("minicluster-munge", {"secret": source}, MUNGE_DIR, read_only=True)


def metrics_tls(cluster: MiniCluster, site: Site) -> Mounted | None:
    """Return the directory with the TLS certificate for metrics; None: no `tlsSecret`, or no lead API."""
    scaling = cluster.spec.autoscaling
    if scaling is None or not scaling.tls_secret or not site.lead_api:
        return None
    source = {"secretName": scaling.tls_secret, "defaultMode": READ_BY_OWNER}
    return _mounted("minicluster-metrics-tls", {"secret": source}, METRICS_TLS_DIR, read_only=True)


def of_document(container: Container) -> tuple[Mounted, ...]:
    """Return the volumes that the document gives a container."""
    return tuple(
        _mounted(name, _source(volume), _path(name, volume), read_only=volume.read_only)
        for name, volume in sorted(container.volumes.items())
    )


def used(mounted: Iterable[Mounted], containers: Iterable[Object]) -> list[Object]:
    """Return the pod's volumes, each once, without those that no container mounts."""
    names_used = {mount["name"] for each in containers for mount in each.get("volumeMounts", [])}
    distinct = {each.volume["name"]: each.volume for each in mounted}
    return [volume for name, volume in distinct.items() if name in names_used]


def mounts(mounted: Iterable[Mounted]) -> list[Object]:
    """Return a container's list of mounts."""
    return [mount for each in mounted for mount in each.mounts]


def _mounted(name: str, source: Object, path: str, *, read_only: bool = False) -> Mounted:
    mount = {"name": name, "mountPath": path, **({"readOnly": True} if read_only else {})}
    return Mounted({"name": name, **source}, (mount,))


def _path(name: str, volume: Volume) -> str:
    # Documents for the reference enlarge /dev/shm by an emptyDir without a path.
    return SHARED_MEMORY if volume.empty_dir and not volume.path else mount_path(name, volume)


def _state_source(volume: StateVolume) -> Object:
    if volume.claim_name:
        return {"persistentVolumeClaim": {"claimName": volume.claim_name}}
    return {"hostPath": {"path": volume.host_path, "type": "DirectoryOrCreate"}}


def _source(volume: Volume) -> Object:
    items = [{"key": key, "path": path} for key, path in sorted(volume.items.items())]
    if volume.config_map_name:
        return {"configMap": present(name=volume.config_map_name, items=items)}
    if volume.secret_name:
        return {"secret": present(secretName=volume.secret_name, items=items)}
    if volume.claim_name:
        return {"persistentVolumeClaim": {"claimName": volume.claim_name}}
    if volume.host_path:
        return {"hostPath": {"path": volume.host_path, "type": "Directory"}}
    if volume.csi_driver:
        return {"csi": _csi(volume)}
    return {"emptyDir": present(medium=volume.empty_dir_medium, sizeLimit=volume.empty_dir_size_limit)}


def _csi(volume: Volume) -> Object:
    return present(
        driver=volume.csi_driver,
        readOnly=volume.read_only or None,
        volumeAttributes=dict(sorted(volume.csi_driver_attributes.items())),
    )
