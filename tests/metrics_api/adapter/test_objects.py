"""What the watches tell is kept, and forgotten."""

from typing import Any

import pytest

from metrics_api.adapter.objects import Objects
from minicluster.kube_client.objects import Name
from minicluster.lead_client.broker_pods import Lead
from tests.metrics_api.adapter.scene import cluster, pod, service

MC = Name("team", "mc")
GOING = {"deletionTimestamp": "2026-01-01T00:01:00Z"}


def having(*pods: dict[str, Any]) -> Objects:
    """Return what there is with a MiniCluster and these pods."""
    found = Objects()
    found.see("MiniCluster", cluster("mc"))
    for each in pods:
        found.see("Pod", each)
    return found


def test_the_lead_is_the_pod_of_index_0() -> None:
    found = having(pod("mc", 1), pod("mc", 0), pod("other", 0))
    assert found.lead(MC) == Lead("uid-team-mc", "uid-mc-0", "10.0.0.1")


@pytest.mark.parametrize(
    "pods",
    [
        [],
        [pod("mc", 1)],
        [pod("mc", 0, phase="Pending")],
        [pod("mc", 0, phase="Succeeded")],
        [pod("mc", 0, **GOING)],
        [pod("mc", 0, namespace="other")],
        [{**pod("mc", 0), "status": {"phase": "Running"}}],
    ],
    ids=["none", "another", "pending", "ended", "going", "elsewhere", "without an address"],
)
def test_without_a_lead_that_runs_there_is_none(pods: list[dict[str, Any]]) -> None:
    assert having(*pods).lead(MC) is None


def test_followers_of_another_lead_have_none() -> None:
    """Nor a queue of their own, so that they have no part in the values of their namespace."""
    found, follows = having(pod("mc", 0)), cluster("mc")
    lead = {"address": "192.0.2.10", "name": "near", "size": 2}
    found.see("MiniCluster", {**follows, "spec": {"flux": {"bursting": {"leadBroker": lead}}}})
    assert found.lead(MC) is None
    assert found.clusters[MC].is_at_rest


def test_of_two_of_one_index_the_younger_one_counts() -> None:
    young = pod("mc", 0, name="young", uid="young", creationTimestamp="2026-01-01T00:02:00Z")
    found = having(young, pod("mc", 0))
    lead = found.lead(MC)
    assert lead is not None
    assert lead.pod == "young"
    assert [each.uid for each in found.brokers(MC)] == ["young"]


def test_pods_that_ended_or_go_do_not_count() -> None:
    found = having(
        pod("mc", 0), pod("mc", 1, phase="Failed"), pod("mc", 2, **GOING), pod("mc", 3, phase="Pending")
    )
    assert [each.index for each in found.brokers(MC)] == [0, 3]


def test_what_is_gone_is_forgotten() -> None:
    found = having(pod("mc", 0))
    found.see("Service", service("mc"))
    for kind, item in (("Pod", pod("mc", 0)), ("Service", service("mc")), ("MiniCluster", cluster("mc"))):
        found.forget(kind, item)
    assert found == Objects()


def test_a_list_replaces_what_was_known_in_its_namespace() -> None:
    found = having(pod("mc", 0), pod("mc", 1), pod("mc", 0, namespace="other"))
    found.replace_all("Pod", [pod("mc", 2)], 1, "team")
    assert sorted(found.pods) == [("other", "mc-0-x"), ("team", "mc-2-x")]


def test_a_pod_that_changes_its_minicluster_is_moved() -> None:
    found = having(pod("mc", 0))
    found.see("Pod", pod("other", 0, name="mc-0-x"))
    assert found.brokers(MC) == []


def test_other_pods_and_services_are_nobodys() -> None:
    found = having({**pod("mc", 0), "metadata": {"name": "x", "namespace": "team", "uid": "x"}})
    found.see("Service", {"metadata": {"name": "x", "namespace": "team"}})
    assert (found.pods, found.services) == ({}, {})
