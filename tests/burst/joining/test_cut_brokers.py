"""Bursts of a MiniCluster whose brokers were cut by its profile: their pods are as those at home."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from broker_config.formats import resource_set
from burst.joining.instances import instance_objects
from burst.joining.worker_document import WorkerSettings
from burst.joining.workers import worker_objects
from minicluster.document import GranularityStatus, MiniCluster, Status
from minicluster.plan import Observed, Site, plan
from tests.burst.joining.near import CERTIFICATE, SPEC, join_settings, near
from tests.burst.joining.test_workers import NOW, WANTED

MOMENT = datetime.fromtimestamp(NOW, UTC)
CUT = GranularityStatus(policy="granularity", profile="memory", nodes=4, groups=4, brokers=4)
RESOURCES = {"limits": {"cpu": "16", "memory": "32Gi"}}
CONTAINER = {"image": "example.org/app:1", "command": "stream", "resources": RESOURCES}
VIEW = {"container": {"disable": False}}


def cut(granularity: GranularityStatus | None = CUT, **spec: Any) -> MiniCluster:
    """Return the document of a lead that runs with 16 hosts, four for each one of `maxSize`."""
    document = near(**{"profile": "memory", "containers": [CONTAINER], **spec})
    return document.model_copy(update={"status": Status(granularity=granularity, maximum_size=16)})


def pod(cluster: MiniCluster, settings: WorkerSettings | None = None, nodes: int = 8) -> dict[str, Any]:
    """Return the spec of the followers' pods."""
    wanted = WANTED._replace(nodes=nodes)
    made = worker_objects(join_settings(cluster=cluster), wanted, settings or WorkerSettings(), NOW)
    spec: dict[str, Any] = made[-1]["spec"]["template"]["spec"]
    return spec


def resources(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return those of the pod's containers, that of the view first."""
    return [each["resources"] for each in (*spec.get("initContainers", ()), *spec["containers"])]


def equal(cpu: str, memory: str) -> dict[str, Any]:
    part = {"cpu": cpu, "memory": memory}
    return {"limits": part, "requests": part}


def test_followers_have_the_part_of_a_broker_at_home() -> None:
    """Whole CPUs with requests equal to limits, the init container too: a kubelet gives them their own."""
    part = equal("4", str(8 * 2**30))
    assert resources(pod(cut(flux={**SPEC["flux"], **VIEW}))) == [part, part]


def test_they_are_the_same_as_at_home() -> None:
    """To the field: resources, and how they are spread. The lead's R has as many cores for each host."""
    there = pod(cut(), nodes=4)
    home = plan(cut(flux={**SPEC["flux"], "curveCert": CERTIFICATE}), Observed(), Site(), None, MOMENT)
    made = {each["kind"]: each for each in home.objects}
    job = made["Job"]["spec"]["template"]["spec"]
    hosts = resource_set.loads(made["ConfigMap"]["data"]["R"]).nodes
    assert {node.cores.bit_count() for node in hosts if node.host.startswith("burst-0-")} == {4}
    assert resources(there) == resources(job)
    (apart,), (as_there,) = job["topologySpreadConstraints"], there["topologySpreadConstraints"]
    assert {**as_there, "labelSelector": apart["labelSelector"]} == apart
    assert "affinity" not in there


def test_there_are_as_many_as_the_burst_has_nodes() -> None:
    """A slot's hosts were counted in brokers that were cut: nothing is multiplied again."""
    made = worker_objects(join_settings(cluster=cut()), WANTED._replace(nodes=8), WorkerSettings(), NOW)
    assert made[-1]["spec"]["completions"] == 8
    config = next(each for each in made if each["kind"] == "ConfigMap")["data"]["broker.toml"]
    assert '{ host = "near-[1-15],burst-0-[0-7],burst-1-[0-1]" }' in config


def test_brokers_that_are_together_at_home_have_a_node_each_there() -> None:
    """The burst was planned with a node for each, and pays for it."""
    together = GranularityStatus(policy="scale", profile="network", nodes=1, groups=1, brokers=1)
    spec = pod(cut(together, profile="network"))
    assert [each["whenUnsatisfiable"] for each in spec["topologySpreadConstraints"]] == ["ScheduleAnyway"]
    assert "affinity" not in spec


def test_what_the_providers_settings_request_is_not_divided() -> None:
    """It is for a broker there. The init container has no more."""
    settings = WorkerSettings(requests={"cpu": "2", "memory": "1Gi"})
    assert resources(pod(cut(flux={**SPEC["flux"], **VIEW}), settings)) == [equal("2", "1Gi")] * 2


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param(cut(granularity=None), id="not cut"),
        pytest.param(
            cut(
                flux={**SPEC["flux"], "bursting": {"clusters": [{"name": "burst-0", "size": 8, "cores": 16}]}}
            ),
            id="a slot with cores of its own",
        ),
    ],
)
def test_others_have_what_the_document_gives_a_broker(cluster: MiniCluster) -> None:
    spec = pod(cluster)
    assert resources(spec) == [RESOURCES]
    assert "topologySpreadConstraints" not in spec


def test_an_instance_of_its_own_has_brokers_of_the_document() -> None:
    """It is another instance. What the document asks of the operator of the lead asks nothing here."""
    cluster = cut()
    asking = cluster.model_copy(update={"spec": cluster.spec.model_copy(update={"granularity": "scale"})})
    made = instance_objects(asking, WANTED._replace(isolated=True, slot="isolated-x"), WorkerSettings(), NOW)
    assert resources(made[-1]["spec"]["template"]["spec"]) == [RESOURCES]
