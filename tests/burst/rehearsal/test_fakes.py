"""Providers of clouds are rehearsed by their official clients, and what an administrator has set is kept."""

from __future__ import annotations

from typing import Any

import pytest

from burst.planning import money
from tests.burst.rehearsal.test_rehearsal import rehearsed

ROW = {"machine": "m1", "cores": 8, "price": "0.72", "spotPrice": "0.36", "priceDate": "2026-11-01"}
GOOGLE = {"project": "lab-1234", "machines": [ROW]}
SETTINGS: dict[str, dict[str, Any]] = {
    "eks": {
        "region": "eu-west-1",
        "cluster": "research",
        "nodeRole": "arn:aws:iam::123456789012:role/nodes",
        "subnets": ["subnet-1"],
        "namespace": "bursts",
        "machines": [ROW],
    },
    "gke": {**GOOGLE, "location": "europe-west4-a", "cluster": "research", "namespace": "bursts"},
    "compute-engine": {**GOOGLE, "region": "europe-west4", "image": "global/images/flux"},
}
CREATE = {
    "eks": "eks.CreateNodegroup",
    "gke": "container.nodePools.create",
    "compute-engine": "compute.regionInstances.bulkInsert",
}
CREATION = {"feePerHour": "0.72", "readySeconds": 60}
CLUSTERS: dict[str, dict[str, Any]] = {
    "eks": {
        **CREATION,
        "clusterRole": "arn:aws:iam::123456789012:role/clusters",
        "subnets": ["subnet-1", "subnet-2"],
    },
    "gke": {**CREATION, "network": "default", "subnetwork": "default"},
}
"""With what a cluster is made for each burst: it costs as much as a node."""


@pytest.mark.parametrize("kind", SETTINGS)
def test_a_cloud_is_rehearsed_by_its_own_client(kind: str) -> None:
    settings = {"providers": [{"name": "cloud", "kind": kind, "settings": SETTINGS[kind]}]}
    faults = [{"provider": "cloud", "call": CREATE[kind], "number": 1, "fault": "answer-lost"}]
    found = rehearsed(settings=settings, faults=faults)
    [burst], [cloud] = found["bursts"], found["clouds"]
    assert (burst["nodes"], burst["spot"], burst["outcome"]) == (3, True, "succeeded")
    assert (cloud["machines"], cloud["left"], found["unmet_faults"]) == (3, [], [])
    assert cloud["calls"][CREATE[kind]] >= 1
    late = money.cost(360_000, 3, 30.0 + 10.0)  # listings of machines lag, and the service looks now and then
    assert 0 <= money.amount(cloud["cost"]) - money.amount(cloud["bill"]) + 1 <= late


def test_a_deletion_is_not_repeated_while_listings_lag() -> None:
    """A listing of a minute ago has what is gone: each tick may ask once more, not as often as it can."""
    settings = {"providers": [{"name": "cloud", "kind": "gke", "settings": SETTINGS["gke"]}]}
    found = rehearsed(settings=settings, clouds={"cloud": {"lagSeconds": 60}})
    [cloud] = found["clouds"]
    assert (found["bursts"][0]["outcome"], cloud["left"]) == ("succeeded", [])
    assert sum(cloud["calls"].values()) < 600


@pytest.mark.parametrize("kind", CLUSTERS)
def test_a_cluster_for_each_burst_is_rehearsed_with_its_fee(kind: str) -> None:
    own = {**SETTINGS[kind], "cluster": {"create": CLUSTERS[kind]}, "namespace": "default"}
    found = rehearsed(settings={"providers": [{"name": "cloud", "kind": kind, "settings": own}]})
    [burst], [cloud] = found["bursts"], found["clouds"]
    assert (burst["nodes"], burst["outcome"], cloud["left"]) == (3, "succeeded", [])
    created = {"eks": "eks.CreateCluster", "gke": "container.clusters.create"}[kind]
    assert cloud["calls"][created] == 1
    late = money.cost(720_000 + 3 * 360_000, 1, 30.0 + 10.0)
    assert 0 <= money.amount(cloud["cost"]) - money.amount(cloud["bill"]) + 1 <= late
