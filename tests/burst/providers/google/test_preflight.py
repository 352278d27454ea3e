"""What `minicluster burst check` reports of Google's clouds before anything is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.burst.providers.google.rigs import MACHINE, ComputeEngineRig, GkeRig, priced

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ENGINE: dict[str, tuple[dict[str, Any], Callable[[ComputeEngineRig], object], str]] = {
    "rights": (
        {},
        lambda rig: rig.google.account.lacking.update({"compute.disks.create", "compute.instances.create"}),
        "the credentials may not, in project rehearsal: compute.disks.create, compute.instances.create",
    ),
    "right to addresses": (
        {"externalAddress": True},
        lambda rig: rig.google.account.lacking.add("compute.subnetworks.useExternalIp"),
        "the credentials may not, in project rehearsal: compute.subnetworks.useExternalIp",
    ),
    "right of another project": (
        {"image": "projects/images/global/images/family/hpc"},
        lambda rig: rig.google.account.lacking.add("compute.images.get"),
        "project images has no image family hpc",
    ),
    "region": ({"region": "us-east9"}, lambda _rig: None, "project rehearsal has no region us-east9"),
    "zone": (
        {"zones": ["us-central1-a", "us-central1-f"]},
        lambda _rig: None,
        "region us-central1 has no zone us-central1-f, but us-central1-a, us-central1-b",
    ),
    "quota": (
        {},
        lambda rig: rig.google.compute.catalog.quotas.update({"CPUS": (24.0, 24.0), "INSTANCES": (9.0, 1.0)}),
        "quota CPUS of region us-central1 has nothing left: 24 of 24 are used",
    ),
    "machine": (
        {"machines": [priced(machine="c9-standard-8")]},
        lambda _rig: None,
        "region us-central1 has no machines of type c9-standard-8 in us-central1-a, us-central1-b",
    ),
    "cores": (
        {"machines": [priced(cores=16)]},
        lambda _rig: None,
        f"{MACHINE} has 8 virtual CPUs, and the settings have 16 cores of it",
    ),
    "family": (
        {"image": "projects/images/global/images/family/hpc"},
        lambda _rig: None,
        "project images has no image family hpc",
    ),
    "image": ({"image": "global/images/flux-0"}, lambda _rig: None, "project rehearsal has no image flux-0"),
    "subnetwork": (
        {"subnetwork": "far"},
        lambda _rig: None,
        "project rehearsal has no subnetwork far in region us-central1",
    ),
    "revoked": (
        {},
        lambda rig: setattr(rig.google.account, "is_revoked", True),
        (
            "rehearsal/us-central1: invalid_grant: Invalid JWT Signature.: the credentials are not good any"
            " more, or never were"
        ),
    ),
}


@pytest.mark.parametrize("name", ENGINE)
def test_what_is_wrong_with_a_project_is_reported_in_words(tmp_path: Path, name: str) -> None:
    settings, change, problem = ENGINE[name]
    rig = ComputeEngineRig(tmp_path, settings)
    change(rig)
    found = list(rig.provider.problems())
    rig.close()
    assert found == [problem]


CLUSTERS: dict[str, tuple[dict[str, Any], Callable[[GkeRig], object], str]] = {
    "rights": (
        {},
        lambda rig: rig.google.account.lacking.add("container.clusters.update"),
        "the credentials may not, in project rehearsal: container.clusters.update",
    ),
    "cluster": (
        {"cluster": "fra"},
        lambda _rig: None,
        "project rehearsal has no cluster fra in us-central1-a",
    ),
    "status": (
        {},
        lambda rig: rig.google.gke.detail.update(status="DEGRADED", statusMessage="its control plane is ill"),
        "cluster far is DEGRADED: its control plane is ill",
    ),
    "autopilot": (
        {},
        lambda rig: rig.google.gke.detail.update(autopilot={"enabled": True}),
        (
            "cluster far is an Autopilot cluster, which makes nodes for pods by itself: right would be a"
            " provider of kind kubernetes"
        ),
    ),
    "GPUs": (
        {"machines": [priced(gpus=1)]},
        lambda _rig: None,
        (
            f"machine {MACHINE} has GPUs, and GKE wants their type: right would be accelerator: nvidia-l4,"
            " for example"
        ),
    ),
    "zone": (
        {"zone": "us-central1-f"},
        lambda rig: setattr(rig.google.compute.catalog, "zones", ("us-central1-a",)),
        "region us-central1 has no zone us-central1-f, but us-central1-a",
    ),
    "quota": (
        {},
        lambda rig: rig.google.compute.catalog.quotas.update(CPUS=(24.0, 25.0)),
        "quota CPUS of region us-central1 has nothing left: 25 of 24 are used",
    ),
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_what_is_wrong_with_a_cluster_is_reported_in_words(tmp_path: Path, name: str) -> None:
    settings, change, problem = CLUSTERS[name]
    rig = GkeRig(tmp_path, settings)
    change(rig)
    found = list(rig.pools.problems())
    rig.close()
    assert found[0] == problem
    assert len(found) == 1 or name == "zone"


def test_all_is_well_with_a_project_and_nothing_is_made(engine: ComputeEngineRig) -> None:
    assert list(engine.provider.problems()) == []
    assert engine.cloud.machines == []


def test_all_is_well_with_a_cluster_and_nothing_is_made(gke: GkeRig) -> None:
    assert list(gke.pools.problems()) == []
    assert gke.cloud.machines == []
