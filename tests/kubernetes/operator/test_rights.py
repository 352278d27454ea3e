"""The operator's rights are those that it uses; with them, and under "restricted", it does all its work."""

import contextlib
import copy
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from minicluster.document import crd
from minicluster.plan.constants import ANNOTATION_TOKENS, FINALIZER
from minicluster.plan.objects.names import FLUX_FILES
from tests.devcluster import Api, ControlPlane, Options, cluster, end_pod, until
from tests.devcluster.audit import Request
from tests.kubernetes import autoscalers, operators
from tests.kubernetes.operators import (
    ACCOUNT,
    MANIFESTS,
    SYSTEM,
    Operator,
    create,
    created,
    events,
    message,
    read,
    settled,
)

Right = tuple[str, str, str]  # group, resource with subresource, verb
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles/minicluster-operator"
BINDING = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/minicluster-operator"
LEASE = (SYSTEM, "minicluster-operator")
SERVICES = [{"image": "example.org/db:1", "name": "db"}]
# Not sent as a request: with this plug-in the API server asks itself whether the operator may do that.
FINALIZERS = ("flux-framework.org", "miniclusters/finalizers", "update")
# Asked about real pods that do not come up (test_bring_up); and of 0.1.0, until an upgrade has replaced it.
OTHER_EVENTS = {("", "events", "list"), ("events.k8s.io", "events", "create")}
ENFORCED = {"enable-admission-plugins": "NodeRestriction,OwnerReferencesPermissionEnforcement"}
EXAMPLES = Path(__file__).parents[3] / "examples"

POD = {"restartPolicy": "Never", "containers": [{"name": "x", "image": "example.org/x:1"}]}
# Somebody else's objects, each in the way of a MiniCluster: where, the end of its name, what it is.
CONFLICTING: dict[str, tuple[str, str, dict[str, Any]]] = {
    "config": ("/api/v1/namespaces/{}/configmaps", "-config", {"data": {"theirs": "1"}}),
    "service": ("/api/v1/namespaces/{}/services", "", {"spec": {"ports": [{"port": 80}]}}),
    "job": ("/apis/batch/v1/namespaces/{}/jobs", "", {"spec": {"suspend": True, "template": {"spec": POD}}}),
    "budget": (
        "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
        "-lead",
        {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "theirs"}}}},
    ),
    "policy": (
        "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
        "-brokers",
        {"spec": {"podSelector": {"matchLabels": {"app": "theirs"}}}},
    ),
    "pod": ("/api/v1/namespaces/{}/pods", "-services", {"spec": POD}),
}


@pytest.fixture(scope="module")
def strict_plane(programs: None) -> Iterator[ControlPlane]:
    """A control plane that asks for every right there is; fake nodes run the pods."""
    with cluster(Options(crds=[crd()], audit=True, apiserver=ENFORCED)) as plane:
        plane.add_fake_nodes(6)
        yield plane


def granted(manifest: str) -> set[Right]:
    """Return the operator's rights in a shipped manifest."""
    items = [each for each in yaml.safe_load_all((MANIFESTS / manifest).read_text()) if each]
    names = {"minicluster-operator", "minicluster-operator-lease", "minicluster-operator-door"}
    roles = [each for each in items if each["kind"].endswith("Role") and each["metadata"]["name"] in names]
    rules = [rule for role in roles for rule in role["rules"]]
    return {
        right
        for rule in rules
        for right in itertools.product(rule["apiGroups"], rule["resources"], rule["verbs"])
    }


def asked_for(plane: ControlPlane, begin: int) -> list[Request]:
    """Return what the operator asked for; discovery, /version and the like are open to everybody."""
    return [each for each in plane.requests(begin) if each.user == ACCOUNT and each.resource]


def used(requests: list[Request]) -> set[Right]:
    """Return the rights that requests took; an apply that makes an object takes `create` as well."""
    return {
        (each.group, f"{each.resource}/{each.subresource}".rstrip("/"), verb)
        for each in requests
        for verb in ((each.verb, "create") if (each.verb, each.code) == ("patch", 201) else (each.verb,))
    }


@contextlib.contextmanager
def electing(plane: ControlPlane, log: Path, *options: str) -> Iterator[Operator]:
    """Have an operator that makes itself the leader; it ends in good order."""
    plane.api.delete(f"/apis/coordination.k8s.io/v1/namespaces/{LEASE[0]}/leases/{LEASE[1]}")
    kubeconfig = plane.user(ACCOUNT).kubeconfig
    lease = ("--lease", "/".join(LEASE))
    with operators.running(kubeconfig, log, *options, *lease, POD_NAMESPACE=SYSTEM) as operator:
        yield operator
        assert operator.stop() == 0


def new_namespace(plane: ControlPlane, name: str, **labels: str) -> str:
    """Make a namespace in which pods can be made."""
    metadata = {"name": name, "labels": labels}
    plane.api.create("/api/v1/namespaces", {"metadata": metadata})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    until(lambda: plane.api.exists(account), f"the service account of {name}")
    return name


def lead_of(api: Api, namespace: str, name: str = "mc") -> str:
    """Wait until the lead's pod runs; return its name."""

    def poll() -> str:
        pods = api.items(f"/api/v1/namespaces/{namespace}/pods")
        running = [each["metadata"]["name"] for each in pods if each["status"].get("phase") == "Running"]
        return next((str(pod) for pod in running if pod.startswith(f"{name}-0-")), "")

    return until(poll, f"the lead of {name} to run")


def live(api: Api, namespace: str) -> None:
    """Make a MiniCluster with a services pod and an autoscaler, suspend and resume it, resize it."""
    create(api, namespace, services=SERVICES, autoscaling={})
    settled(api, namespace, ResourcesCreated=("True", "Created"), Running=("True", "PodsRunning"))
    settled(api, namespace, Autoscaling=("True", "Following"))
    services = f"/api/v1/namespaces/{namespace}/pods/mc-services"
    api.merge(operators.path(namespace, "mc"), {"spec": {"suspend": True}})
    until(lambda: not api.exists(services), "the services pod to be deleted")
    api.merge(operators.path(namespace, "mc"), {"spec": {"suspend": False}})
    settled(api, namespace, Suspended=("False", "NotSuspended"), Running=("True", "PodsRunning"))
    api.merge(operators.path(namespace, "mc"), {"spec": {"size": 4}})
    resized(api, namespace, 4)
    api.merge(operators.path(namespace, "mc", "scale"), {"spec": {"replicas": 2}})
    resized(api, namespace, 2)


def resized(api: Api, namespace: str, size: int) -> None:
    """Wait until the MiniCluster `mc` has another size."""
    until(lambda: job(api, namespace)["completions"] == size, f"a Job of {size}")
    settled(api, namespace, Resizing=("False", "AtSize"))


def job(api: Api, namespace: str) -> dict[str, Any]:
    """Return what the Job of the MiniCluster `mc` is to do."""
    return dict(api.get(f"/apis/batch/v1/namespaces/{namespace}/jobs/mc")["spec"])


def interfere(api: Api, namespace: str) -> None:
    """Edit two objects of the MiniCluster's, and delete its Job: all are made good."""
    service = f"/api/v1/namespaces/{namespace}/services/mc"
    api.merge(service, {"spec": {"publishNotReadyAddresses": False}})
    until(lambda: api.get(service)["spec"].get("publishNotReadyAddresses"), "the edit to be undone")
    policy = f"/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies/mc-brokers"
    spec = api.get(policy)["spec"]
    api.merge(policy, {"spec": {"podSelector": {"matchLabels": {"app": "another"}}}})
    until(lambda: api.get(policy)["spec"] == spec, "the policy to be as before")
    resource_path = f"/apis/batch/v1/namespaces/{namespace}/jobs/mc"
    uid = api.get(resource_path)["metadata"]["uid"]
    api.delete(resource_path, propagationPolicy="Background")
    until(lambda: api.exists(resource_path) and api.get(resource_path)["metadata"]["uid"] != uid, "a new Job")


def create_conflicting(api: Api, namespace: str) -> None:
    """Have something of somebody else in the way, of every kind; the MiniClusters say so."""
    for name, (collection, suffix, content) in CONFLICTING.items():
        api.create(collection.format(namespace), {"metadata": {"name": f"{name}{suffix}"}, **content})
        create(api, namespace, name, services=SERVICES)
        settled(api, namespace, name, ResourcesCreated=("False", "NameTaken"))


def end(api: Api, namespace: str, name: str) -> None:
    """Have a MiniCluster come to its end, and be cleaned up."""
    create(api, namespace, name, cleanup=True)
    end_pod(api, namespace, lead_of(api, namespace, name), 0)
    until(lambda: not api.exists(operators.path(namespace, name)), "the MiniCluster to be deleted")


class TestRights:
    def test_the_rights_that_are_granted_are_those_that_are_used(
        self, strict_plane: ControlPlane, tmp_path: Path
    ) -> None:
        """Over a life with everything in it, but the API server's own affair and what no fake pod does."""
        api, namespace = strict_plane.api, new_namespace(strict_plane, "whole-life")
        begin = strict_plane.audit_log.stat().st_size
        operators.grant(api)
        with electing(strict_plane, tmp_path / "log", "--all-namespaces"):
            live(api, namespace)
            interfere(api, namespace)
            create_conflicting(api, namespace)
            end(api, namespace, "ending")
            archive(api, namespace)
            autoscale(api, namespace)
            made = token_secret(api, namespace)
        again = ("--all-namespaces", "--token-generation", "jobs=2")
        with electing(strict_plane, tmp_path / "second", *again):
            replaced(api, namespace, made)
            delete_all(api, namespace)
            until(lambda: not token_secrets(api, namespace), "its second Secret to be gone")
        requests = asked_for(strict_plane, begin)
        assert [each for each in requests if each.code == 403] == []
        assert used(requests) == granted("install.yaml") - {FINALIZERS, *OTHER_EVENTS}

    def test_without_the_right_to_block_deletion_a_strict_server_refuses(
        self, strict_plane: ControlPlane, tmp_path: Path
    ) -> None:
        """So that one is needed, though no request names it: every object has a blocking owner."""
        api, namespace = strict_plane.api, new_namespace(strict_plane, "no-finalizers")
        operators.grant(api)
        rules = api.get(ROLES)["rules"]
        api.merge(ROLES, {"rules": [each for each in rules if each["resources"] != [FINALIZERS[1]]]})
        with electing(strict_plane, tmp_path / "log", "--all-namespaces"):
            create(api, namespace)
            item = settled(api, namespace, ResourcesCreated=("False", "Refused"))
            assert "cannot set blockOwnerDeletion" in operators.message(item, "ResourcesCreated")
            operators.grant(api)
            created(api, namespace)

    def test_an_operator_for_one_namespace_neither_needs_nor_touches_another(
        self, strict_plane: ControlPlane, tmp_path: Path
    ) -> None:
        api, elsewhere = strict_plane.api, new_namespace(strict_plane, "elsewhere")
        api.delete(BINDING)
        operators.grant(api, "namespaced.yaml")
        begin = strict_plane.audit_log.stat().st_size
        create(api, elsewhere)
        with electing(strict_plane, tmp_path / "log", "--namespace", "default"):
            live(api, "default")
            end(api, "default", "ending")
        assert "status" not in read(api, elsewhere)
        assert operators.owned(api, elsewhere) == []
        requests = asked_for(strict_plane, begin)
        assert [each for each in requests if each.code == 403] == []
        assert {each.namespace for each in requests} == {"default", SYSTEM}
        assert used(requests) <= granted("namespaced.yaml")

    def test_both_ways_of_installing_grant_the_same(self) -> None:
        assert granted("namespaced.yaml") == granted("install.yaml")


def archive(api: Api, namespace: str) -> None:
    """Have a MiniCluster that is to be saved before it goes; it goes while there is nothing to save."""
    create(api, namespace, "kept", suspend=True, archive={"path": "/archive/mc.tgz"})
    created(api, namespace, "kept")
    assert read(api, namespace, "kept")["metadata"]["finalizers"] == [FINALIZER]
    api.delete(operators.path(namespace, "kept"))
    until(lambda: not api.exists(operators.path(namespace, "kept")), "the MiniCluster to be deleted")


def autoscale(api: Api, namespace: str) -> None:
    """Have a MiniCluster whose autoscaler's name is taken at first, and that then wants none any more."""
    theirs = autoscalers.hpa("Object")
    api.create(autoscalers.HPAS.format(namespace), {**theirs, "metadata": {"name": "scaled"}})
    create(api, namespace, "scaled", autoscaling={})
    settled(api, namespace, "scaled", Autoscaling=("False", "NameTaken"))
    resource_path = f"{autoscalers.HPAS.format(namespace)}/scaled"
    api.delete(resource_path)
    settled(api, namespace, "scaled", Autoscaling=("True", "Following"))
    api.merge(operators.path(namespace, "scaled"), {"spec": {"autoscaling": None}})
    until(lambda: not api.exists(resource_path), "the autoscaler to be deleted")


def token_secrets(api: Api, namespace: str) -> list[dict[str, Any]]:
    """Return the second Secret of the MiniCluster `mc`, where there is one."""
    found = api.items(f"/api/v1/namespaces/{namespace}/secrets")
    return [each for each in found if each["metadata"]["name"].startswith("mc-tokens-")]


def token_secret(api: Api, namespace: str) -> dict[str, Any]:
    """Return it once it is there."""
    return dict(until(lambda: token_secrets(api, namespace), "the second Secret")[0])


def replaced(api: Api, namespace: str, made: dict[str, Any]) -> None:
    """Wait until the token for jobs is another one, the others are as before, and that is noted."""
    budget = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets/mc-lead"
    until(lambda: "jobs=2" in api.get(budget)["metadata"]["annotations"][ANNOTATION_TOKENS], "the note")
    data = token_secret(api, namespace)["data"]
    assert {name for name in data if data[name] != made["data"][name]} == {"jobs.token"}
    assert set(data) == {"metrics.token", "jobs.token", "burst.token"}


def delete_all(api: Api, namespace: str) -> None:
    """Have the last MiniCluster of the namespace go, and what they shared."""
    for each in api.items(operators.path(namespace)):
        api.delete(operators.path(namespace, each["metadata"]["name"]))
    shared = f"/api/v1/namespaces/{namespace}/configmaps/{FLUX_FILES}"
    until(lambda: not api.exists(shared), "what they shared to be deleted")


def documents() -> dict[str, dict[str, Any]]:
    """Return our documents that set a user: the examples, and the one of these tests."""
    found = {"test": {**operators.DOCUMENT, "metadata": {"name": "mc"}}}
    for file in sorted(EXAMPLES.glob("*/minicluster.yaml")):
        for number, item in enumerate(yaml.safe_load_all(file.read_text())):
            if item["kind"] == "MiniCluster" and "securityContext" in item["spec"].get("pod", {}):
                found[f"{file.parent.name}-{number}"] = item
    return found


@pytest.fixture(scope="module")
def operator(own_plane: ControlPlane | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """An operator for all namespaces, with fake nodes."""
    if own_plane is None:
        pytest.skip("needs a control plane of its own, not the cluster of --kube-context")
    own_plane.add_fake_nodes(6)
    log = tmp_path_factory.mktemp("operator") / "log"
    with operators.running(operators.account(own_plane), log) as found:
        yield found


@pytest.fixture
def restricted(api: Api, namespace: str) -> str:
    """A namespace under Pod Security "restricted"."""
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.merge(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": label}})
    return namespace


def pod_events(api: Api, namespace: str) -> list[str]:
    """Return why pods were not made."""
    found = api.items(f"/api/v1/namespaces/{namespace}/events")
    return [each["message"] for each in found if each["reason"] == "FailedCreate"]


class TestRestricted:
    @pytest.mark.parametrize("document", documents().values(), ids=documents())
    def test_pods_of_a_document_that_sets_a_user_are_made(
        self, operator: Operator, api: Api, restricted: str, document: dict[str, Any]
    ) -> None:
        document = copy.deepcopy(document)
        document["metadata"] = {"name": document["metadata"]["name"]}
        if account := document["spec"].get("pod", {}).get("serviceAccountName"):
            resource_path = f"/api/v1/namespaces/{restricted}/serviceaccounts"
            api.create(resource_path, {"metadata": {"name": account}})
        api.create(operators.path(restricted), document)
        pods = document["spec"]["size"] + bool(document["spec"].get("services"))

        def made() -> int:
            return len(api.items(f"/api/v1/namespaces/{restricted}/pods"))

        until(lambda: made() == pods or pod_events(api, restricted), f"{pods} pods")
        assert (made(), pod_events(api, restricted)) == (pods, [])

    def test_those_of_one_that_sets_none_are_refused(
        self, operator: Operator, api: Api, restricted: str
    ) -> None:
        """Nothing is added behind a document's back; the Job's Events have the reason."""
        create(api, restricted, pod={})
        found = until(lambda: pod_events(api, restricted), "the Job's Event")
        assert 'violates PodSecurity "restricted:latest"' in found[0]
        assert "runAsNonRoot != true" in found[0]
        assert api.items(f"/api/v1/namespaces/{restricted}/pods") == []
        item = settled(api, restricted, PodsScheduled=("False", "Refused"))
        text = message(item, "PodsScheduled")
        assert text.startswith('0 of 2 pods have a node; 2 cannot be made: pods "mc-…" is forbidden: ')
        assert "runAsNonRoot != true" in text
        until(lambda: ("Warning", "Refused", text) in events(api, restricted), "the Event")


def short_life(plane: ControlPlane, namespace: str) -> dict[str, Any]:
    """Have a MiniCluster live, fail with exit code 3, and be deleted; return how its pods were made."""
    api = plane.api
    live(api, namespace)
    template: dict[str, Any] = job(api, namespace)["template"]["spec"]
    end_pod(api, namespace, lead_of(api, namespace), 3, "3")
    item = settled(api, namespace, Failed=("True", "CommandFailed"), Running=("False", "Finished"))
    assert (item["status"]["exitCode"], item["status"]["phase"]) == (3, "Failed")
    api.delete(operators.path(namespace, "mc"))
    until(lambda: operators.owned(api, namespace) == [], "all objects to be gone")
    return template


class TestVersions:
    def test_the_oldest_has_the_flux_view_copied(self, oldest_plane: ControlPlane, tmp_path: Path) -> None:
        """Kubernetes 1.31 does not mount images."""
        oldest_plane.add_fake_nodes(6)
        begin = oldest_plane.audit_log.stat().st_size
        label = {"pod-security.kubernetes.io/enforce": "restricted"}
        namespace = new_namespace(oldest_plane, "life", **label)
        with operators.running(operators.account(oldest_plane), tmp_path / "log"):
            template = short_life(oldest_plane, namespace)
        assert template["initContainers"]
        assert not [each for each in template["volumes"] if "image" in each]
        assert [each for each in asked_for(oldest_plane, begin) if each.code == 403] == []

    def test_the_current_has_it_mounted_as_an_image(
        self, operator: Operator, plane: ControlPlane, restricted: str
    ) -> None:
        template = short_life(plane, restricted)
        assert "initContainers" not in template
        assert len([each for each in template["volumes"] if "image" in each]) == 1
