"""What is wrong with a MiniCluster, or stands in its way: a condition says what to do, and doing it heals."""

from collections.abc import Iterator
from typing import Any

import pytest

from minicluster.plan.constants import FINALIZER
from tests.devcluster import Api, ControlPlane, until
from tests.kubernetes import operators
from tests.kubernetes.operators import (
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


@pytest.fixture(scope="module")
def operator(own_plane: ControlPlane | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """An operator for all namespaces; there are no nodes."""
    with operators.everywhere(own_plane, tmp_path_factory.mktemp("operator")) as found:
        yield found


def manifest(kind: str, version: str, name: str, **content: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **content}


STORED = {"annotations": {"kopf.zalando.org/last-handled-configuration": "x"}}
POD = {"restartPolicy": "Never", "containers": [{"name": "x", "image": "example.org/x:1"}]}
CONFLICTING = [
    ("/api/v1/namespaces/{}/configmaps", manifest("ConfigMap", "v1", "mc-config", data={"theirs": "1"})),
    (
        "/api/v1/namespaces/{}/services",
        manifest("Service", "v1", "mc", spec={"ports": [{"port": 80}], "selector": {"app": "theirs"}}),
    ),
    (
        "/apis/batch/v1/namespaces/{}/jobs",
        manifest("Job", "batch/v1", "mc", spec={"suspend": True, "template": {"spec": POD}}),
    ),
    (
        "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
        manifest("PodDisruptionBudget", "policy/v1", "mc-lead", spec={"minAvailable": 1}),
    ),
    (
        "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
        manifest("NetworkPolicy", "networking.k8s.io/v1", "mc-brokers", spec={"podSelector": {}}),
    ),
]


class TestNames:
    @pytest.mark.parametrize(
        ("collection", "conflicting"), CONFLICTING, ids=[each["kind"] for _, each in CONFLICTING]
    )
    def test_somebody_elses_object_is_never_taken_over(
        self, operator: Operator, api: Api, namespace: str, collection: str, conflicting: dict[str, Any]
    ) -> None:
        resource_path = collection.format(namespace)
        name = conflicting["metadata"]["name"]
        before = api.create(resource_path, conflicting)
        create(api, namespace)
        item = settled(api, namespace, ResourcesCreated=("False", "NameTaken"))
        advice = "rename this MiniCluster (or its network.headlessName), or delete the other object"
        expected = f"{conflicting['kind']} {name} belongs to somebody else: {advice}"
        assert message(item, "ResourcesCreated") == expected
        until(lambda: ("Warning", "NameTaken", expected) in events(api, namespace), "the Event")
        after = api.get(f"{resource_path}/{name}")
        content = "data" if "data" in conflicting else "spec"
        assert after[content] == before[content]
        assert "ownerReferences" not in after["metadata"]
        assert "minicluster" not in {each["manager"] for each in after["metadata"]["managedFields"]}
        if conflicting["kind"] != "Job":
            assert not api.exists(f"/apis/batch/v1/namespaces/{namespace}/jobs/mc")
        api.delete(f"{resource_path}/{name}", propagationPolicy="Background")
        created(api, namespace)

    def test_deleting_the_minicluster_spares_the_conflicting_object(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        collection, conflicting = CONFLICTING[1]
        api.create(collection.format(namespace), conflicting)
        create(api, namespace)
        settled(api, namespace, ResourcesCreated=("False", "NameTaken"))
        api.delete(operators.path(namespace, "mc"))
        assert until(lambda: operators.owned(api, namespace) == ["services/mc"], "everything else to be gone")

    def test_two_with_one_headless_name(self, operator: Operator, api: Api, namespace: str) -> None:
        network = {"headlessName": "shared"}
        create(api, namespace, "first", network=network)
        created(api, namespace, "first")
        create(api, namespace, "second", network=network)
        item = settled(api, namespace, "second", ResourcesCreated=("False", "NameTaken"))
        assert "Service shared belongs to MiniCluster first" in message(item, "ResourcesCreated")
        assert conditions(read(api, namespace, "first"))["ResourcesCreated"] == ("True", "Created")
        api.delete(operators.path(namespace, "first"))
        created(api, namespace, "second")

    def test_one_of_the_same_name_again_at_once(self, operator: Operator, api: Api, namespace: str) -> None:
        """Its predecessor's objects are still there: it waits until the garbage collector took them."""
        for _ in range(3):
            made = create(api, namespace)
            created(api, namespace)
            api.delete(operators.path(namespace, "mc"))
        made = create(api, namespace)
        created(api, namespace)
        uid = made["metadata"]["uid"]

        def owners() -> set[str]:
            jobs = api.items(f"/apis/batch/v1/namespaces/{namespace}/jobs")
            return {each["metadata"]["ownerReferences"][0]["uid"] for each in jobs}

        assert owners() == {uid}

    @pytest.mark.parametrize(
        ("name", "spec", "expected"),
        [
            ("m" * 63, {}, "the name is too long: the hosts' names, <name>-<index>, must fit into 63"),
            (
                "m" * 57,
                {"services": [{"image": "x", "name": "s"}]},
                "the name is too long: that of the services pod",
            ),
        ],
        ids=["hosts", "services"],
    )
    def test_names_too_long_for_a_host_are_refused(
        self, operator: Operator, api: Api, namespace: str, name: str, spec: dict[str, Any], expected: str
    ) -> None:
        assert expected in refusal(lambda: create(api, namespace, name, **spec))


class TestDocuments:
    def test_what_cel_cannot_express_is_in_a_condition(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        """Nothing is made until the document is repaired."""
        create(api, namespace, flux={"brokerConfig": "[bootstrap\n"})
        item = settled(api, namespace, Valid=("False", "Invalid"))
        text = message(item, "Valid")
        assert text.startswith("spec.flux.brokerConfig: ")
        assert item["status"]["phase"] == "Invalid"
        assert conditions(item)["ResourcesCreated"] == ("Unknown", "NotChecked")
        assert operators.owned(api, namespace) == []
        until(lambda: ("Warning", "Invalid", text) in events(api, namespace), "the Event")
        api.merge(operators.path(namespace, "mc"), {"spec": {"flux": None}})
        item = created(api, namespace)
        assert conditions(item)["Valid"] == ("True", "Accepted")

    def test_fields_that_nobody_knows_are_reported_at_once(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        document = {**operators.DOCUMENT, "metadata": {"name": "mc"}}
        document["spec"] = {**document["spec"], "sizes": 3}  # type: ignore[dict-item]
        strict = f"{operators.path(namespace)}?fieldValidation=Strict"
        assert 'unknown field "spec.sizes"' in refusal(lambda: api.create(strict, document))


class TestRefusals:
    def test_a_quota(self, operator: Operator, api: Api, namespace: str) -> None:
        quota = f"/api/v1/namespaces/{namespace}/resourcequotas"
        api.create(quota, manifest("ResourceQuota", "v1", "none", spec={"hard": {"count/jobs.batch": "0"}}))
        until(lambda: api.get(f"{quota}/none").get("status", {}).get("hard"), "the quota to count")
        create(api, namespace)
        item = settled(api, namespace, ResourcesCreated=("False", "Refused"))
        text = message(item, "ResourcesCreated")
        assert text.startswith("Job mc was refused: ")
        assert "exceeded quota: none" in text
        assert text.endswith("(it is tried again)")
        until(lambda: ("Warning", "Refused", text) in events(api, namespace), "the Event")
        api.delete(f"{quota}/none")
        created(api, namespace)

    @pytest.mark.parametrize(
        ("hard", "expected"),
        [
            pytest.param({"requests.cpu": "8"}, "must specify requests.cpu", id="CPU"),
            pytest.param({"pods": "1"}, "exceeded quota: few", id="pods"),
        ],
    )
    def test_a_quota_of_pods(
        self, operator: Operator, api: Api, namespace: str, hard: dict[str, str], expected: str
    ) -> None:
        """It is the Job's pods that are refused, as its Events say."""
        quota = f"/api/v1/namespaces/{namespace}/resourcequotas"
        api.create(quota, manifest("ResourceQuota", "v1", "few", spec={"hard": hard}))
        until(lambda: api.get(f"{quota}/few").get("status", {}).get("hard"), "the quota to count")
        create(api, namespace)
        item = settled(api, namespace, PodsScheduled=("False", "Refused"))
        assert expected in message(item, "PodsScheduled")
        sent = [each for each in events(api, namespace) if each[:2] == ("Warning", "Refused")]
        assert len(sent) <= 1
        until(lambda: ("Warning", "Refused") in {each[:2] for each in events(api, namespace)}, "the Event")

    def test_a_missing_service_account(self, operator: Operator, api: Api, namespace: str) -> None:
        """Once it is there, the pods are made, and the condition is that they have a node, or have none."""
        pod = {**operators.DOCUMENT["spec"]["pod"], "serviceAccountName": "absent"}  # type: ignore[index]
        create(api, namespace, pod=pod)
        item = settled(api, namespace, PodsScheduled=("False", "Refused"))
        text = message(item, "PodsScheduled")
        assert (
            f'error looking up service account {namespace}/absent: serviceaccount "absent" not found' in text
        )
        api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", {"metadata": {"name": "absent"}})

        def made() -> bool:
            reason = conditions(read(api, namespace))["PodsScheduled"][1]
            return reason in {"Unschedulable", "AllScheduled"}

        until(made, "the pods to be made", operators.SECONDS)

    def test_an_admission_policy(self, operator: Operator, api: Api, namespace: str) -> None:
        policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
        bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["services"]}
        api.create(
            policies,
            {
                "metadata": {"name": namespace},
                "spec": {
                    "matchConstraints": {"resourceRules": [rule]},
                    "validations": [{"expression": "false", "message": "no Services in this house"}],
                },
            },
        )
        only_here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        binding = {
            "policyName": namespace,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": only_here},
        }
        api.create(bindings, {"metadata": {"name": namespace}, "spec": binding})
        trial = manifest("Service", "v1", "trial", spec={"ports": [{"port": 80}]})
        services = f"/api/v1/namespaces/{namespace}/services?dryRun=All"
        until(lambda: api.send("POST", services, trial)[0] >= 400, "the policy to be enforced")
        create(api, namespace)
        item = settled(api, namespace, ResourcesCreated=("False", "Refused"))
        assert "no Services in this house" in message(item, "ResourcesCreated")
        assert not api.exists(f"/apis/batch/v1/namespaces/{namespace}/jobs/mc")
        api.delete(f"{bindings}/{namespace}")
        api.delete(f"{policies}/{namespace}")
        created(api, namespace)

    def test_a_namespace_that_is_being_deleted(self, operator: Operator, api: Api, namespace: str) -> None:
        """It says so as long as the MiniCluster is there, and it does not stand in the deletion's way."""
        blocker = manifest("ConfigMap", "v1", "held", data={})
        blocker["metadata"]["finalizers"] = ["example.org/held"]
        configs = f"/api/v1/namespaces/{namespace}/configmaps"
        api.create(configs, blocker)
        cluster = create(api, namespace, suspend=True)
        created(api, namespace)
        api.merge(operators.path(namespace, "mc"), {"metadata": {"finalizers": ["example.org/held"]}})
        api.delete(f"/api/v1/namespaces/{namespace}")
        until(lambda: "deletionTimestamp" in read(api, namespace)["metadata"], "the deletion")
        for resource_path, name in ((operators.path(namespace, "mc"), "mc"), (f"{configs}/held", "held")):
            api.merge(resource_path, {"metadata": {"finalizers": None}})
            until(lambda resource_path=resource_path: not api.exists(resource_path), f"{name} to be gone")
        until(lambda: not api.exists(f"/api/v1/namespaces/{namespace}"), "the namespace to be gone", 60)
        assert cluster["metadata"]["uid"]

    def test_pods_that_no_node_takes(self, operator: Operator, api: Api, namespace: str) -> None:
        create(api, namespace, pod={"nodeSelector": {"accelerator": "none-such"}})
        settled(api, namespace, PodsScheduled=("False", "Unschedulable"))
        # Until the Job has made its second pod the message counts what is not made yet.
        refused = "0 of 2 pods have a node; mc-"
        until(
            lambda: message(read(api, namespace), "PodsScheduled").startswith(refused),
            "both pods to be refused",
        )
        assert read(api, namespace)["status"]["phase"] == "Pending"

    def test_what_kopf_would_store_in_annotations(self, operator: Operator, api: Api, namespace: str) -> None:
        """Anybody who may edit a MiniCluster can write it, and it blinds nobody."""
        create(api, namespace)
        created(api, namespace)
        api.merge(operators.path(namespace, "mc"), {"metadata": STORED, "spec": {"suspend": True}})
        settled(api, namespace, Suspended=("True", "Suspended"))
        assert "JSONDecodeError" not in operator.text()

    def test_one_that_is_created_with_them(self, operator: Operator, api: Api, namespace: str) -> None:
        """It gets its status, and all its objects; its annotations stay as they are."""
        document = {**operators.DOCUMENT, "metadata": {"name": "mc", **STORED}}
        api.create(operators.path(namespace), document)
        item = created(api, namespace)
        assert conditions(item)["Valid"] == ("True", "Accepted")
        assert item["metadata"]["annotations"] == STORED["annotations"]

    def test_one_that_would_be_saved_goes_with_them(
        self, operator: Operator, api: Api, namespace: str
    ) -> None:
        """The finalizer that waits for the save is taken off; there is nothing to save."""
        document = {**operators.DOCUMENT, "metadata": {"name": "mc", **STORED}}
        document["spec"] = {
            **operators.DOCUMENT["spec"],
            "suspend": True,
            "archive": {"path": "/archive/mc.tgz"},
        }
        api.create(operators.path(namespace), document)
        assert created(api, namespace)["metadata"]["finalizers"] == [FINALIZER]
        api.delete(operators.path(namespace, "mc"))
        until(lambda: not api.exists(operators.path(namespace, "mc")), "the MiniCluster to be deleted")
        assert "JSONDecodeError" not in operator.text()
