"""The burst service's chart, rendered by helm: what is installed, what its values do, what it refuses."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from burst.kubernetes.command import app
from burst.settings import file
from deploy.render import template
from tests.deploy.files import BURST_CHART, grants, of_kind, the
from tests.kubernetes.deploy.burst_chart import (
    NAME,
    NEEDED,
    POSTGRESQL,
    RESEARCH,
    container,
    options,
    pod,
    refusal,
    rendered,
)

OWN = [
    ("/secrets", {"get"}, ["minicluster-burst"]),
    ("coordination.k8s.io/leases", {"create"}, None),
    ("coordination.k8s.io/leases", {"get", "update"}, [NAME]),
]
SERVED = [
    ("flux-framework.org/miniclusters", {"get", "list", "patch"}, None),
    ("flux-framework.org/miniclusters/status", {"patch"}, None),
    ("/services", {"get", "create", "patch", "delete"}, None),
    ("networking.k8s.io/networkpolicies", {"get", "create", "patch", "delete"}, None),
    ("/pods", {"list"}, None),
]


def test_helm_finds_no_fault(helm: Path) -> None:
    argv = [str(helm), "lint", "--strict", str(BURST_CHART), *options(*NEEDED)]
    completed = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout


def test_two_renderings_are_the_same(helm: Path) -> None:
    texts = [template(helm, *options(*NEEDED), chart=BURST_CHART) for _ in range(2)]
    assert texts[0] == texts[1]


def test_what_is_installed(helm: Path) -> None:
    found = sorted((each["kind"], each["metadata"]["name"]) for each in rendered(helm))
    assert found == [
        ("ClusterRole", NAME),
        ("ClusterRoleBinding", NAME),
        ("ConfigMap", NAME),
        ("Deployment", NAME),
        ("NetworkPolicy", NAME),
        ("PersistentVolumeClaim", f"{NAME}-database"),
        ("Role", f"{NAME}-service"),
        ("RoleBinding", f"{NAME}-service"),
        ("Service", f"{NAME}-metrics"),
        ("ServiceAccount", NAME),
    ]


def variables(found: list[Any]) -> dict[str, str]:
    """Return the variables of its container that have values of their own."""
    return {each["name"]: each["value"] for each in container(found)["env"] if "value" in each}


def test_it_has_these_rights_and_no_others(helm: Path) -> None:
    found = rendered(helm)
    assert list(grants(of_kind(found, "Role"))) == OWN
    assert the(found, "Role")["metadata"]["namespace"] == "site"
    assert list(grants(of_kind(found, "ClusterRole"))) == SERVED
    account = {"kind": "ServiceAccount", "name": NAME, "namespace": "site"}
    bindings = [each for each in found if each["kind"].endswith("RoleBinding")]
    assert [each["subjects"] for each in bindings] == [[account]] * 2
    assert pod(found)["serviceAccountName"] == NAME
    assert the(found, "ServiceAccount")["automountServiceAccountToken"] is False


def test_of_some_namespaces_it_has_rights_in_these_alone(helm: Path) -> None:
    found = rendered(helm, "watchNamespaces={team-a,team-b}")
    assert of_kind(found, "ClusterRole") == of_kind(found, "ClusterRoleBinding") == []
    roles = of_kind(found, "Role")
    assert [each["metadata"]["namespace"] for each in roles] == ["site", "team-a", "team-b"]
    assert list(grants(roles)) == [*OWN, *SERVED, *SERVED]
    assert variables(found)["MINICLUSTER_BURST_NAMESPACES"] == "team-a team-b"
    assert "MINICLUSTER_BURST_NAMESPACES" not in variables(rendered(helm))


def test_there_is_one_pod_without_privilege_which_ends_before_the_next_begins(helm: Path) -> None:
    found = rendered(helm)
    spec = the(found, "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    context = pod(found)["securityContext"]
    assert (context["runAsNonRoot"], context["runAsUser"]) == (True, 65532)
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod(found)["enableServiceLinks"] is False
    assert container(found)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container(found)["image"] == "ghcr.io/flux-framework/minicluster-burst:0.1.0"


def test_its_arguments_and_variables_are_those_of_the_command(
    helm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = rendered(helm, "watchNamespaces={team-a,team-b}", "tunnels.enabled=true", *RESEARCH)
    command = get_command(app)
    for name, value in variables(found).items():
        monkeypatch.setenv(name, value)
    params = command.make_context("burst-service", list(container(found)["args"])).params
    assert params["namespaces"] == ["team-a", "team-b"]
    assert params["tokens_secret"] == "site/minicluster-burst"
    known = {each.envvar for each in command.params if getattr(each, "envvar", None)}
    assert variables(found).keys() - {"SQLITE_TMPDIR"} == known


def test_settings_are_what_the_service_reads_and_a_change_replaces_the_pod(helm: Path) -> None:
    found = rendered(helm, "settings.currency=USD")
    settings = file.parse(the(found, "ConfigMap")["data"]["burst.yaml"]).settings
    assert ([each.name for each in settings.providers], settings.currency) == (["far"], "USD")
    pods = [the(each, "Deployment")["spec"]["template"] for each in (found, rendered(helm))]
    assert pods[0]["metadata"]["annotations"] != pods[1]["metadata"]["annotations"]
    assert pods[0]["spec"] == pods[1]["spec"]


def test_kubeconfigs_are_files_of_its_user_alone_and_no_secret_is_in_the_environment(helm: Path) -> None:
    found = rendered(helm, *RESEARCH, POSTGRESQL)
    mounts = {each["name"]: each for each in container(found)["volumeMounts"]}
    assert mounts["kubeconfig-research"] == {
        "name": "kubeconfig-research",
        "mountPath": "/etc/minicluster-burst/kubeconfigs/research",
        "readOnly": True,
    }
    secrets = [each["secret"] for each in pod(found)["volumes"] if "secret" in each]
    assert [each["secretName"] for each in secrets] == ["db", "research-kubeconfig"]
    assert {each["defaultMode"] for each in secrets} == {0o400}
    assert "secretKeyRef" not in str(pod(found))
    [tmp] = [each["emptyDir"] for each in pod(found)["volumes"] if each["name"] == "tmp"]
    assert tmp["medium"] == "Memory"  # keys of kubeconfigs become files there
    assert of_kind(found, "PersistentVolumeClaim") == []


def test_nobody_connects_to_it_but_who_scrapes(helm: Path) -> None:
    spec = the(rendered(helm), "NetworkPolicy")["spec"]
    assert (spec["policyTypes"], spec.get("ingress")) == (["Ingress", "Egress"], None)
    spec = the(rendered(helm, "networkPolicy.scrapers[0].podSelector.matchLabels.a=b"), "NetworkPolicy")[
        "spec"
    ]
    assert [each["ports"][0]["port"] for each in spec["ingress"]] == ["health"]


def test_alerts_are_installed_where_they_are_asked_for(helm: Path) -> None:
    assert of_kind(rendered(helm), "PrometheusRule") == []
    values = ("metrics.prometheusRule.enabled=true", "metrics.prometheusRule.budgetPercent=50")
    rule = the(rendered(helm, *values, "metrics.prometheusRule.labels.release=prom"), "PrometheusRule")
    assert rule["metadata"]["labels"]["release"] == "prom"
    [group] = rule["spec"]["groups"]
    found = {each["alert"]: each for each in group["rules"]}
    nearly = found["MiniclusterBurstBudgetNearlyUsed"]["expr"]
    assert nearly.startswith("100 * minicluster_burst_budget_used >= 50 * minicluster_burst_budget and ")
    stuck = found["MiniclusterBurstStuck"]["annotations"]["summary"]
    assert stuck == "{{ $value }} bursts are being deleted for more than an hour"


REFUSED = {
    "settings": ((), "settings is needed: providers and budgets, as docs/bursting.md has them"),
    "two of a name": (
        (*NEEDED, *RESEARCH, "kubeconfigs[1].name=research", "kubeconfigs[1].secret=b"),
        "kubeconfigs: two are called research; each needs a name of its own",
    ),
    "monitor": (
        (*NEEDED, "metrics.serviceMonitor.enabled=true", "metrics.service=false"),
        "metrics.serviceMonitor.enabled needs metrics.service",
    ),
    "tunnels to nowhere": (
        (*NEEDED, "tunnels.enabled=true"),
        "tunnels.enabled needs kubeconfigs: by one of them a tunnel reaches the cluster of its burst",
    ),
    "a part that is none": ((*NEEDED, "metrics.prometheusRule.budgetPercent=101"), "budgetPercent"),
    "several": ((*NEEDED, "replicas=2"), "replicas"),
}


@pytest.mark.parametrize(("values", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused(helm: Path, values: tuple[str, ...], message: str) -> None:
    assert message in " ".join(refusal(helm, *values).split())
