"""The MiniClusters of this machine whose bursts are managed."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from burst.clusters.records import MACHINE_KINDS, BurstingCluster
from burst.errors import LeadAway
from burst.joining.records import JoinSettings
from minicluster.document import DocumentError, loading
from minicluster.local import burst_file, connection, state_file
from minicluster.local.errors import StateDirectoryError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from minicluster.document import BurstStatus, MiniCluster
    from minicluster.local.records import ClusterState
    from minicluster.local.state_directory import ClusterDirectory


UNFIT = dict.fromkeys(
    MACHINE_KINDS,
    "the lead of one on this machine has no API from which machines get its certificate; right would be a"
    " provider of kind local, or the MiniCluster on Kubernetes",
)
"""Kinds of providers whose brokers cannot join a MiniCluster of this machine, and why."""


class LocalClusters:
    """Those that are up; see `ClusterSource`."""

    location = "this machine"
    key = ""

    def __init__(self) -> None:
        self._directories: dict[str, ClusterDirectory] = {}
        """Those of the clusters that were found last, by uid."""
        self._shown: dict[str, tuple[BurstStatus, ...]] = {}
        """What each cluster's file has."""

    def clusters(self) -> list[BurstingCluster]:
        """Return those that there are now, by name."""
        found = []
        directories = {}
        for directory, state in state_file.live_clusters():
            cluster = _cluster(directory, state)
            if cluster is not None:
                found.append(cluster)
                directories[cluster.uid] = directory
        self._directories = directories
        return sorted(found, key=lambda each: each.name)

    def withdraw(self, open_clusters: AbstractSet[str]) -> None:
        """Do nothing: leads of this machine are reached as they are."""

    def publish(self, bursts: Mapping[str, tuple[BurstStatus, ...]]) -> None:
        """Write them into the directory of each cluster. Raises StateDirectoryError."""
        before, self._shown = self._shown, {}
        problems = []
        for uid, directory in self._directories.items():
            found = bursts.get(uid, ())
            try:
                if found != before.get(uid):
                    burst_file.write(directory, [each.model_dump() for each in found])
                self._shown[uid] = found
            except StateDirectoryError as error:
                problems.append(error)
        if problems:
            raise problems[0]


def _cluster(directory: ClusterDirectory, state: ClusterState) -> BurstingCluster | None:
    try:
        [document] = loading.parse(directory.document.read_text(), source=state.name).clusters
    except (OSError, ValueError, DocumentError):
        return None  # it is about to come, or to go
    if document.spec.bursting is None:
        return None

    def join(slot: str) -> JoinSettings:
        return _join(directory, document, slot)

    def alone() -> JoinSettings:
        return JoinSettings(document, "", "", 0, "", directory=directory.path)

    uid = f"{state.name}-{round(state.created * 1000)}"[-63:]
    title = f"{document.metadata.namespace or 'default'}/{document.metadata.name}"
    return BurstingCluster(
        uid,
        state.name,
        title,
        document,
        lambda: connection.of(state.name),
        join,
        UNFIT,
        alone=alone,
    )


def _join(directory: ClusterDirectory, document: MiniCluster, slot: str) -> JoinSettings:
    policy = document.spec.bursting
    try:
        hosts = tomllib.loads((directory.config / "broker.toml").read_text())["bootstrap"]["hosts"]
        certificate = directory.curve.read_text()
    except OSError as error:
        raise LeadAway(f"cluster {document.metadata.name}: its files are gone") from error
    address, _, port = hosts[0]["connect"].removeprefix("tcp://").rpartition(":")
    return JoinSettings(
        cluster=document,
        slot=slot,
        address=address,
        port=int(port),
        certificate=certificate,
        fence=float(policy.fence_seconds) if policy is not None else 30.0,
        directory=directory.path,
    )
