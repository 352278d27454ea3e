"""Cores of their own, by a kubelet with the static CPU manager: who gets them, and who does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.document import crd
from tests.devcluster import ControlPlane, MissingProgramsError, Options, node_images, start, until
from tests.devcluster.reporting import unavailable
from tests.kubernetes import operators, script_pods
from tests.kubernetes.live import SECONDS, Live

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.devcluster import Api

pytestmark = pytest.mark.timeout(600)
MASK = "grep Cpus_allowed_list /proc/self/status"
SCRIPT = f"""\
echo broker: $({MASK}); echo task: $(flux run -n1 {MASK})
echo offers: $(flux resource list -s all -no '{{ncores}}'); sleep 600
"""
"""What the lead runs: the CPUs that its broker and a task of a job may use, and how many cores R has."""
WHOLE = {"limits": {"cpu": "1", "memory": "512Mi"}}


@pytest.fixture(scope="module")
def static_node() -> Iterator[ControlPlane]:
    """A cluster of one node, whose kubelet keeps core 0 for the system and gives the others away whole."""
    images = node_images.build()
    try:
        plane = start(Options(crds=[crd()], nodes=1, static_cores=True, images=images))
    except MissingProgramsError as error:
        unavailable(error)
    yield plane
    plane.stop()


@pytest.fixture(scope="module")
def cutting_operator(static_node: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An operator that cuts brokers, with the right to read nodes that the chart adds for that."""
    kubeconfig = operators.account(static_node)
    operators.grant_nodes(static_node.api)
    options = ("--all-namespaces", "--no-leader-election", "--granularity", "granularity")
    with operators.running(kubeconfig, tmp_path_factory.mktemp("operator") / "log", *options) as found:
        yield
        assert "defect" not in found.text()
        assert "nodes cannot be read" not in found.text()


@pytest.fixture
def space(static_node: ControlPlane, cutting_operator: None) -> Iterator[str]:
    """A namespace on that cluster."""
    with script_pods.space(static_node.api) as name:
        yield name


def create(api: Api, space: str, name: str, container: dict[str, Any], **spec: Any) -> Live:
    """Create a MiniCluster of one broker that tells which cores it has."""
    found = Live(api, space, name=name)
    return found.create({"command": SCRIPT, "launcher": True, **container}, size=1, **spec)


def cores(live: Live) -> dict[str, str]:
    """Wait for what a MiniCluster's lead found: the CPUs of its broker and of a task, and R's cores."""

    def poll() -> dict[str, str]:
        pod = f"/api/v1/namespaces/{live.namespace}/pods"
        labels = f"app.kubernetes.io/instance={live.name},app.kubernetes.io/component=broker"
        for each in live.api.items(pod, labelSelector=labels):
            if each["status"].get("phase") == "Running":
                log = live.api.send("GET", f"{pod}/{each['metadata']['name']}/log?container=flux")[1].decode()
                found = dict(
                    re.findall(r"^(broker|task|offers): (?:Cpus_allowed_list: )?(\S+)$", log, re.MULTILINE)
                )
                return found if len(found) == len({"broker", "task", "offers"}) else {}
        return {}

    try:
        return until(poll, f"the cores of {live.name}", SECONDS)
    except TimeoutError as error:
        raise AssertionError(f"{error}: {live.picture()}") from error


def test_a_guaranteed_broker_has_a_core_of_its_own_and_one_without_limits_has_not(
    static_node: ControlPlane, space: str
) -> None:
    """On the same node. R has that one core, and a job's task is bound to it."""
    api = static_node.api
    own = create(api, space, "own", {"resources": WHOLE}, profile="cpu")
    assert cores(own) == {"broker": "1", "task": "1", "offers": "1"}
    assert operators.conditions(own.item)["ExclusiveCores"] == ("True", "Guaranteed")
    (pod,) = own.pods.by_rank().values()
    assert pod["status"]["qosClass"] == "Guaranteed"
    plain = create(api, space, "plain", {})
    assert cores(plain)["broker"] == "0"
    assert "ExclusiveCores" not in operators.conditions(plain.item)


def test_a_sidecar_without_limits_keeps_its_pod_from_a_core_of_its_own(
    static_node: ControlPlane, space: str
) -> None:
    """The condition names it."""
    sidecar = {"name": "logger", "image": node_images.PLAIN, "command": "sleep 600"}
    runner = {
        "name": "flux",
        "runFlux": True,
        "image": node_images.EMBEDDED,
        "command": SCRIPT,
        "launcher": True,
        "resources": WHOLE,
    }
    found = Live(static_node.api, space, name="shared")
    document = {"size": 1, "profile": "cpu", "containers": [runner, sidecar]}
    found.create(**document)
    assert cores(found)["broker"] == "0-1"
    assert operators.conditions(found.item)["ExclusiveCores"] == ("False", "NotGuaranteed")
    assert found.message("ExclusiveCores").startswith("container logger has no limit of cpu and memory: ")
