"""The chart's policies: who may connect to the pods, and what MiniClusters may not ask for."""

import contextlib
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.render import template
from tests.deploy.files import Object, objects, of_kind, the
from tests.devcluster import Api, ApiError, until
from tests.kubernetes import operators

OPERATOR, ADAPTER = "minicluster-operator", "minicluster-operator-adapter"
POLICY = "ValidatingAdmissionPolicy"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
PEER = {"podSelector": {"matchLabels": {"app": "scraper"}}}
GIVEN = "networkPolicy.scrapers[0].podSelector.matchLabels.app=scraper"
PROMETHEUS = {
    "namespaceSelector": {},
    "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}},
}
BLOCK = {"ipBlock": {"cidr": "10.0.0.0/28"}}
API_SERVERS = "networkPolicy.apiServers[0].ipBlock.cidr=10.0.0.0/28"


def rendered(helm: Path, *values: str, namespace: str = "site") -> list[Object]:
    """Return the objects of a release."""
    return objects(
        template(helm, "--namespace", namespace, *(word for each in values for word in ("--set", each)))
    )


@pytest.mark.parametrize(
    ("name", "values", "ingress"),
    [
        pytest.param(OPERATOR, (), [], id="operator"),
        pytest.param(OPERATOR, (GIVEN,), [("health", [PEER])], id="operator-scrapers"),
        pytest.param(
            OPERATOR,
            ("metrics.serviceMonitor.enabled=true",),
            [("health", [PROMETHEUS])],
            id="operator-service-monitor",
        ),
        pytest.param(ADAPTER, (), [("https", None)], id="adapter"),
        pytest.param(ADAPTER, (API_SERVERS, GIVEN), [("https", [BLOCK, PEER])], id="adapter-api-servers"),
    ],
)
def test_who_may_connect(
    helm: Path, name: str, values: tuple[str, ...], ingress: list[tuple[str, list[Object] | None]]
) -> None:
    """The adapter is open to all where nobody has named the API server's addresses."""
    spec = the(rendered(helm, *values), "NetworkPolicy", name)["spec"]
    found = [(port["port"], rule.get("from")) for rule in spec["ingress"] for port in rule["ports"]]
    assert (spec["policyTypes"], found) == (["Ingress"], ingress)


@pytest.mark.parametrize("name", [OPERATOR, ADAPTER])
def test_each_policy_selects_the_pods_of_its_deployment(helm: Path, name: str) -> None:
    found = rendered(helm)
    selected = the(found, "NetworkPolicy", name)["spec"]["podSelector"]
    assert selected == the(found, "Deployment", name)["spec"]["selector"]


@pytest.mark.parametrize(
    ("value", "kind", "number"),
    [
        ("networkPolicy.enabled=false", "NetworkPolicy", 0),
        ("metricsAdapter.enabled=false", "NetworkPolicy", 1),
        ("policy.restrict=false", "ValidatingAdmissionPolicy", 0),
        ("policy.restrict=true", "ValidatingAdmissionPolicy", 1),
        ("policy.restrict=true", "ValidatingAdmissionPolicyBinding", 1),
    ],
)
def test_a_value_decides_which_policies_there_are(helm: Path, value: str, kind: str, number: int) -> None:
    assert len(of_kind(rendered(helm, value), kind)) == number


def test_with_namespaces_to_watch_only_their_miniclusters_are_restricted(helm: Path) -> None:
    found = rendered(helm, "policy.restrict=true", "watchNamespaces={team-a,team-b}")
    selector = the(found, "ValidatingAdmissionPolicyBinding")["spec"]["matchResources"]["namespaceSelector"]
    [expression] = selector["matchExpressions"]
    assert (expression["key"], expression["values"]) == ("kubernetes.io/metadata.name", ["team-a", "team-b"])


@contextlib.contextmanager
def enforced(helm: Path, api: Api, namespace: str) -> Iterator[None]:
    """Enforce the policy in a namespace; the service accounts default and hpc may be used there."""
    values = (
        "policy.restrict=true",
        f"watchNamespaces={{{namespace}}}",
        "policy.serviceAccounts={default,hpc}",
    )
    found = rendered(helm, *values)
    policy, binding = the(found, POLICY), the(found, f"{POLICY}Binding")
    for item in (policy, binding):
        item["metadata"]["name"] = namespace
    binding["spec"]["policyName"] = namespace
    api.create(POLICIES, policy)
    api.create(BINDINGS, binding)
    try:
        until(lambda: refused(api, namespace, pod={"hostPID": True}), "the policy to be enforced")
        yield
    finally:
        api.delete(f"{BINDINGS}/{namespace}")
        api.delete(f"{POLICIES}/{namespace}")


def refused(api: Api, namespace: str, **spec: Any) -> str:
    """Try to create a MiniCluster; return with which words it is refused, or nothing."""
    try:
        item = copy.deepcopy(operators.DOCUMENT) | {"metadata": {"name": "trial"}}
        item["spec"] |= spec  # type: ignore[operator]
        api.create(f"{operators.path(namespace)}?dryRun=All", item)
    except ApiError as error:
        return str(error)
    return ""


def container(**fields: Any) -> list[Object]:
    """Return the one container of a MiniCluster."""
    return [{"image": "example.org/app:1", "command": "hostname", **fields}]


def service(**fields: Any) -> dict[str, Any]:
    """Return a spec with a service."""
    return {"services": [{"image": "example.org/db:1", "name": "db", **fields}]}


HOST_PATH = {"volumes": {"node": {"hostPath": "/", "path": "/node"}}}
SYS_ADMIN = {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}
PRIVILEGED = {"securityContext": {"privileged": True}}
UNMASKED = {"securityContext": {"procMount": "Unmasked"}}
HOST_PROCESS = {"securityContext": {"windowsOptions": {"hostProcess": True}}}
BASELINE = 'may add those of Pod Security "baseline"'
FORBIDDEN: list[tuple[str, dict[str, Any], str]] = [
    ("hostPath", {"containers": container(**HOST_PATH)}, "hostPath: MiniClusters may not"),
    ("hostPath of a service", service(**HOST_PATH), "hostPath: MiniClusters may not"),
    (
        "hostPath of the lead",
        {"flux": {"stateVolume": {"hostPath": "/state"}}},
        "hostPath: MiniClusters may not",
    ),
    ("privileged", {"containers": container(**PRIVILEGED)}, "may not have privileged"),
    ("privileged service", service(**PRIVILEGED), "may not have privileged"),
    ("privileged view", {"flux": {"container": PRIVILEGED}}, "may not have privileged"),
    ("procMount", {"containers": container(**UNMASKED)}, "may not have privileged, procMount"),
    ("hostProcess", {"containers": container(**HOST_PROCESS)}, "procMount or hostProcess here"),
    ("hostProcess of the pod", {"pod": HOST_PROCESS}, "procMount or hostProcess here"),
    ("capability", {"containers": container(**SYS_ADMIN)}, BASELINE),
    ("capability of a service", service(**SYS_ADMIN), BASELINE),
    ("capability of the view", {"flux": {"container": SYS_ADMIN}}, BASELINE),
    ("hostPID", {"pod": {"hostPID": True}}, "may not share the node's namespaces"),
    ("hostIPC", {"pod": {"hostIPC": True}}, "may not share the node's namespaces"),
    (
        "service account",
        {"pod": {"serviceAccountName": "admin"}},
        "spec.pod.serviceAccountName: here MiniClusters may have none, or default or hpc",
    ),
]
SEVERAL = {
    "containers": container(**HOST_PATH, **SYS_ADMIN),
    "pod": {"hostPID": True, "serviceAccountName": "admin"},
}
ALLOWED: list[dict[str, Any]] = [
    {},
    {"containers": container(volumes={"data": {"claimName": "data", "path": "/data"}})},
    {"containers": container(securityContext={"privileged": False, "capabilities": {"add": ["CHOWN"]}})},
    {"pod": {"serviceAccountName": "hpc", "hostPID": False}},
]


def test_what_the_policy_refuses(helm: Path, api: Api, namespace: str) -> None:
    """All cases under one policy: it takes the API server seconds to enforce one."""
    operators.create(api, namespace, pod={"hostPID": True})
    where = operators.path(namespace, "mc")
    with enforced(helm, api, namespace):
        answers = {name: (words, refused(api, namespace, **spec)) for name, spec, words in FORBIDDEN}
        allowed = [refused(api, namespace, **spec) for spec in ALLOWED]
        several = refused(api, namespace, **SEVERAL)
        # What was stored before can be scaled and let go; the operator's own patches are of finalizers.
        api.merge(where, {"metadata": {"finalizers": ["example.org/held"]}})
        api.merge(f"{where}/scale", {"spec": {"replicas": 1}})
        changed = operators.refusal(lambda: api.merge(where, {"spec": {"suspend": True}}))
        api.merge(where, {"metadata": {"finalizers": None}})
        api.delete(where)
    assert {name: answer for name, (words, answer) in answers.items() if words not in answer} == {}
    assert allowed == [""] * len(ALLOWED)
    assert [each.split(":")[0] for each in several.partition("denied request: ")[2].split(" | ")] == [
        "hostPath",
        "securityContext.capabilities.add",
        "spec.pod",
        "spec.pod.serviceAccountName",
    ]
    assert "may not share the node's namespaces" in changed
