"""Volumes as directories of this machine, and paths in containers as paths here."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicluster.local.errors import VolumeRefused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from minicluster.local.documents import DocumentFile, KeyFile
    from minicluster.local.state_directory import ClusterDirectory

OURS = re.compile(r"minicluster-(config|curve|run|shm|munge)|flux-view.*")
"""Volumes of the plan that are no directories here: variables name their files, or the machine has them."""
STATE = "minicluster-state"


@dataclass(frozen=True, slots=True)
class VolumeMap:
    """The directories of this machine that stand for mount paths of a cluster's containers."""

    directories: Mapping[str, Path]
    """By mount path."""
    names: Mapping[str, str]
    """Mount path by volume name."""

    def here(self, path: str) -> str:
        """Return a container's path as a path of this machine."""
        for mount in sorted(self.directories, key=len, reverse=True):
            if path == mount or path.startswith(f"{mount.rstrip('/')}/"):
                return f"{self.directories[mount]}{path[len(mount.rstrip('/')) :]}"
        return path

    def environment(self) -> dict[str, str]:
        """Return a variable a volume, so that a command can find it where its path could not be made."""
        return {
            f"MINICLUSTER_VOLUME_{re.sub(r'[^A-Z0-9]', '_', name.upper())}": str(self.directories[path])
            for name, path in self.names.items()
        }


def mapped(source: DocumentFile, pod_specs: list[dict[str, Any]], cluster: ClusterDirectory) -> VolumeMap:
    """Make the directories of all volumes. Raises VolumeRefused where one cannot be a directory here."""
    directories: dict[str, Path] = {}
    names: dict[str, str] = {}
    for name, path, volume in _mounts(pod_specs):
        directories[path] = _directory(name, volume, source, cluster)
        names[name] = path
    return VolumeMap(directories, names)


def link(volumes: VolumeMap, cluster: ClusterDirectory) -> tuple[list[tuple[str, str]], list[str]]:
    """Make each mount path a link to its directory; return the links made, and notices for the user.

    All links lead into the cluster's directory: at the end none is removed that leads elsewhere. A path that
    exists is never touched: an emptyDir is then the machine's own directory.
    """
    links: list[tuple[str, str]] = []
    notices: list[str] = []
    for name, path in volumes.names.items():
        target = volumes.directories[path]
        if os.path.realpath(path) == os.path.realpath(target):
            continue
        inside = _inside(cluster, name, target)
        try:
            Path(path).symlink_to(inside)
            links.append((path, str(inside)))
        except OSError as error:
            variable = next(key for key, value in volumes.environment().items() if value == str(target))
            notices.append(
                f"volume {name}: {path} cannot be made on this machine ({error.strerror});"
                f" commands find it in ${variable}"
            )
    return links, notices


def _inside(cluster: ClusterDirectory, name: str, directory: Path) -> Path:
    """Return a path in the cluster's directory that is a volume's directory, or leads there (hostPath)."""
    inside = cluster.volumes / name
    if inside != directory:
        inside.symlink_to(directory)
    return inside


def state_directory(pod_specs: list[dict[str, Any]], name: str) -> Path | None:
    """Return the directory of flux.stateVolume's part for this cluster, without the rank."""
    for volume in (each for spec in pod_specs for each in spec.get("volumes", [])):
        if volume["name"] == STATE:
            if "hostPath" not in volume:
                raise VolumeRefused(_refusal("flux.stateVolume", volume))
            return Path(volume["hostPath"]["path"]) / name
    return None


def _mounts(pod_specs: list[dict[str, Any]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for spec in pod_specs:
        volumes = {volume["name"]: volume for volume in spec.get("volumes", [])}
        for container in (*spec.get("initContainers", []), *spec["containers"]):
            for mount in container.get("volumeMounts", []):
                name, path = mount["name"], mount["mountPath"]
                ours = name == STATE or OURS.fullmatch(name) or path == "/dev/shm"  # noqa: S108 - a mount point
                if name in volumes and not ours:
                    yield name, path, volumes[name]


def _directory(name: str, volume: dict[str, Any], source: DocumentFile, cluster: ClusterDirectory) -> Path:
    if "hostPath" in volume:
        return _host_path(name, volume["hostPath"]["path"])
    directory = cluster.volumes / name
    if "emptyDir" in volume:
        directory.mkdir(exist_ok=True)
    elif "configMap" in volume:
        given = volume["configMap"]
        _write(
            directory, _files("ConfigMap", given["name"], source.config_maps, name), given.get("items", [])
        )
    elif "secret" in volume:
        given = volume["secret"]
        _write(directory, _files("Secret", given["secretName"], source.secrets, name), given.get("items", []))
    else:
        raise VolumeRefused(_refusal(name, volume))
    return directory


def _host_path(name: str, path: str) -> Path:
    if not Path(path).is_dir():
        raise VolumeRefused(f"volume {name}: hostPath {path} is no directory of this machine")
    return Path(path)


def _files(kind: str, name: str, given: Mapping[str, KeyFile], volume: str) -> KeyFile:
    if name not in given:
        raise VolumeRefused(
            f"volume {volume}: {kind} {name} is not in the document's file;"
            " on this machine it must stand there, as a document of its own"
        )
    return given[name]


def _write(directory: Path, files: KeyFile, items: list[dict[str, str]]) -> None:
    directory.mkdir(mode=0o700, exist_ok=True)
    wanted = {item["key"]: item["path"] for item in items} or {key: key for key in files}
    for key, path in wanted.items():
        if key not in files:
            raise VolumeRefused(
                f"volume {directory.name}: has no key {key}; it has {', '.join(sorted(files))}"
            )
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(files[key])


def _refusal(name: str, volume: dict[str, Any]) -> str:
    kind = next((key for key in volume if key != "name"), "nothing")
    return (
        f"volume {name}: a {kind} exists only in a Kubernetes cluster;"
        " on this machine use hostPath, emptyDir, or a ConfigMap or Secret in the same file"
    )
