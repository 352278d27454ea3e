"""MiniClusters of this machine: their bursts are shown in their directories."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from burst.clusters import policy
from burst.clusters.local_clusters import LocalClusters
from burst.settings.file import parse
from minicluster.document import BurstStatus
from minicluster.local import burst_file, state_directory, state_file
from minicluster.local.errors import StateDirectoryError
from minicluster.local.records import ClusterState, LocalPhase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.local.state_directory import ClusterDirectory

SHOWN = (BurstStatus(id="01h0000001", slot="burst-0", provider="far", state="active", nodes=2),)
SLOTS = {"clusters": [{"name": "burst-0", "size": 2}]}


def up(name: str) -> ClusterDirectory:
    """Have a cluster that is up, as far as its directory tells."""
    made = state_directory.create(name, unique=False)
    pid, start_time = state_file.own_identity()
    state = ClusterState(name, pid, start_time, "embedded", 1, 1, LocalPhase.RUNNING, "x.yaml", time.time())
    state_file.write(made, state)
    document = {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": name},
        "spec": {
            "size": 1,
            "interactive": True,
            "flux": {"bursting": SLOTS},
            "bursting": {},
            "containers": [{"image": "test"}],
        },
    }
    made.document.write_text(json.dumps(document))
    return made


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[ClusterDirectory]:
    """Of a cluster, on a short path (sockets allow 107 bytes)."""
    root = Path(tempfile.mkdtemp(prefix="mct-", dir="/tmp"))
    monkeypatch.setenv("MINICLUSTER_RUNTIME_DIR", str(root / "m"))
    yield up("mc")
    shutil.rmtree(root)


def found(source: LocalClusters) -> dict[str, str]:
    """Return the uids, by name."""
    return {each.name: each.uid for each in source.clusters()}


def test_bursts_are_shown_until_there_are_none(directory: ClusterDirectory) -> None:
    source = LocalClusters()
    uid = found(source)["mc"]
    source.publish({uid: SHOWN})
    assert [each.id for each in burst_file.read(directory)] == ["01h0000001"]
    assert directory.bursts.stat().st_mode & 0o777 == 0o600
    source.publish({"another": SHOWN})
    assert (burst_file.read(directory), directory.bursts.exists()) == ((), False)


def test_what_has_not_changed_is_not_written_again(directory: ClusterDirectory) -> None:
    source = LocalClusters()
    uid = found(source)["mc"]
    source.publish({uid: SHOWN})
    before = directory.bursts.stat()
    found(source)
    source.publish({uid: SHOWN})
    assert directory.bursts.stat().st_ino == before.st_ino
    source.publish({uid: (SHOWN[0].model_copy(update={"state": "draining"}),)})
    assert [each.state for each in burst_file.read(directory)] == ["draining"]


def test_another_service_takes_away_what_one_has_left(directory: ClusterDirectory) -> None:
    first, second = LocalClusters(), LocalClusters()
    first.publish({found(first)["mc"]: SHOWN})
    found(second)
    second.publish({})
    assert not directory.bursts.exists()


def test_a_cluster_that_is_gone_by_now_has_none(directory: ClusterDirectory) -> None:
    source = LocalClusters()
    uid = found(source)["mc"]
    state_directory.remove(directory)
    source.publish({uid: SHOWN})
    source.publish({})
    assert not directory.path.exists()


def test_one_that_cannot_be_written_does_not_stop_the_others(
    directory: ClusterDirectory,
) -> None:
    other = up("other")
    source = LocalClusters()
    uids = found(source)
    directory.bursts.with_suffix(".new").mkdir()
    with pytest.raises(StateDirectoryError, match=r"bursts\.json: cannot be written: Is a directory"):
        source.publish(dict.fromkeys(uids.values(), SHOWN))
    assert [each.slot for each in burst_file.read(other)] == ["burst-0"]
    directory.bursts.with_suffix(".new").rmdir()
    source.publish(dict.fromkeys(uids.values(), SHOWN))
    assert [each.slot for each in burst_file.read(directory)] == ["burst-0"]


@pytest.mark.parametrize("text", ["", "{", '[{"id": "a", "later": 1}]', "[1]"])
def test_what_cannot_be_read_is_none(directory: ClusterDirectory, text: str) -> None:
    directory.bursts.write_text(text)
    assert burst_file.read(directory) == ()


def test_a_file_that_leads_elsewhere_is_refused(directory: ClusterDirectory) -> None:
    os.symlink("/etc/hostname", directory.bursts)  # noqa: PTH211 - as another program may
    with pytest.raises(StateDirectoryError, match="it is a symbolic link"):
        burst_file.read(directory)


def test_machines_of_a_cloud_cannot_join_one_of_this_machine(directory: ClusterDirectory) -> None:
    [cluster] = LocalClusters().clusters()
    file = parse("providers: [{name: vms, kind: compute-engine}]", source="test")
    assert policy.of_cluster(cluster, file.settings, 0.0).problem == (
        "vms: brokers of kind compute-engine cannot join a MiniCluster there: the lead of one on this machine"
        " has no API from which machines get its certificate; right would be a provider of kind local, or the"
        " MiniCluster on Kubernetes"
    )
    assert directory.path.exists()
