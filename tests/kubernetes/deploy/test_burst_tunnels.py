"""The burst service's chart with tunnels: what it has besides, and what Jobs the service may make with it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from burst.joining.records import LeadHost
from burst.joining.tunnel_pods import CONTAINER, TUNNEL_APPLICATION, TunnelPods, load_template
from burst.providers.kubernetes.tunnel.pod_objects import tunnel_job
from burst.providers.kubernetes.tunnel.pods import RIGHTS, ReachPods
from burst.providers.kubernetes.tunnel.records import ReachTask
from burst.providers.provider import WantedBurst
from minicluster.kube_client import access as client
from tests.deploy.files import grants, of_kind, the
from tests.devcluster import Api, ApiError, until
from tests.kubernetes.deploy.burst_chart import (
    NAME,
    NEEDED,
    RESEARCH,
    container,
    pod,
    rendered,
)
from tests.kubernetes.deploy.test_policies import BINDINGS, POLICIES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.deploy.files import Object
    from tests.devcluster import ControlPlane
    from tests.devcluster.access import Access

SECONDS = 60.0
ON = (*RESEARCH, "tunnels.enabled=true")
KUBECONFIG = "/etc/minicluster-burst/kubeconfigs/research/kubeconfig"
TUNNELS = [
    ("batch/jobs", {"get", "list", "create", "delete"}, None),
    ("/pods", {"list"}, None),
]
WANTED = WantedBurst("62dgmfw4gk", "here", 2, "c8", spot=False, until=1_800_000_600.0, cluster="uid")


def template_of(found: list[Object], folder: Path) -> dict[str, Any]:
    """Return the template as the service reads it."""
    path = folder / "tunnel-pod.yaml"
    path.write_text(the(found, "ConfigMap")["data"][path.name])
    return load_template(path)


def job(template: dict[str, Any], namespace: str = "site") -> dict[str, Any]:
    """Return a tunnel's Job."""
    lead = LeadHost("mc-0.mc.science.svc", 8050, namespace)
    task = ReachTask(WANTED.label, "here", 2, 1.0, WANTED.until, KUBECONFIG, "", "bursts", 8049, lead)
    made = tunnel_job(template, WANTED, task, "location", 1_800_000_000.0)
    return {**made, "metadata": {**made["metadata"], "namespace": namespace}}


def test_by_default_there_is_nothing_of_them(helm: Path) -> None:
    found = rendered(helm)
    assert "tunnel" not in yaml.safe_dump_all(found)


def test_what_tunnels_need_besides(helm: Path) -> None:
    names = [
        {(each["kind"], each["metadata"]["name"]) for each in rendered(helm, *words)}
        for words in (ON, RESEARCH)
    ]
    assert names[0] - names[1] == {
        ("NetworkPolicy", f"{NAME}-tunnels"),
        ("ValidatingAdmissionPolicy", f"site-{NAME}-tunnels"),
        ("ValidatingAdmissionPolicyBinding", f"site-{NAME}-tunnels"),
    }
    roles = [list(grants(of_kind(rendered(helm, *words), "Role"))) for words in (ON, RESEARCH)]
    assert roles[0] == [*roles[1], *TUNNELS]
    assert list(grants(of_kind(rendered(helm, *ON), "ClusterRole"))) == list(
        grants(of_kind(rendered(helm), "ClusterRole"))
    )
    granted = {(verb, name.removeprefix("batch")) for name, verbs, _ in TUNNELS for verb in verbs}
    assert granted == {(each.verb, f"/{each.name}") for each in RIGHTS}
    without = rendered(helm, *ON, "tunnels.admissionPolicy=false", "networkPolicy.enabled=false")
    assert of_kind(without, "ValidatingAdmissionPolicy") == of_kind(without, "NetworkPolicy") == []


def test_the_service_reads_the_template_and_a_change_of_it_replaces_its_pod(
    helm: Path, tmp_path: Path
) -> None:
    found, changed = rendered(helm, *ON), rendered(helm, *ON, "tunnels.resources.limits.cpu=2")
    variables = {each["name"]: each.get("value") for each in container(found)["env"]}
    mounts = {each["name"]: each["mountPath"] for each in container(found)["volumeMounts"]}
    assert variables["MINICLUSTER_BURST_TUNNELS"] == f"{mounts['settings']}/tunnel-pod.yaml"
    assert template_of(found, tmp_path)["spec"]["containers"][0]["name"] == CONTAINER
    annotations = [
        the(each, "Deployment")["spec"]["template"]["metadata"]["annotations"] for each in (found, changed)
    ]
    assert annotations[0] != annotations[1]


def test_its_pods_are_like_the_services_without_its_account(helm: Path, tmp_path: Path) -> None:
    words = (
        *ON, "nodeSelector.pool=system", "tolerations[0].operator=Exists", "priorityClassName=high",
        "imagePullSecrets[0].name=login", "podLabels.team=hpc", "podAnnotations.mesh=off",
    )  # fmt: skip
    found = rendered(helm, *words)
    template = template_of(found, tmp_path)
    own, spec = pod(found), template["spec"]
    for key in (
        "securityContext", "nodeSelector", "tolerations", "priorityClassName", "imagePullSecrets",
        "enableServiceLinks",
    ):  # fmt: skip
        assert spec[key] == own[key]
    [tunnel] = spec["containers"]
    for key in ("image", "imagePullPolicy", "securityContext"):
        assert tunnel[key] == container(found)[key]
    assert (spec["automountServiceAccountToken"], "serviceAccountName" in spec) == (False, False)
    volumes = {each["name"]: each for each in own["volumes"]}
    assert spec["volumes"] == [volumes["tmp"], volumes["kubeconfig-research"]]
    assert [each["secret"]["defaultMode"] for each in spec["volumes"][1:]] == [0o400]
    assert "env" not in tunnel
    assert template["metadata"] == {
        "labels": {
            "app.kubernetes.io/name": TUNNEL_APPLICATION,
            "app.kubernetes.io/instance": NAME,
            "app.kubernetes.io/part-of": "flux-framework",
            "app.kubernetes.io/managed-by": "minicluster-burst",
            "team": "hpc",
        },
        "annotations": {"mesh": "off"},
    }


def test_nobody_connects_to_them_and_the_services_own_policies_are_not_theirs(
    helm: Path, tmp_path: Path
) -> None:
    found = rendered(helm, *ON)
    policy = the(found, "NetworkPolicy", f"{NAME}-tunnels")["spec"]
    labels = template_of(found, tmp_path)["metadata"]["labels"]
    assert (policy["policyTypes"], policy.get("ingress")) == (["Ingress", "Egress"], None)
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    leads = [each for each in policy["egress"] if "ports" not in each]
    peers = [peer["podSelector"]["matchLabels"] for each in leads for peer in each["to"]]
    assert peers == [{"app.kubernetes.io/name": "minicluster", "app.kubernetes.io/component": "broker"}]
    for each in (
        the(found, "NetworkPolicy", NAME)["spec"]["podSelector"],
        the(found, "Deployment")["spec"]["selector"],
    ):
        assert not each["matchLabels"].items() <= labels.items()


@pytest.fixture
def admitting(helm: Path, api: Api, namespace: str, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The template, in a namespace where the chart's rights and admission policy are in force."""
    words = rendered(helm, *NEEDED, *ON)
    found = [yaml.safe_load(yaml.safe_dump(each).replace("site", namespace)) for each in words]
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    api.apply(f"{rbac}/roles/{NAME}-service", the(found, "Role"))
    api.apply(f"{rbac}/rolebindings/{NAME}-service", the(found, "RoleBinding"))
    unscoped = {f"{POLICIES}/{namespace}-{NAME}-tunnels": "ValidatingAdmissionPolicy"}
    unscoped[f"{BINDINGS}/{namespace}-{NAME}-tunnels"] = "ValidatingAdmissionPolicyBinding"
    for path, kind in unscoped.items():
        api.apply(path, the(found, kind))
    yield template_of(found, tmp_path)
    for path in unscoped:
        api.delete(path)


@pytest.fixture
def user(plane: ControlPlane, namespace: str) -> Access:
    """The service's account."""
    return plane.user(f"system:serviceaccount:{namespace}:{NAME}", ["system:serviceaccounts"])


@pytest.fixture
def service(user: Access) -> Iterator[Api]:
    """A client with that account's rights."""
    found = Api(user)
    yield found
    found.hang_up()


def changed(item: dict[str, Any], *path: Any, value: Any) -> dict[str, Any]:
    """Return the Job with another value in its pod's spec."""
    made = copy.deepcopy(item)
    part = made["spec"]["template"]["spec"]
    for each in path[:-1]:
        part = part[each]
    part[path[-1]] = value
    return made


WRONG: dict[str, tuple[tuple[Any, ...], Any, str]] = {
    "account": (("serviceAccountName",), "minicluster-operator", "has no service account"),
    "token": (("automountServiceAccountToken",), True, "has no service account"),
    "network": (("hostNetwork",), True, "has nothing of its node"),
    "image": (("containers", 0, "image"), "else:1", "is of the service's image"),
    "environment": (
        ("containers", 0, "env"), [{"name": "A", "value": "b"}], "is of the service's image",
    ),
    "program": (("containers", 0, "command"), ["sh", "-c", "id", "x"], "runs the tunnel's program"),
    "secret": (
        ("volumes", 1, "secret", "secretName"), "minicluster-keys", "the kubeconfigs of the release",
    ),
    "token as a volume": (
        ("volumes", 1), {"name": "kubeconfig-research", "hostPath": {"path": "/"}}, "kubeconfigs",
    ),
}  # fmt: skip


def test_the_service_may_make_tunnels_and_no_other_jobs(
    user: Access, service: Api, api: Api, namespace: str, admitting: dict[str, Any]
) -> None:
    reaches = ReachPods(TunnelPods(client.Access(str(user.kubeconfig)), namespace, admitting), "location")
    path = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    good = job(admitting, namespace)

    def is_refused() -> bool:
        try:
            service.create(f"{path}?dryRun=All", changed(good, "hostNetwork", value=True))
        except ApiError as error:
            return "ValidatingAdmissionPolicy" in str(error)
        return False

    until(is_refused, "the policy to be in force", SECONDS)
    for where, value, message in WRONG.values():
        with pytest.raises(ApiError, match=message):
            service.create(f"{path}?dryRun=All", changed(good, *where, value=value))
    lead = LeadHost("mc-0.mc.science.svc", 8050, namespace)
    task = ReachTask(WANTED.label, "here", 2, 1.0, WANTED.until, KUBECONFIG, "", "bursts", 8049, lead)
    assert reaches.ensure(WANTED, lambda: task) is None
    assert [each.label for each in reaches.left("here")] == [WANTED.label]
    assert reaches.ensure(WANTED, lambda: pytest.fail("it is there")) is not None
    assert list(reaches.problems(KUBECONFIG)) == []
    reaches.stop(WANTED)
    until(lambda: list(reaches.left("here")) == [], "the tunnel to be gone", SECONDS)
    assert api.items(path) == []
    # Others make whatever Jobs they may.
    api.create(f"{path}?dryRun=All", changed(good, "hostNetwork", value=True))
