"""Mount paths as links to volumes, which are removed at the end: these, and no others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from minicluster.local import state_file, volumes
from minicluster.local.state_directory import ClusterDirectory
from minicluster.local.volumes import VolumeMap

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cluster(tmp_path: Path) -> ClusterDirectory:
    """A cluster with a volume of its own, `own`."""
    made = ClusterDirectory(tmp_path / "cluster")
    (made.volumes / "own").mkdir(parents=True)
    return made


def mapped(**directories: Path) -> tuple[VolumeMap, dict[str, str]]:
    """Return the mapping of volumes to these directories, and their mount paths."""
    paths = {name: str(directory.parent / f"mounted-{name}") for name, directory in directories.items()}
    return VolumeMap({paths[name]: directories[name] for name in paths}, paths), paths


def test_every_link_leads_into_the_clusters_directory(cluster: ClusterDirectory, tmp_path: Path) -> None:
    """That of a hostPath leads on to it."""
    (tmp_path / "host").mkdir()
    mapping, paths = mapped(own=cluster.volumes / "own", host=tmp_path / "host")
    links, notices = volumes.link(mapping, cluster)
    assert notices == []
    assert links == [(paths[name], str(cluster.volumes / name)) for name in ("own", "host")]
    assert os.path.realpath(paths["host"]) == str(tmp_path / "host")


def test_a_path_that_exists_is_not_touched(cluster: ClusterDirectory, tmp_path: Path) -> None:
    """A command then finds the volume by its variable."""
    (tmp_path / "mounted-host").mkdir()
    mapping, _ = mapped(host=tmp_path / "host")
    links, notices = volumes.link(mapping, cluster)
    assert links == []
    (notice,) = notices
    assert notice == (
        f"volume host: {tmp_path}/mounted-host cannot be made on this machine (File exists);"
        " commands find it in $MINICLUSTER_VOLUME_HOST"
    )


@pytest.mark.parametrize(
    ("target", "stays"),
    [("cluster/v/own", False), ("cluster/etc", True), ("elsewhere", True), ("cluster/v/own/deeper", True)],
)
def test_only_links_to_its_volumes_are_removed(
    cluster: ClusterDirectory, tmp_path: Path, target: str, stays: bool
) -> None:
    """Whatever is written in state.json."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path / target)
    state_file.unlink(cluster, ((str(link), str(tmp_path / target)),))
    assert link.is_symlink() == stays


def test_a_link_that_was_replaced_stays(cluster: ClusterDirectory, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    state_file.unlink(cluster, ((str(link), str(cluster.volumes / "own")),))
    assert link.is_symlink()
