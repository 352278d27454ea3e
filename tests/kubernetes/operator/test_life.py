"""A MiniCluster's life, from its making to its deletion, by an operator with the shipped rights."""

import base64
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minicluster.plan.constants import ANNOTATION_TOKENS
from minicluster.plan.objects.names import FLUX_FILES
from tests.devcluster import Api, ControlPlane, end_pod, until
from tests.devcluster.audit import Request
from tests.kubernetes import operators
from tests.kubernetes.operators import (
    ACCOUNT,
    Operator,
    conditions,
    create,
    created,
    events,
    message,
    read,
    refusal,
    settled,
)

NODES = 6


@pytest.fixture(scope="module")
def operator(own_plane: ControlPlane | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """An operator for all namespaces, and fake nodes for the pods."""
    with operators.everywhere(own_plane, tmp_path_factory.mktemp("operator"), NODES) as found:
        yield found


def pods(api: Api, namespace: str) -> list[dict[str, Any]]:
    return [
        each
        for each in api.items(f"/api/v1/namespaces/{namespace}/pods")
        if "deletionTimestamp" not in each["metadata"]
    ]


def pod_of(api: Api, namespace: str, index: int) -> str:
    label = "batch.kubernetes.io/job-completion-index"

    def poll() -> str:
        found = [
            each
            for each in pods(api, namespace)
            if each["metadata"]["labels"].get(label) == str(index)
            and each["status"].get("phase") == "Running"
        ]
        return str(found[0]["metadata"]["name"]) if found else ""

    return until(poll, f"the pod of index {index} to run")


def job(api: Api, namespace: str) -> dict[str, Any]:
    return api.get(f"/apis/batch/v1/namespaces/{namespace}/jobs/mc")


def asked_for(plane: ControlPlane, namespace: str, seconds: float) -> list[Request]:
    """Return what the operator asks for in so many seconds, there or everywhere, watches apart."""
    begin = plane.audit_log.stat().st_size
    time.sleep(seconds)
    asked = [each for each in plane.requests(begin) if each.user == ACCOUNT and each.verb != "watch"]
    return [each for each in asked if each.namespace in {"", namespace}]


def uids(api: Api, namespace: str) -> set[str]:
    """Return which Secrets there are."""
    return {each["metadata"]["uid"] for each in api.items(f"/api/v1/namespaces/{namespace}/secrets")}


class TestMaking:
    def test_everything_is_made_owned_and_labelled(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        made = create(api, namespace)
        created(api, namespace)
        uid = made["metadata"]["uid"]
        for collection in operators.OWNED:
            for item in api.items(collection.format(namespace)):
                if item["metadata"]["name"] in {"kube-root-ca.crt", FLUX_FILES}:
                    continue
                owner = item["metadata"]["ownerReferences"][0]
                is_broker = collection.endswith("pods")
                assert owner["kind"] == ("Job" if is_broker else "MiniCluster")
                assert is_broker or owner["uid"] == uid
                assert item["metadata"]["labels"]["app.kubernetes.io/instance"] == "mc"
                assert item["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "minicluster"
        first, second = api.items(f"/api/v1/namespaces/{namespace}/secrets")
        assert first["metadata"]["name"].startswith("mc-curve-")
        assert second["metadata"]["name"].startswith("mc-tokens-")
        assert (first["immutable"], second.get("immutable")) == (True, None)
        assert set(second["data"]) == {"metrics.token", "jobs.token", "burst.token"}

    def test_one_that_release_0_1_0_made_gets_its_second_secret(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        """That release made none, and no note of it on the budget."""
        create(api, namespace)
        created(api, namespace)
        secrets = f"/api/v1/namespaces/{namespace}/secrets"
        [made] = [each for each in api.items(secrets) if each["metadata"]["name"].startswith("mc-tokens-")]
        path = f"{secrets}/{made['metadata']['name']}"
        uid = job(api, namespace)["metadata"]["uid"]
        api.delete(path)
        budget = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/mc-lead"
        api.merge(budget, {"metadata": {"annotations": {ANNOTATION_TOKENS: None}}})
        until(lambda: api.exists(path), "the second Secret")
        assert api.get(path)["data"] == made["data"]
        assert job(api, namespace)["metadata"]["uid"] == uid, "its pods stay"

    def test_the_status_reports_how_it_is(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace)
        item = settled(
            api,
            namespace,
            PodsScheduled=("True", "AllScheduled"),
            Running=("True", "PodsRunning"),
            BrokersReady=("Unknown", "NotReported"),
        )
        status = item["status"]
        assert set(conditions(item)) == {
            "Valid",
            "ResourcesCreated",
            "PodsScheduled",
            "BrokersReady",
            "Running",
            "Succeeded",
            "Failed",
            "Suspended",
            "Resizing",
        }
        assert (status["size"], status["maximumSize"], status["phase"]) == (2, 4, "Running")
        assert status["observedGeneration"] == item["metadata"]["generation"] == 1
        assert status["selector"] == "hpa-selector=mc"
        assert status["startTime"]
        assert ("Normal", "Created", "all 7 objects exist") in events(api, namespace)

    def test_kubectl_shows_it_in_columns(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace)
        settled(api, namespace, Running=("True", "PodsRunning"))
        answer, body = api.exchange(
            "GET",
            operators.path(namespace),
            None,
            {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io", "User-Agent": "test"},
        )
        assert answer == 200
        assert [column in body.decode() for column in ("Phase", "Ready", "Exit")] == [True] * 3
        assert '"Running",2' in body.decode().replace(" ", "")

    def test_a_settled_one_costs_neither_writes_nor_reads(
        self, operator: Operator, plane: ControlPlane, namespace: str
    ) -> None:
        """Seven objects, at most two status patches on the way to Created; then only watches."""
        begin = plane.audit_log.stat().st_size
        create(plane.api, namespace)
        settled(plane.api, namespace, Running=("True", "PodsRunning"))
        # Behind a fake node's pod there is no door: after some seconds that is told, once.
        until(
            lambda: "the lead API" in message(read(plane.api, namespace), "BrokersReady"),
            "the operator to miss the door",
        )
        # A reconcile that is due comes a second after the last one, later on a busy machine. (The queue need
        # not be empty: it has what is due in minutes, too, and what other tests have left.)
        until(lambda: asked_for(plane, namespace, 3) == [], "three seconds without a request")
        made = [
            each for each in plane.requests(begin) if each.user == ACCOUNT and each.namespace == namespace
        ]
        objects = Counter(each.resource for each in made if not each.subresource and each.code < 300)
        del objects["events"]
        assert objects.pop("configmaps") == 2  # its own, and the first one of its namespace that all share
        assert objects.pop("secrets") == 2  # its keys, and the tokens of its lead API
        assert set(objects.values()) == {1}, objects
        assert len(objects) == 4

    def test_another_controllers_is_left_alone(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace, "theirs", managedBy="example.org/other")
        create(api, namespace, "ours")
        created(api, namespace, "ours")
        assert "status" not in read(api, namespace, "theirs")
        assert not [each for each in operators.owned(api, namespace) if "theirs" in each]


class TestEnding:
    def test_the_leads_exit_code_is_the_result(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace)
        end_pod(api, namespace, pod_of(api, namespace, 0), 3, "3")
        item = settled(api, namespace, Failed=("True", "CommandFailed"), Running=("False", "Finished"))
        assert item["status"]["exitCode"] == 3
        assert item["status"]["phase"] == "Failed"
        assert item["status"]["completionTime"]
        assert message(item, "Failed") == "the main command ended with exit code 3"
        failed = ("Warning", "CommandFailed", "the main command ended with exit code 3")
        until(lambda: failed in events(api, namespace), "the Event")

    @pytest.mark.parametrize("code", [75, 137, 143])
    def test_a_code_that_stands_for_a_lost_pod_comes_from_the_termination_message(
        self, operator: Operator, api: Api, namespace: str, code: int
    ) -> None:
        create(api, namespace)
        end_pod(api, namespace, pod_of(api, namespace, 0), 1, str(code))
        item = settled(api, namespace, Failed=("True", "CommandFailed"))
        assert item["status"]["exitCode"] == code

    def test_success_ends_all_pods(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace)
        pod_of(api, namespace, 1)
        end_pod(api, namespace, pod_of(api, namespace, 0), 0)
        item = settled(api, namespace, Succeeded=("True", "CommandSucceeded"), Failed=("False", "Finished"))
        assert (item["status"]["exitCode"], item["status"]["phase"]) == (0, "Succeeded")

    def test_a_lost_follower_fails_nothing(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace)
        first = pod_of(api, namespace, 1)
        end_pod(api, namespace, first, 75)

        def poll() -> bool:
            status = job(api, namespace)["status"]
            return status.get("failed") == 1

        until(poll, "the Job to count the lost follower")
        item = read(api, namespace)
        assert conditions(item)["Failed"] == ("False", "NotFinished")

    def test_cleanup_deletes_it_once_its_result_is_reported(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        create(api, namespace, cleanup=True)
        end_pod(api, namespace, pod_of(api, namespace, 0), 0)
        until(lambda: not api.exists(operators.path(namespace, "mc")), "the MiniCluster to be deleted")
        reasons = [reason for _, reason, _ in events(api, namespace)]
        assert "CommandSucceeded" in reasons

    def test_deletion_leaves_nothing(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace, services=[{"image": "example.org/db:1", "name": "db"}])
        created(api, namespace)
        assert len(operators.owned(api, namespace)) >= 7
        api.delete(operators.path(namespace, "mc"))
        until(lambda: not operators.owned(api, namespace), "all objects to be gone")


class TestChanging:
    def test_size_grows_and_shrinks_the_job(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace)
        settled(api, namespace, Running=("True", "PodsRunning"))
        api.merge(operators.path(namespace, "mc"), {"spec": {"size": 4}})
        item = settled(api, namespace, Resizing=("False", "AtSize"), PodsScheduled=("True", "AllScheduled"))
        until(lambda: len(pods(api, namespace)) == 4, "four pods")
        assert job(api, namespace)["spec"]["completions"] == 4
        assert until(lambda: "Growing" in {reason for _, reason, _ in events(api, namespace)}, "the Event")
        api.merge(operators.path(namespace, "mc", "scale"), {"spec": {"replicas": 1}})
        until(lambda: len(pods(api, namespace)) == 1, "one pod")

        def poll() -> bool:
            status = read(api, namespace)["status"]
            return status["size"] == 1 and conditions({"status": status})["Resizing"] == ("False", "AtSize")

        until(poll, "the status to say so")
        assert item["status"]["maximumSize"] == 4
        assert api.get(operators.path(namespace, "mc", "scale"))["status"] == {
            "replicas": 1,
            "selector": "hpa-selector=mc",
        }

    def test_growth_ends_at_the_number_of_hosts(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace, maxSize=0)
        created(api, namespace)
        message = refusal(lambda: api.merge(operators.path(namespace, "mc"), {"spec": {"size": 3}}))
        assert (
            "spec.size is greater than the number of hosts that Flux was told of when it started" in message
        )
        assert "make a new MiniCluster with a greater spec.maxSize" in message

    def test_what_brokers_read_at_start_cannot_change(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        create(api, namespace)
        created(api, namespace)
        message = refusal(lambda: api.merge(operators.path(namespace, "mc"), {"spec": {"tasks": 7}}))
        assert "spec.tasks cannot change once brokers were made" in message

    def test_suspend_and_resume(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace, suspend=True, services=[{"image": "example.org/db:1", "name": "db"}])
        item = settled(api, namespace, Suspended=("True", "Suspended"))
        assert item["status"]["phase"] == "Suspended"
        assert pods(api, namespace) == []
        api.merge(operators.path(namespace, "mc"), {"spec": {"suspend": False}})
        settled(api, namespace, Suspended=("False", "NotSuspended"), Running=("True", "PodsRunning"))
        assert len(pods(api, namespace)) == 3
        api.merge(operators.path(namespace, "mc"), {"spec": {"suspend": True}})
        settled(api, namespace, Suspended=("True", "Suspended"))
        until(lambda: pods(api, namespace) == [], "brokers and services to stop")

    def test_kueue_holds_the_job_itself(self, operator: Operator, api: Api, namespace: str) -> None:
        """Under a queue's label `suspend` of the Job is Kueue's: it is never taken back."""
        label = {"kueue.x-k8s.io/queue-name": "research"}
        create(api, namespace, jobLabels=label)
        created(api, namespace)
        resource_path = f"/apis/batch/v1/namespaces/{namespace}/jobs/mc"
        api.merge(resource_path, {"spec": {"suspend": True}})
        item = settled(api, namespace, Suspended=("True", "Queued"))
        assert message(item, "Suspended") == "the Job waits for its turn in Kueue's queue research"
        api.merge(operators.path(namespace, "mc"), {"spec": {"cleanup": True}})
        until(lambda: read(api, namespace)["status"]["observedGeneration"] == 2, "the change to be seen")
        assert job(api, namespace)["spec"]["suspend"] is True
        api.merge(resource_path, {"spec": {"suspend": False}})
        settled(api, namespace, Running=("True", "PodsRunning"))

    @pytest.mark.parametrize(
        ("collection", "name", "edit"),
        [
            ("/api/v1/namespaces/{}/services", "mc", {"spec": {"publishNotReadyAddresses": False}}),
            ("/api/v1/namespaces/{}/configmaps", "mc-config", {"data": {"start.sh": "exit 0"}}),
            (
                "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
                "mc-lead",
                {"spec": {"minAvailable": 0}},
            ),
            (
                "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
                "mc-brokers",
                {"spec": {"ingress": []}},
            ),
        ],
        ids=["Service", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy"],
    )
    def test_what_somebody_edits_or_deletes_is_made_good(
        self, operator: Operator, api: Api, namespace: str, collection: str, name: str, edit: dict[str, Any]
    ) -> None:
        create(api, namespace)
        created(api, namespace)
        resource_path = f"{collection.format(namespace)}/{name}"
        before = api.get(resource_path)
        api.merge(resource_path, edit)
        content = "data" if "data" in edit else "spec"
        until(lambda: api.get(resource_path)[content] == before[content], "the edit to be undone")
        api.delete(resource_path)
        until(lambda: api.exists(resource_path), "the object to be made again")
        assert api.get(resource_path)["metadata"]["uid"] != before["metadata"]["uid"]

    def test_a_label_that_somebody_adds_stays(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace)
        created(api, namespace)
        resource_path = f"/api/v1/namespaces/{namespace}/services/mc"
        api.merge(resource_path, {"metadata": {"labels": {"team": "physics"}}})
        api.delete(f"/api/v1/namespaces/{namespace}/configmaps/mc-config")
        until(lambda: api.exists(f"/api/v1/namespaces/{namespace}/configmaps/mc-config"), "a reconcile")
        assert api.get(resource_path)["metadata"]["labels"]["team"] == "physics"

    def test_a_deleted_job_is_made_again(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace)
        created(api, namespace)
        before = job(api, namespace)["metadata"]["uid"]
        secrets = uids(api, namespace)
        resource_path = f"/apis/batch/v1/namespaces/{namespace}/jobs/mc"
        api.delete(resource_path, propagationPolicy="Background")
        until(
            lambda: api.exists(resource_path) and job(api, namespace)["metadata"]["uid"] != before,
            "a new Job",
        )
        assert (uids(api, namespace), len(secrets)) == (secrets, 2)


def test_no_secret_is_in_the_log(operator: Operator, api: Api, namespace: str, tmp_path: Path) -> None:
    """After all of the above it has neither a key of a certificate nor a token; every line is one object."""
    create(api, namespace)
    created(api, namespace)
    first, second = api.items(f"/api/v1/namespaces/{namespace}/secrets")
    data = first["data"]["curve.cert"]
    tokens = [each for text in second["data"].values() for each in (text, base64.b64decode(text).decode())]
    keys = re.findall(r'"([^"]{40})"', base64.b64decode(data).decode())
    text = operator.text()
    assert (len(keys), len(tokens) > 2) == (2, True)
    assert not [key for key in (*keys, data, *tokens) if key in text]
    assert all(isinstance(json.loads(line), dict) for line in text.splitlines())
