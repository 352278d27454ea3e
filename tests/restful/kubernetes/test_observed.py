"""What a MiniCluster means for the service: its name in paths, whose it is, whether it can be reached."""

from __future__ import annotations

from typing import Any

import pytest

from minicluster.instance.records import BurstSummary
from minicluster.kube_client.objects import Name
from restful.clusters.spec import Tenancy
from restful.kubernetes.observed import MiniClusters, name_of_path, observed, path_name

OURS = "minicluster.flux-framework.org"
SHARED, OWN = Tenancy.SHARED, Tenancy.OWN


def item(name: str = "lammps", namespace: str = "team-a", uid: str = "u1", **more: Any) -> dict[str, Any]:
    """Return a MiniCluster as an API server has it."""
    annotations = {f"{OURS}/{key}": value for key, value in more.pop("annotations", {}).items()}
    metadata = {"name": name, "namespace": namespace, "uid": uid, "annotations": annotations}
    return {"metadata": metadata, "spec": more.pop("spec", {}), "status": {"phase": more.pop("phase", "")}}


def test_a_path_names_one_minicluster() -> None:
    name = Name("team-a", "a.b")
    assert path_name(name) == "team-a.a.b"
    assert name_of_path("team-a", path_name(name)) == name


NO_MEANING = f"the annotation {OURS}/owner has no meaning where the tenancy is shared"
TENANCIES: dict[str, tuple[Tenancy, dict[str, str], tuple[Tenancy, str, str]]] = {
    "nothing": (SHARED, {}, (SHARED, "", "")),
    "nothing, where own is the default": (OWN, {}, (OWN, "", "")),
    "an owner": (SHARED, {"owner": "alice"}, (OWN, "alice", "")),
    "own, with an owner": (SHARED, {"tenancy": "own", "owner": "alice"}, (OWN, "alice", "")),
    "own, without": (SHARED, {"tenancy": "own"}, (OWN, "", "")),
    "shared by word": (OWN, {"tenancy": "shared"}, (SHARED, "", "")),
    "shared, with an owner": (OWN, {"tenancy": "shared", "owner": "alice"}, (SHARED, "", NO_MEANING)),
    "another word": (
        SHARED, {"tenancy": "public", "owner": "alice"},
        (OWN, "", f"the annotation {OURS}/tenancy is 'public', neither shared nor own"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("default", "annotations", "expected"), TENANCIES.values(), ids=TENANCIES)
def test_whose_it_is(
    default: Tenancy, annotations: dict[str, str], expected: tuple[Tenancy, str, str]
) -> None:
    found = observed(item(annotations=annotations), default)
    assert (found.tenancy, found.owner, found.mistake) == expected


RESUME = "is suspended: `minicluster resume` starts it again"
PHASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "new": ({}, "", ""),
    "runs": ({}, "Running", ""),
    "resizes": ({}, "Resizing", ""),
    "a later release's phase": ({}, "Dancing", ""),
    "suspended": ({"suspend": True}, "Suspended", RESUME),
    "begins suspended": ({"suspend": True}, "", RESUME),
    "is saved before it is suspended": ({"suspend": True}, "Running", ""),
    "ended": ({}, "Succeeded", "has ended, as its command has"),
    "failed": ({}, "Failed", "has failed: its status has the reason"),
    "invalid": ({}, "Invalid", "has an invalid document: its status has the reason"),
    "no lead": (
        {"flux": {"bursting": {"leadBroker": {"address": "192.0.2.1"}}}}, "Running",
        "has no lead of its own: spec.flux.bursting names a leadBroker elsewhere",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "phase", "expected"), PHASES.values(), ids=PHASES)
def test_whether_it_can_be_reached(spec: dict[str, Any], phase: str, expected: str) -> None:
    assert observed(item(spec=spec, phase=phase), SHARED).unreachable == expected


DIRECTORIES: dict[str, tuple[list[dict[str, Any]], str]] = {
    "none": ([], ""),
    "one that states none": ([{"image": "a"}], ""),
    "the only one's": ([{"workingDir": "/data"}], "/data"),
    "that of the one that runs Flux": (
        [{"workingDir": "/web"}, {"runFlux": True, "workingDir": "/data"}],
        "/data",
    ),
    "what is no absolute path": ([{"workingDir": "data"}], ""),
}


@pytest.mark.parametrize(("containers", "expected"), DIRECTORIES.values(), ids=DIRECTORIES)
def test_where_its_jobs_run(containers: list[dict[str, Any]], expected: str) -> None:
    assert observed(item(spec={"containers": containers}), SHARED).directory == expected


def test_a_long_owner_is_no_users_name() -> None:
    found = observed(item(annotations={"owner": "a" * 1000}), SHARED)
    assert (found.tenancy, len(found.owner)) == (OWN, 757)


def test_what_changes_nothing_here_is_no_change() -> None:
    found = MiniClusters()
    assert list(found.see("MiniCluster", item())) == [Name("team-a", "lammps")]
    assert list(found.see("MiniCluster", {**item(), "status": {"phase": "", "readyBrokers": 1}})) == []
    assert list(found.see("MiniCluster", item(phase="Running"))) == [Name("team-a", "lammps")]


def test_a_list_replaces_what_a_namespace_had() -> None:
    listed: list[str] = []
    found = MiniClusters(has_been_listed=listed.append)
    for each in (item("a"), item("b"), item("c", "team-b")):
        found.see("MiniCluster", each)
    changed = found.replace_all("MiniCluster", [item("b", uid="u2"), item("d")], 7, "team-a")
    assert sorted(changed) == [Name("team-a", "a"), Name("team-a", "b"), Name("team-a", "d")]
    assert sorted(map(str, found.clusters)) == ["team-a/b", "team-a/d", "team-b/c"]
    assert (listed, found.knows("team-a"), found.knows("team-b")) == (["team-a"], True, False)


def test_what_is_deleted_is_reported_once() -> None:
    found = MiniClusters()
    found.see("MiniCluster", item())
    assert list(found.forget("MiniCluster", item())) == [Name("team-a", "lammps")]
    assert list(found.forget("MiniCluster", item())) == []


def test_bursts_are_those_of_the_status() -> None:
    found = item()
    assert observed(found, SHARED).bursts == ()
    known = {"id": "01h0000001", "slot": "burst-0", "provider": "far", "state": "active", "nodes": 2}
    found["status"]["bursts"] = [known, {"id": "b"}]
    assert observed(found, SHARED).bursts == (
        BurstSummary("01h0000001", "burst-0", "far", "active"),
        BurstSummary("b"),
    )
