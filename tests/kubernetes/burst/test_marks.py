"""What a service writes on MiniClusters of a real API server, beside an operator, and what that keeps."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from burst.clusters.burst_keys import BurstKeys
from burst.clusters.kubernetes_clusters import KubernetesClusters, NamespaceChoice
from burst.clusters.served_clusters import ServedClusters
from minicluster.document import BurstStatus
from minicluster.kube_client.access import Access
from minicluster.plan.constants import BURST_FINALIZER
from tests.devcluster import until
from tests.kubernetes import operators
from tests.kubernetes.restful import rights

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.devcluster import Api, ControlPlane
    from tests.kubernetes.operators import Operator

GROUP = ["flux-framework.org"]
FIND = {"apiGroups": GROUP, "resources": ["miniclusters"], "verbs": ["get", "list"]}
KEEP = {"apiGroups": GROUP, "resources": ["miniclusters"], "verbs": ["patch"]}
SHOW = {"apiGroups": GROUP, "resources": ["miniclusters/status"], "verbs": ["patch"]}
SLOTS = {"bursting": {"clusters": [{"name": "far", "size": 2}]}}
BURST = BurstStatus(
    id="aaaaaaaaaa", slot="far", provider="research", state="provisioning", nodes=2,
    until="2026-03-14T16:00:00Z", cost="3.20 EUR",
)  # fmt: skip
LIVES = ("planned", "provisioning", "joining", "active", "draining", "deleting")


@dataclass
class ServedNamespace:
    """A namespace with one MiniCluster, and the service that manages its bursts."""

    plane: ControlPlane
    namespace: str

    def __post_init__(self) -> None:
        operators.create(self.api, self.namespace, bursting={}, flux=SLOTS)
        self.uid = self.read()["metadata"]["uid"]
        access = self.account(FIND, KEEP, SHOW)
        keys = BurstKeys(access, (self.namespace, "minicluster-burst"))
        self.source = ServedClusters(access, keys, (self.namespace,))

    @property
    def api(self) -> Api:
        """The administrator's client."""
        return self.plane.api

    def account(self, *rules: dict[str, Any]) -> Access:
        """Return the access of a user with these rights."""
        user = f"burst-{secrets.token_hex(3)}"
        rights.grant(self.plane, user, "", "burst", *rules)
        return Access(str(self.plane.user(user).kubeconfig))

    def read(self) -> dict[str, Any]:
        """Return the MiniCluster."""
        return operators.read(self.api, self.namespace)

    def publish(self, *bursts: BurstStatus, source: KubernetesClusters | None = None) -> None:
        """Do what one look of the service does, with these bursts."""
        served = source or self.source
        served.clusters()
        served.publish({self.uid: bursts} if bursts else {})

    def is_there(self) -> bool:
        """Look whether the MiniCluster is there."""
        return self.api.exists(operators.path(self.namespace, "mc"))


@pytest.fixture
def served(plane: ControlPlane, namespace: str) -> ServedNamespace:
    return ServedNamespace(plane, namespace)


@pytest.fixture
def operator(plane: ControlPlane, tmp_path: Path) -> Iterator[Operator]:
    with operators.everywhere(plane, tmp_path) as found:
        yield found


@pytest.mark.usefixtures("operator")
def test_service_and_operator_write_one_status_and_neither_loses_what_the_other_wrote(
    served: ServedNamespace,
) -> None:
    api, namespace = served.api, served.namespace
    operators.settled(api, namespace, Bursting=("False", "NoBursts"))
    for size, state in enumerate(LIVES, 1):
        api.merge(operators.path(namespace, "mc"), {"spec": {"size": 1 + size % 2}})
        served.publish(BURST.model_copy(update={"state": state}))
        served.publish(BURST.model_copy(update={"state": state}))
        assert [each["state"] for each in served.read()["status"]["bursts"]] == [state]
        reason = {"active": "Active", "draining": "Ending", "deleting": "Ending"}.get(state, "Starting")
        is_active = str(state == "active")
        found = operators.settled(api, namespace, Bursting=(is_active, f"Bursts{reason}"))
        until(lambda state=state: state in operators.message(served.read(), "Bursting"), "the state in words")
        assert [each["state"] for each in found["status"]["bursts"]] == [state]
    served.publish()
    found = operators.settled(api, namespace, Bursting=("False", "NoBursts"))
    assert "bursts" not in found["status"]
    until(lambda: _events(api, namespace)[-1:] == [("NoBursts", "there are no bursts")], "the last Event")
    active = "far: 2 nodes of research, active until 2026-03-14T16:00:00Z, at most 3.20 EUR"
    assert ("BurstsActive", active) in _events(api, namespace)


def _events(api: Api, namespace: str) -> list[tuple[str, str]]:
    found = api.items(f"/api/v1/namespaces/{namespace}/events")
    ours = [each for each in found if "Bursts" in each["reason"]]
    return [(each["reason"], each["message"]) for each in sorted(ours, key=lambda each: each["eventTime"])]


def test_one_that_is_deleted_stays_until_its_bursts_are(served: ServedNamespace) -> None:
    served.publish(BURST)
    assert BURST_FINALIZER in served.read()["metadata"]["finalizers"]
    served.api.delete(operators.path(served.namespace, "mc"))
    [found] = served.source.clusters()
    assert found.is_ending
    served.publish(BURST.model_copy(update={"state": "deleting"}))
    assert served.read()["status"]["bursts"][0]["state"] == "deleting"
    served.publish()
    assert not served.is_there()
    assert served.source.clusters() == []


def test_one_without_bursts_goes_at_once(served: ServedNamespace) -> None:
    served.publish(BURST)
    served.publish()
    served.api.delete(operators.path(served.namespace, "mc"))
    assert not served.is_there()


def test_a_namespace_does_not_go_before_its_bursts(served: ServedNamespace) -> None:
    """The service has its rights everywhere: bindings of the namespace are deleted with it, at once."""
    served.publish(BURST)
    where = f"/api/v1/namespaces/{served.namespace}"
    served.api.delete(where)

    def waits() -> bool:
        found = served.api.get(where)["status"].get("conditions") or ()
        return any(BURST_FINALIZER in each["message"] for each in found)

    until(waits, "a namespace that waits for our finalizer", 60.0)
    assert served.is_there()
    served.publish()
    until(lambda: not served.api.exists(where), "the namespace's end", 60.0)


def test_a_user_who_may_only_read_shows_nothing(served: ServedNamespace) -> None:
    access = served.account(FIND)
    source = KubernetesClusters(NamespaceChoice(access, served.namespace))
    for _ in range(2):
        served.publish(BURST, source=source)
    found = served.read()
    assert (found.get("status"), found["metadata"].get("finalizers")) == (None, None)
