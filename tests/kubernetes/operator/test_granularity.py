"""Brokers that are cut by a profile, on a real API server: over its nodes, and as autoscalers see them."""

from pathlib import Path
from typing import Any

import pytest

from minicluster.document import messages
from tests.devcluster import ControlPlane, until
from tests.kubernetes import operators
from tests.kubernetes.operators import create, created, read, refusal, settled

NODES = ["fake-0", "fake-1"]
CONTAINER = {"image": "app", "command": "x", "resources": {"limits": {"cpu": "4", "memory": "4Gi"}}}
SPEC: dict[str, Any] = {
    "size": 1,
    "maxSize": 2,
    "tasks": 4,
    "profile": "memory",
    "containers": [CONTAINER],
    "flux": {"container": {"disable": True}},
    "pod": {"nodeAffinity": {"kubernetes.io/hostname": NODES}},
}


def test_a_minicluster_is_cut_for_the_nodes_that_it_may_use_and_scaled_as_it_was_written(
    plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Four brokers of one CPU in place of one with four, two a node. Its scale subresource counts ones."""
    api = plane.api
    plane.add_fake_nodes(3)
    account = operators.account(plane)
    operators.grant_nodes(api)
    options = ("--namespace", namespace, "--no-leader-election", "--granularity", "granularity")
    with operators.running(account, tmp_path / "log", *options) as found:
        create(api, namespace, **SPEC)
        created(api, namespace)
        status = settled(api, namespace, ExclusiveCores=("True", "Guaranteed"))["status"]
        assert status["granularity"] == {
            "policy": "granularity",
            "profile": "memory",
            "nodes": 2,
            "groups": 2,
            "brokers": 4,
        }
        settled(api, namespace, PodsScheduled=("True", "AllScheduled"))
        pods = api.items(f"/api/v1/namespaces/{namespace}/pods")
        assert sorted(each["spec"]["nodeName"] for each in pods) == [*NODES[:1] * 2, *NODES[1:] * 2]
        assert {each["status"]["qosClass"] for each in pods} == {"Guaranteed"}

        scale = operators.path(namespace, "mc", "scale")
        assert api.get(scale)["status"]["replicas"] == 1
        api.merge(scale, {"spec": {"replicas": 2}})
        job = f"/apis/batch/v1/namespaces/{namespace}/jobs/mc"
        until(lambda: api.get(job)["spec"]["parallelism"] == 8, "eight pods")
        until(lambda: api.get(scale)["status"]["replicas"] == 2, "the size in the scale subresource")
        assert read(api, namespace)["status"]["maximumSize"] == 8
        assert "defect" not in found.text()


def test_a_size_for_which_flux_has_no_hosts_is_refused(plane: ControlPlane, namespace: str) -> None:
    """Eight hosts are a size of two: the API server counts brokers as the document has them."""
    create(plane.api, namespace, **{key: value for key, value in SPEC.items() if key != "maxSize"})
    cut = {"policy": "scale", "profile": "memory", "nodes": 8, "groups": 8, "brokers": 4}
    status = {"maximumSize": 8, "granularity": cut}
    plane.api.merge(operators.path(namespace, "mc", "status"), {"status": status})
    scale = operators.path(namespace, "mc", "scale")
    assert plane.api.merge(scale, {"spec": {"replicas": 2}})["spec"]["replicas"] == 2
    assert messages.BEYOND_START in refusal(lambda: plane.api.merge(scale, {"spec": {"replicas": 3}}))


@pytest.mark.parametrize("change", [{"profile": "cpu"}, {"granularity": "none"}])
def test_what_brokers_were_cut_by_cannot_change(plane: ControlPlane, namespace: str, change: Any) -> None:
    create(plane.api, namespace, **SPEC)
    where = operators.path(namespace, "mc")
    plane.api.merge(f"{where}/status", {"status": {"maximumSize": 8}})
    words = refusal(lambda: plane.api.merge(where, {"spec": change}))
    assert f"spec.{next(iter(change))} cannot change once brokers were made" in words


WRONG = {
    "no profile": ({"granularity": "scale"}, messages.GRANULARITY_PROFILE),
    "misspelt": ({"profile": "memmory"}, 'Unsupported value: "memmory"'),
}


@pytest.mark.parametrize(("spec", "words"), WRONG.values(), ids=WRONG)
def test_the_api_server_refuses_what_no_document_may_have(
    plane: ControlPlane, namespace: str, spec: Any, words: str
) -> None:
    assert words in refusal(lambda: create(plane.api, namespace, **spec))
