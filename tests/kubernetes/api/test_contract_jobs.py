"""The contract with an API server (see test_contract.py): Jobs, and what `plan()` makes."""

import pytest

from minicluster import document as spec
from minicluster import plan as planning
from minicluster.kube_client import objects
from minicluster.kube_client.api import Selection
from minicluster.kube_client.resources import JOBS, MINICLUSTERS, PODS
from minicluster.lead_client import broker_pods
from minicluster.operator import observation
from minicluster.plan.constants import LABEL_POD_INDEX
from tests.kubernetes.contract import (
    Object,
    Opening,
    Server,
    condition,
    fact,
    job,
    minicluster,
    read,
    refused,
    settings,
)

DOCUMENTS: dict[str, Object] = {
    "plain": {},
    "autoscaled": {"autoscaling": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 20}}}},
    "services": {"services": [{"name": "database", "image": "db", "ports": [5432]}]},
    "sidecar": {
        "containers": [{"image": "app", "runFlux": True}, {"name": "side", "image": "side", "ports": [80]}]
    },
    "much": {
        "pod": {
            "annotations": {"a": "b"},
            "labels": {"c": "d"},
            "nodeSelector": {"disk": "fast"},
            "securityContext": {"runAsUser": 1000, "fsGroup": 1000},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
        },
        "jobLabels": {"team": "physics"},
        "network": {"onePerNode": "Required"},
        "deadlineSeconds": 600,
        "flux": {"minimalService": True},
    },
}


# Jobs


CHANGES: dict[str, Object] = {
    "another image": {"image": "other"},
    "completions alone": {"completions": 4},
    "another success policy": {"successPolicy": {"rules": [{"succeededIndexes": "0"}]}},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_job_stays_as_it_was_made(server: Opening, change: Object) -> None:
    async def check(server: Server) -> None:
        await server.api.apply(job(server))
        assert await refused(server.api.apply(job(server, **change))) == (422, "Invalid")

    fact(check)(server)


@fact
async def test_an_immutable_config_map_stays_as_it_was_made(server: Server) -> None:
    await server.api.apply({**settings(server), "immutable": True})
    other = {**settings(server, data={"key": "other"}), "immutable": True}
    assert await refused(server.api.apply(other)) == (422, "Invalid")


@fact
async def test_a_jobs_size_changes(server: Server) -> None:
    await server.api.apply(job(server, 2))
    await server.api.apply(job(server, 3))
    found = await read(server, JOBS, "mc")
    assert (observation.job_report(found).parallelism, found["metadata"]["generation"]) == (3, 2)


async def _active(server: Server, count: int) -> Object | None:
    found = await read(server, JOBS, "mc")
    return found if observation.job_report(found).active == count else None


async def _pods(server: Server) -> list[Object]:
    return list((await server.api.list(Selection(PODS, server.namespace, "app=mc"))).items)


@fact
async def test_a_job_has_a_pod_an_index(server: Server) -> None:
    uid = (await server.api.apply(job(server, 3)))["metadata"]["uid"]
    found = await server.until(lambda: _active(server, 3))
    pods = await _pods(server)
    assert found["status"]["startTime"]
    assert sorted(broker_pods.pod_report(pod).index for pod in pods) == [0, 1, 2]
    assert {objects.controller_uid(pod) for pod in pods} == {uid}
    assert {pod["metadata"]["annotations"][LABEL_POD_INDEX] for pod in pods} == {"0", "1", "2"}
    assert {broker_pods.pod_report(pod).phase for pod in pods} == {"Pending"}


@fact
async def test_a_job_that_shrinks_loses_its_highest_pods(server: Server) -> None:
    await server.api.apply(job(server, 3))
    await server.until(lambda: _active(server, 3))
    await server.api.apply(job(server, 1))
    await server.until(lambda: _active(server, 1))
    assert [broker_pods.pod_report(pod).index for pod in await _pods(server)] == [0]


@fact
async def test_a_job_that_is_suspended_loses_its_pods(server: Server) -> None:
    await server.api.apply(job(server))
    await server.until(lambda: _active(server, 2))
    await server.api.apply(job(server, suspend=True))
    suspension = await server.until(lambda: condition(server, "Suspended", "True"))
    report = observation.job_report(await server.until(lambda: _active(server, 0)))
    assert (report.suspended, report.start_time, suspension["reason"]) == (True, None, "JobSuspended")
    assert await _pods(server) == []


@fact
async def test_a_job_that_is_resumed_has_pods_again(server: Server) -> None:
    await server.api.apply(job(server, suspend=True))
    await server.until(lambda: condition(server, "Suspended", "True"))
    await server.api.apply(job(server, suspend=False))
    suspension = await server.until(lambda: condition(server, "Suspended", "False"))
    report = observation.job_report(await server.until(lambda: _active(server, 2)))
    assert (report.suspended, suspension["reason"]) == (False, "JobResumed")
    assert report.start_time is not None


@fact
async def test_a_job_fails_with_its_pod(server: Server) -> None:
    """By its pod failure policy, and the others are ended."""
    await server.api.apply(job(server))
    await server.until(lambda: _active(server, 2))
    await server.fail_pod("mc", 0, 3)
    failure = await server.until(lambda: condition(server, "Failed", "True"))
    target = await condition(server, "FailureTarget", "True")
    assert (failure["reason"], target is not None) == ("PodFailurePolicy", True)
    assert "failed with exit code 3 matching FailJob rule" in failure["message"]
    report = observation.job_report(await read(server, JOBS, "mc"))
    assert (report.active, report.completion_time) == (0, None)
    lead, *others = (broker_pods.pod_report(pod) for pod in await _pods(server))
    assert (lead.phase, lead.exit_code, others) == ("Failed", 3, [])


@fact
async def test_a_jobs_pods_go_with_it(server: Server) -> None:
    await server.api.apply(job(server))
    await server.until(lambda: _active(server, 2))
    await server.api.delete(JOBS, server.namespace, "mc")

    async def none_left() -> bool:
        return await _pods(server) == []

    assert await server.until(none_left)


# What plan() makes, applied


@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_the_shape_of_an_object_is_that_of_the_fields_it_holds(server: Opening, document: Object) -> None:
    """So an operator that has just started sees whether somebody took a field out of it."""

    async def check(server: Server) -> None:
        await server.api.create(minicluster(server, **document))
        cluster = spec.validate(await read(server, MINICLUSTERS, "mc"))
        site = planning.Site(namespace=server.namespace)
        for item in planning.build(cluster, site, suspended=False):
            stamped = observation.stamped(item)
            found = observation.dependent(item["kind"], await server.api.apply(stamped))
            assert found.shape == observation.shape(stamped), item["kind"]

    fact(check)(server)
