"""An operator that a person starts from a shell, with the rights and the kubeconfig of that person."""

from pathlib import Path

import pytest

from tests.devcluster import ControlPlane, until
from tests.kubernetes import operators
from tests.kubernetes.operators import SECONDS, SYSTEM, create, created

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases/minicluster-operator"


@pytest.fixture(autouse=True)
def nobody_leads(plane: ControlPlane) -> None:
    """Forget whoever led before on this cluster, and was killed by its test."""
    plane.api.delete(LEASES.format(SYSTEM))


def test_it_stands_by_beside_an_installed_one(plane: ControlPlane, namespace: str, tmp_path: Path) -> None:
    """Without --lease it joins the installed operator's team: two would fight over the same objects."""
    installed = ("--all-namespaces", "--lease", f"{SYSTEM}/minicluster-operator")
    account = operators.account(plane)
    with (
        operators.running(account, tmp_path / "installed", *installed) as first,
        operators.running(plane.kubeconfig, tmp_path / "laptop", "--namespace", namespace) as second,
    ):
        until(lambda: first.metric("minicluster_leader") == 1, "the installed one to lead", SECONDS)
        assert second.metric("minicluster_leader") == 0
        until(lambda: f"holds the Lease {SYSTEM}/minicluster-operator" in second.text(), "a word about it")
        create(plane.api, namespace)
        created(plane.api, namespace)
        assert second.metric('minicluster_reconciles_total{result="ok"}') == 0
        assert first.stop() == 0
    plane.api.delete(LEASES.format(SYSTEM))


def test_alone_it_leads_with_a_lease_in_the_first_namespace(
    plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    with operators.running(plane.kubeconfig, tmp_path / "laptop", "--namespace", namespace) as alone:
        until(lambda: alone.metric("minicluster_leader") == 1, "it to lead", SECONDS)
        assert plane.api.get(LEASES.format(namespace))["spec"]["holderIdentity"]
