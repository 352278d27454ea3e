"""The chart, rendered by helm: the plain manifests are made of it, and its values do what they say."""

import subprocess
from pathlib import Path

import pytest

from deploy.render import MANIFESTS, Manifest, template
from minicluster.document import crd
from tests.deploy.files import CHART, Object, grants, objects, of_kind, the

NAMESPACE = ("--namespace", "site")


def rendered(helm: Path, *values: str) -> list[Object]:
    """Return the objects of a release."""
    options = [word for value in values for word in ("--set", value)]
    return objects(template(helm, *NAMESPACE, *options))


def pod(found: list[Object]) -> Object:
    """Return the operator's pod."""
    spec: Object = the(found, "Deployment", "minicluster-operator")["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: manifest.name)
def test_the_plain_manifests_are_the_chart(helm: Path, manifest: Manifest) -> None:
    """`python -m deploy.render` writes them anew."""
    assert manifest.path.read_text() == manifest.text(helm)


def test_helm_finds_no_fault(helm: Path) -> None:
    completed = subprocess.run([helm, "lint", "--strict", CHART], capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stdout


def test_the_definition_differs_from_the_command_in_labels_and_annotations_only(helm: Path) -> None:
    definition = the(rendered(helm), "CustomResourceDefinition")
    kept = definition["metadata"].pop("annotations")
    definition["metadata"].pop("labels")
    assert kept == {"helm.sh/resource-policy": "keep"}
    assert definition == crd()


def test_namespaces_to_watch_get_a_role_each_and_nothing_is_cluster_wide(helm: Path) -> None:
    found = rendered(helm, "watchNamespaces={team-a,team-b}", "metricsAdapter.enabled=false")
    namespaces = [role["metadata"]["namespace"] for role in of_kind(found, "Role")]
    assert sorted(namespaces) == ["site", "site", "team-a", "team-b"]  # at home: its Lease, its keys
    assert of_kind(found, "ClusterRoleBinding") == []
    assert pod(found)["containers"][0]["args"][:2] == ["--namespace=team-a", "--namespace=team-b"]


def test_the_adapter_follows_miniclusters_only_in_the_namespaces_to_watch(helm: Path) -> None:
    """What is cluster-wide is so by nature: APIServices, and who may."""
    found = rendered(helm, "watchNamespaces={team-a,team-b}")
    name = "minicluster-operator-adapter"
    followed = [role for role in of_kind(found, "Role") if role["metadata"]["name"] == f"{name}-miniclusters"]
    assert [role["metadata"]["namespace"] for role in followed] == ["team-a", "team-b"]
    everywhere = the(found, "ClusterRole", name)["rules"]
    assert followed[0]["rules"] + everywhere == the(rendered(helm), "ClusterRole", name)["rules"]
    arguments = the(found, "Deployment", name)["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[:2] == ["--namespace=team-a", "--namespace=team-b"]


NODES = "minicluster-operator-nodes-site"


def with_rules(found: list[Object]) -> list[Object]:
    """Return the objects that grant something."""
    return [each for each in found if "rules" in each]


@pytest.mark.parametrize("scope", [(), ("watchNamespaces={team-a}", "metricsAdapter.enabled=false")])
def test_nodes_are_read_only_where_brokers_are_cut_by_a_profile(helm: Path, scope: tuple[str, ...]) -> None:
    """By the operator alone, and not written."""
    for value in ("granularity.policy=none", "granularity.override=true"):
        granted = {resource for resource, _, _ in grants(with_rules(rendered(helm, *scope, value)))}
        assert "/nodes" not in granted
    found = rendered(helm, *scope, "granularity.policy=scale")
    role, binding = the(found, "ClusterRole", NODES), the(found, "ClusterRoleBinding", NODES)
    assert role["rules"] == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}]
    assert (binding["roleRef"]["name"], [each["name"] for each in binding["subjects"]]) == (
        NODES,
        ["minicluster-operator"],
    )


def test_the_operators_flags_of_granularity(helm: Path) -> None:
    def options(*values: str) -> list[str]:
        arguments = pod(rendered(helm, *values))["containers"][0]["args"]
        return [each for each in arguments if each.startswith("--granularity")]

    assert options() == []
    both = options("granularity.policy=scale", "granularity.override=true")
    assert both == ["--granularity=scale", "--granularity-override"]


def test_a_granularity_that_does_not_exist_is_refused(helm: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        rendered(helm, "granularity.policy=scal")


def test_roles_grant_the_same_in_one_namespace_as_in_all(helm: Path) -> None:
    one = the(rendered(helm, "watchNamespaces={team-a}"), "Role", "minicluster-operator")
    assert one["rules"] == the(rendered(helm), "ClusterRole", "minicluster-operator")["rules"]


@pytest.mark.parametrize(
    ("value", "kind", "number"),
    [
        ("crd.install=false", "CustomResourceDefinition", 0),
        ("userRoles=false", "ClusterRole", 2),
        ("userRoles=true", "ClusterRole", 5),
        ("metrics.service=false", "Service", 1),
        ("metricsAdapter.enabled=false", "Service", 1),
        ("metricsAdapter.enabled=false", "Deployment", 1),
        ("metricsAdapter.enabled=false", "ServiceAccount", 1),
        ("metrics.serviceMonitor.enabled=true", "ServiceMonitor", 1),
        ("metrics.serviceMonitor.enabled=false", "ServiceMonitor", 0),
        ("replicas=1", "PodDisruptionBudget", 0),
        ("podDisruptionBudget=false", "PodDisruptionBudget", 0),
        ("replicas=3", "PodDisruptionBudget", 1),
    ],
)
def test_a_value_decides_what_is_installed(helm: Path, value: str, kind: str, number: int) -> None:
    assert len(of_kind(rendered(helm, value), kind)) == number


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        ("priorityClassName=high", "priorityClassName", "high"),
        ("nodeSelector.pool=infra", "nodeSelector", {"pool": "infra"}),
        ("tolerations[0].operator=Exists", "tolerations", [{"operator": "Exists"}]),
        ("affinity.nodeAffinity.x=y", "affinity", {"nodeAffinity": {"x": "y"}}),
        ("imagePullSecrets[0].name=login", "imagePullSecrets", [{"name": "login"}]),
        ("serviceAccount.name=given", "serviceAccountName", "given"),
    ],
)
def test_a_value_gets_into_the_pod(helm: Path, value: str, name: str, expected: object) -> None:
    assert pod(rendered(helm, value))[name] == expected


@pytest.mark.parametrize(
    ("value", "name", "expected"),
    [
        ("image.tag=next", "image", "ghcr.io/flux-framework/minicluster-operator:next"),
        ("image.repository=here/it", "image", "here/it:0.1.0"),
        ("image.pullPolicy=Always", "imagePullPolicy", "Always"),
        ("resources.limits.memory=1Gi", "resources.limits.memory", "1Gi"),
        ("resources.limits.cpu=2", "resources.limits.cpu", 2),
    ],
)
def test_a_value_gets_into_the_container(helm: Path, value: str, name: str, expected: object) -> None:
    found: object = pod(rendered(helm, value))["containers"][0]
    for step in name.split("."):
        assert isinstance(found, dict)
        found = found[step]
    assert found == expected


@pytest.mark.parametrize(
    ("value", "word"), [("log.format=text", "--log-format"), ("log.level=debug", "--log-level")]
)
def test_a_value_is_an_option_of_the_operator(helm: Path, value: str, word: str) -> None:
    assert f"{word}={value.partition('=')[2]}" in pod(rendered(helm, value))["containers"][0]["args"]


def test_a_label_of_the_users_cannot_hide_the_operator_from_network_policies(helm: Path) -> None:
    found = rendered(helm, "podLabels.team=hpc", r"podLabels.app\.kubernetes\.io/name=mine")
    labels = the(found, "Deployment", "minicluster-operator")["spec"]["template"]["metadata"]["labels"]
    assert (labels["team"], labels["app.kubernetes.io/name"]) == ("hpc", "minicluster-operator")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("replicas=two", "at '/replicas': got string, want integer"),
        ("replica=3", "additional properties 'replica' not allowed"),
        ("replica=3", "value must be one of 'global', 'watchNamespaces', 'clusterChecks', 'replicas', "),
        ("log.levle=info", "at '/log': additional properties 'levle' not allowed"),
        ("image.repository=", "at '/image/repository': minLength: got 0, want 1"),
        ("watchNamespaces=team-a", "at '/watchNamespaces': got string, want array"),
        ("watchNamespaces={Team_A}", "at '/watchNamespaces/0': 'Team_A' does not match pattern"),
        ("watchNamespaces={a,a}", "at '/watchNamespaces': items at 0 and 1 are equal"),
        ("log.level=loud", "at '/log/level': value must be one of 'debug', 'info', 'warning', 'error'"),
        ("crd.keep=maybe", "at '/crd/keep': got string, want boolean"),
        ("serviceAccount.create=false", "at '/serviceAccount/name': minLength: got 0, want 1"),
        ("podLabels.a=1", "at '/podLabels/a': got number, want string"),
        ("resources.limit.cpu=1", "at '/resources': additional properties 'limit' not allowed"),
        ("metricsAdapter.resources.limit.cpu=1", "at '/metricsAdapter/resources': additional properties"),
        ("resources.limits.memory=512MB", "at '/resources/limits/memory': '512MB' does not match pattern"),
        ("resources.requests.cpu=-1", "at '/resources/requests/cpu': minimum: got -1, want 0"),
        ("resources.limits.mem=1Gi", "'mem' does not match pattern '^(cpu|memory|ephemeral-storage|"),
        ("clusterChecks=no-thanks", "at '/clusterChecks': got string, want boolean"),
        (
            "metrics.service=false,metrics.serviceMonitor.enabled=true",
            "metrics.serviceMonitor.enabled needs metrics.service",
        ),
    ],
)
def test_a_wrong_value_is_refused_by_its_path(helm: Path, value: str, message: str) -> None:
    argv = [str(helm), "template", "release", str(CHART), "--set", value]
    completed = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert completed.returncode == 1
    assert message in completed.stderr


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((), "The operator runs MiniClusters in all namespaces."),
        (("watchNamespaces={a,b}",), "The operator runs MiniClusters in a, b."),
        ((), "as good as cluster-admin in all namespaces (watchNamespaces narrows that):"),
        (("watchNamespaces={a,b}",), "as good as cluster-admin in a, b:"),
        ((), "kubectl label namespace default pod-security.kubernetes.io/enforce=restricted"),
        ((), "Limit them by Pod Security Admission, and by policy.restrict:"),
        (("crd.install=false",), "must come from elsewhere: the CustomResourceDefinition."),
        (("userRoles=false",), "must come from elsewhere: users' roles for MiniClusters."),
    ],
    ids=["all", "some", "token", "token in some", "pod security", "admission", "no definition", "no roles"],
)
def test_the_notes_name_what_was_installed(helm: Path, values: tuple[str, ...], message: str) -> None:
    options = [word for value in values for word in ("--set", value)]
    argv = [str(helm), "install", "release", str(CHART), "--dry-run=client", *options]
    assert message in subprocess.run(argv, capture_output=True, text=True, check=True).stdout
