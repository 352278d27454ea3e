"""From a document to a Flux instance on real nodes: who joins, in which order, and what is said meanwhile."""

from typing import Any

import pytest

from broker_config import curve
from minicluster import document
from minicluster.plan import FreshKeys, Site, render
from tests.devcluster import ControlPlane, node_images, until
from tests.kubernetes.live import DOCUMENT, Live, bind, cordoned

VIEW = {"container": {"image": node_images.VIEW}}


@pytest.mark.parametrize("size", [1, 2, 4])
def test_every_broker_joins_from_a_node_of_its_own(live: Live, size: int) -> None:
    """The lead broker itself counts them."""
    status = live.create(size=size, interactive=True).joined(size)
    assert (status["readyBrokers"], status["phase"]) == (size, "Running")
    assert live.message("BrokersReady") == f"{size} of {size} brokers have joined"
    assert live.message("Running") == "the instance is up and waits for work"
    assert len({pod["spec"]["nodeName"] for pod in live.pods.by_rank().values()}) == size


def test_the_command_runs_on_every_broker(live: Live) -> None:
    """Its output is in the lead's log, its exit code is the MiniCluster's."""
    status = live.create({"command": "hostname"}, size=4, tasks=4).ended()
    assert (status["phase"], status["exitCode"]) == ("Succeeded", 0)
    assert {f"mc-{rank}" for rank in range(4)} <= set(live.pods.log(0).split())


def test_flux_comes_from_a_view_that_is_mounted(live: Live, engine: str) -> None:
    """The application's image has neither Flux nor Python."""
    if engine == node_images.REAL:
        pytest.skip("real Flux runs at the path that it was built for, which is none of a view's")
    live.create({"image": node_images.PLAIN, "command": "hostname"}, flux=VIEW, tasks=2)
    assert live.ended()["exitCode"] == 0, live.pods.logs()
    assert {"mc-0", "mc-1"} <= set(live.pods.log(0).split())


def test_flux_comes_from_a_view_that_is_copied(nodes: ControlPlane, space: str) -> None:
    """As on a Kubernetes that mounts no images: an init container copies it. Applied without an operator."""
    container = {"image": node_images.PLAIN, "command": "hostname"}
    spec = DOCUMENT["spec"] | {"tasks": 2, "containers": [container], "flux": VIEW}  # type: ignore[operator]
    metadata = {"name": "mc", "namespace": space, "uid": "0a1b2c3d-0000-4000-8000-000000000000"}
    cluster = document.validate(DOCUMENT | {"metadata": metadata, "spec": spec})
    for item in render(cluster, Site(namespace=space), FreshKeys(curve.generate()), with_secrets=True):
        item["metadata"].pop("ownerReferences", None)
        nodes.api.create(collection(item), item)
    job, live = f"/apis/batch/v1/namespaces/{space}/jobs/mc", Live(nodes.api, space)
    try:
        until(lambda: nodes.api.get(job)["status"].get("succeeded"), "the Job to succeed", 60)
    except TimeoutError as error:
        raise AssertionError(
            f"{error}: {[each['status'] for each in live.pods.by_rank().values()]}\n{live.pods.logs()}"
        ) from error
    assert "initContainers" in live.pods.by_rank()[0]["spec"]
    assert {"mc-0", "mc-1"} <= set(live.pods.log(0).split())


def collection(item: dict[str, Any]) -> str:
    """Return where an object of a plan is created."""
    groups = {"Job": "apis/batch/v1", "NetworkPolicy": "apis/networking.k8s.io/v1"}
    groups["PodDisruptionBudget"] = "apis/policy/v1"
    plural = {"NetworkPolicy": "networkpolicies"}.get(item["kind"], f"{item['kind'].lower()}s")
    return f"/{groups.get(item['kind'], 'api/v1')}/namespaces/{item['metadata']['namespace']}/{plural}"


def test_a_lead_that_starts_last_finds_its_followers(live: Live, nodes: ControlPlane) -> None:
    with cordoned(nodes):
        live.create(interactive=True)
        bind(live, 1, nodes.nodes[0].name)
        live.pods.running(1)
        live.until(PodsScheduled=("False", "Unschedulable"), BrokersReady=("Unknown", "NotReported"))
    assert live.joined()["readyBrokers"] == 2


def test_work_begins_with_the_quorum_and_a_late_follower_joins(live: Live, nodes: ControlPlane) -> None:
    """spec.minSize is the quorum."""
    with cordoned(nodes):
        live.create(minSize=1, interactive=True)
        bind(live, 0, nodes.nodes[0].name)
        status = live.until(Running=("True", "ReadyForWork"), BrokersReady=("False", "Joining"))
        assert status["readyBrokers"] == 1
        assert live.message("BrokersReady").startswith(
            "1 of 2 brokers have joined; work starts with 1; missing: 1 ("
        )
    assert live.joined()["readyBrokers"] == 2


MISSING = {
    "image": ({"image": "localhost/nowhere:1"}, "ErrImage"),
    "secret": ({"volumes": {"keys": {"secretName": "absent"}}}, 'secret "absent" not found'),
    "config map": ({"volumes": {"files": {"configMapName": "absent"}}}, 'configmap "absent" not found'),
    "claim": (
        {"volumes": {"disk": {"claimName": "absent", "path": "/mnt/disk"}}},
        'persistentvolumeclaim "absent" not found',
    ),
}


@pytest.mark.parametrize(("container", "words"), MISSING.values(), ids=MISSING)
def test_what_a_pod_lacks_is_reported(live: Live, container: dict[str, Any], words: str) -> None:
    """In a condition's message, with the pod's name."""
    live.create(container, interactive=True)

    def poll() -> bool:
        conditions = live.status.get("conditions") or ()
        return any(words in each["message"] and "mc-" in each["message"] for each in conditions)

    try:
        until(poll, f"{words} to be said", 30)
    except TimeoutError as error:
        raise AssertionError(f"{error}: {live.status}") from error


def test_the_log_reports_where_the_brokers_found_their_cores(live: Live) -> None:
    """Where no CPU is asked for."""
    live.create({"command": "flux resource list -s free -no '{ncores}'", "launcher": True}, size=1)
    assert live.ended()["exitCode"] == 0
    assert "no CPU is asked for" in live.pods.log(0)
