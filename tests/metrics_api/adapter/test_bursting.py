"""What the adapter answers about bursts, and about followers of another lead."""

import asyncio
from typing import Any

import pytest

from metrics_api.names import ADDS
from tests.metrics_api.adapter import scene
from tests.metrics_api.adapter.scene import DEMAND, Scene, cluster, pod

METRICS = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/team"
CLUSTERS = f"{METRICS}/miniclusters.flux-framework.org"
SLOTS = [*DEMAND, ("flux_burst_nodes_up", {}, 3)]


@pytest.fixture(autouse=True)
def all_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scene, "SERVED", ADDS)


def asked(here: Scene, path: str) -> tuple[int, dict[str, Any]]:
    return asyncio.run(here.get(path))


def values(here: Scene, path: str) -> list[str]:
    code, body = asked(here, path)
    assert code == 200, body
    return [each["value"] for each in body["items"]]


def following() -> Scene:
    """A MiniCluster with a queue, and followers of it."""
    here = Scene().has("near", numbers=SLOTS)
    lead = {"address": "192.0.2.10", "name": "near", "size": 2}
    here.objects.see("MiniCluster", {**cluster("far"), "spec": {"flux": {"bursting": {"leadBroker": lead}}}})
    here.objects.see("Pod", pod("far", 0))
    return here


@pytest.mark.parametrize("path", [f"{METRICS}/metrics", f"{CLUSTERS}/*", f"{CLUSTERS}/near"])
def test_only_miniclusters_with_slots_have_numbers_of_bursts(path: str) -> None:
    here = Scene().has("near", numbers=SLOTS).has("plain")
    assert values(here, f"{path}/flux_burst_nodes_up") == ["3"]


@pytest.mark.parametrize("path", [f"{METRICS}/metrics", f"{CLUSTERS}/*"])
def test_without_any_slots_there_are_none(path: str) -> None:
    code, body = asked(Scene().has("plain"), f"{path}/flux_burst_nodes_up")
    assert code == 404
    assert body["message"] == (
        "no MiniCluster declares hosts of bursts (spec.flux.bursting), so none has flux_burst_nodes_up"
    )


@pytest.mark.parametrize("path", [f"{METRICS}/metrics", f"{CLUSTERS}/*"])
def test_followers_have_no_part_in_a_namespace_s_values(path: str) -> None:
    assert values(following(), f"{path}/flux_nodes_demanded") == ["7"]


def test_followers_have_no_queue() -> None:
    code, body = asked(following(), f"{CLUSTERS}/far/flux_nodes_demanded")
    assert code == 404
    assert body["message"] == (
        "MiniCluster team/far has no queue of its own: it joins another's lead broker"
        " (spec.flux.bursting.leadBroker)"
    )
