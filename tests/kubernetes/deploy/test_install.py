"""The operator's installation on a real API server: accepted, restricted, and with the rights it says."""

import copy
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from minicluster.document import crd
from tests.deploy.files import CHART, INSTALL, KEPT, NAMESPACE, NAMESPACED, Object, objects, the
from tests.devcluster import Api, ApiError, ControlPlane, cluster, until
from tests.kubernetes.chart_release import Release
from tests.kubernetes.deploy.acceptance import accepted
from tests.kubernetes.deploy.rest_chart import objects_in

MANIFESTS = pytest.mark.parametrize("manifest", [KEPT, INSTALL, NAMESPACED], ids=lambda path: path.stem)
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/miniclusters.flux-framework.org"
DEPLOYMENT = "/apis/apps/v1/namespaces/release/deployments/minicluster-operator"
MINICLUSTERS = "flux-framework.org/miniclusters"


def installed_in(manifest: Path, namespace: str) -> list[Object]:
    """Read a manifest as if it had been made for another namespace."""
    return objects(manifest.read_text().replace(NAMESPACE, namespace))


@MANIFESTS
def test_the_api_server_accepts_every_object(api: Api, namespace: str, manifest: Path) -> None:
    assert all(accepted(api, item) for item in installed_in(manifest, namespace))


@MANIFESTS
def test_so_does_the_oldest_that_is_supported(oldest_plane: ControlPlane, manifest: Path) -> None:
    assert all(accepted(oldest_plane.api, item) for item in installed_in(manifest, "default"))


def test_so_does_it_with_what_the_services_chart_makes(oldest_plane: ControlPlane, helm: Path) -> None:
    assert all(accepted(oldest_plane.api, item) for item in objects_in(helm, "default"))


@pytest.fixture
def restricted(api: Api, namespace: str) -> str:
    """A namespace under Pod Security "restricted", with the operator's account."""
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    api.merge(f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": label}})
    account = the(installed_in(INSTALL, namespace), "ServiceAccount", "minicluster-operator")
    api.create(f"/api/v1/namespaces/{namespace}/serviceaccounts", account)
    return namespace


def operator_pod(namespace: str) -> Object:
    """Return a pod as the Deployment would make it."""
    template = the(installed_in(INSTALL, namespace), "Deployment", "minicluster-operator")["spec"]["template"]
    metadata = {**template["metadata"], "generateName": "operator-"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": copy.deepcopy(template["spec"])}


def test_the_operators_pod_passes_pod_security_restricted(api: Api, restricted: str) -> None:
    made = api.create(f"/api/v1/namespaces/{restricted}/pods?dryRun=All", operator_pod(restricted))
    assert made["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


@pytest.mark.parametrize(
    ("left_out", "problem"),
    [
        ("allowPrivilegeEscalation", "allowPrivilegeEscalation != false"),
        ("capabilities", "unrestricted capabilities"),
    ],
)
def test_there_pod_security_would_refuse_less(api: Api, restricted: str, left_out: str, problem: str) -> None:
    """So the test above can fail."""
    pod = operator_pod(restricted)
    del pod["spec"]["containers"][0]["securityContext"][left_out]
    with pytest.raises(ApiError, match=problem):
        api.create(f"/api/v1/namespaces/{restricted}/pods?dryRun=All", pod)


@pytest.fixture(scope="module")
def fresh(programs: None) -> Iterator[ControlPlane]:
    """A cluster that never saw the operator, nor its definition."""
    with cluster() as plane:
        yield plane


@pytest.fixture(scope="module")
def release(helm: Path, fresh: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """The chart with its defaults; Jane may edit in the namespace `default`."""
    found = Release(helm, fresh, tmp_path_factory.mktemp("helm"), "release")
    found.install(CHART)
    fresh.api.create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", JANE)
    yield found
    found.run("uninstall")


JANE: Object = {
    "metadata": {"name": "jane"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
}


@pytest.mark.parametrize(
    ("verb", "resource", "reference", "allowed"),
    [
        ("watch", MINICLUSTERS, ("",), True),
        ("patch", f"{MINICLUSTERS}/status", ("anywhere",), True),
        ("update", MINICLUSTERS, ("anywhere",), False),
        ("create", "batch/jobs", ("anywhere",), True),
        ("delete", "batch/jobs", ("anywhere",), False),
        ("create", "/secrets", ("anywhere",), True),
        ("get", "/secrets", ("anywhere",), False),
        ("list", "/secrets", ("",), False),
        ("create", "/pods/exec", ("anywhere",), False),
        ("create", "coordination.k8s.io/leases", ("release",), True),
        ("update", "coordination.k8s.io/leases", ("release", "minicluster-operator"), True),
        ("update", "coordination.k8s.io/leases", ("release", "another"), False),
        ("create", "coordination.k8s.io/leases", ("anywhere",), False),
    ],
)
def test_what_the_operator_may_do(
    release: Release, verb: str, resource: str, reference: tuple[str, ...], allowed: bool
) -> None:
    assert release.may(release.account, verb, resource, *reference) is allowed


@pytest.mark.parametrize("resource", [MINICLUSTERS, f"{MINICLUSTERS}/scale"])
def test_who_may_edit_a_namespace_may_edit_its_miniclusters(release: Release, resource: str) -> None:
    assert until(lambda: release.may("jane", "patch", resource, "default"), "the role to be added to `edit`")


@pytest.mark.parametrize(
    ("verb", "resource", "namespace"),
    [("patch", f"{MINICLUSTERS}/status", "default"), ("get", MINICLUSTERS, "elsewhere")],
    ids=["status", "elsewhere"],
)
def test_and_nothing_else(release: Release, verb: str, resource: str, namespace: str) -> None:
    assert not release.may("jane", verb, resource, namespace)


def test_a_second_operator_for_one_namespace_has_no_rights_in_another(
    release: Release, helm: Path, fresh: ControlPlane, tmp_path: Path
) -> None:
    found = Release(helm, fresh, tmp_path, "second")
    found.install(
        CHART,
        "--set",
        f"watchNamespaces={{default}},{NO_MORE},clusterChecks=false",
    )
    namespaces = [
        namespace
        for namespace in ("default", "second")
        if found.may(found.account, "create", "batch/jobs", namespace)
    ]
    found.run("uninstall")
    assert namespaces == ["default"]


NO_MORE = "crd.install=false,userRoles=false,metricsAdapter.enabled=false"
GONE = (
    "helm uninstall minicluster-operator --namespace release (if `helm list --namespace release` has no such"
    " release: kubectl delete deployment minicluster-operator --namespace release)"
)
TAKEN = (
    "release minicluster-operator in namespace release has the CustomResourceDefinition already, and its"
    " operator is there. {beside}. To have this one in its place: "
    f"{GONE}, then repeat this with --take-ownership (MiniClusters stay)"
)
ALL = (
    "It has all namespaces: a second operator beside it needs that one to have fewer (docs/installation.md,"
    ' "Two operators in one cluster")'
)
BESIDE = (
    f"For a second operator beside it, with namespaces of its own: --set 'watchNamespaces={{...}},{NO_MORE}'"
)
BOTH = (
    "Deployment release/minicluster-operator is an operator that runs MiniClusters in {where}, as this one"
    " would: they would undo each other's work. {mend}; or uninstall that one (MiniClusters stay): "
) + GONE
FEWER = "That one has all: let it have fewer first, by watchNamespaces of its release, and this one others"
OTHERS = "Set watchNamespaces to namespaces that no other operator has (--set 'watchNamespaces={...}')"
ABSENT = (
    "watchNamespaces: there is no namespace team-x, team-y. Make it first (kubectl create namespace team-x),"
    " or correct its name. Nothing was changed"
)
SECOND = {
    "as it is": ((), TAKEN.format(beside=ALL)),
    "all namespaces": ((NO_MORE,), BOTH.format(where="all namespaces", mend=FEWER)),
    "one of them, as the page has it": (
        ("watchNamespaces={default}", NO_MORE),
        BOTH.format(where="default", mend=FEWER),
    ),
    "some of them": (
        ("watchNamespaces={a,b}", "crd.install=false", "userRoles=false"),
        BOTH.format(where="a, b", mend=FEWER),
    ),
}


@pytest.mark.parametrize(("values", "message"), SECOND.values(), ids=SECOND)
def test_a_second_release_for_the_same_namespaces_is_refused(
    release: Release, helm: Path, fresh: ControlPlane, tmp_path: Path, values: tuple[str, ...], message: str
) -> None:
    """Where the other one has all namespaces, no values are offered that would be refused as well."""
    second = Release(helm, fresh, tmp_path, "default")
    refusal = second.refusal(CHART, *(word for value in values for word in ("--set", value)))
    assert message in refusal
    assert BESIDE not in refusal


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((), TAKEN.format(beside=BESIDE)),
        (("watchNamespaces={elsewhere,default}", NO_MORE), BOTH.format(where="default", mend=OTHERS)),
        (("watchNamespaces={kube-public,team-x,team-y}", NO_MORE), ABSENT),
    ],
    ids=["the definition", "a common one", "absent ones"],
)
def test_beside_an_operator_of_some_namespaces_a_second_has_others(
    narrow: Release, helm: Path, fresh: ControlPlane, tmp_path: Path, values: tuple[str, ...], message: str
) -> None:
    second = Release(helm, fresh, tmp_path, "second")
    assert message in second.refusal(CHART, *(word for value in values for word in ("--set", value)))


@pytest.mark.parametrize("namespaces", ["kube-public", "second", "kube-public,second"])
def test_then_the_second_is_installed(
    narrow: Release, helm: Path, fresh: ControlPlane, tmp_path: Path, namespaces: str
) -> None:
    """Its own namespace need not be there before: Helm makes it."""
    second = Release(helm, fresh, tmp_path, "second")
    values = ("--set", f"watchNamespaces={{{namespaces}}}", "--set", NO_MORE)
    tried = second.tried("install", str(CHART), "--create-namespace", "--dry-run=server", *values)
    assert tried.returncode == 0, tried.stderr


@pytest.fixture
def narrow(release: Release) -> Iterator[Release]:
    """The release with one namespace, which has all again afterwards."""
    release.install(CHART, "--set", "watchNamespaces={default}")
    yield release
    release.install(CHART, "--set", "watchNamespaces=null")


def test_who_may_not_list_deployments_is_shown_what_leaves_the_check_out(
    release: Release, helm: Path, fresh: ControlPlane, tmp_path: Path
) -> None:
    second = Release(helm, fresh, tmp_path, "default")
    kim = {**JANE["subjects"][0], "name": "kim"}
    admin = {"metadata": {"name": "kim"}, "roleRef": JANE["roleRef"] | {"name": "admin"}, "subjects": [kim]}
    fresh.api.create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", admin)
    options = ("--kube-as-user", "kim", "--set", f"watchNamespaces={{default}},{NO_MORE}")
    refusal = second.refusal(CHART, *options)
    assert 'executing "checks.others, which clusterChecks=false leaves out"' in refusal
    assert 'User "kim" cannot list resource "deployments"' in refusal
    unchecked = second.tried(
        "upgrade", str(CHART), "--install", "--dry-run=server", *options, "--set", "clusterChecks=false"
    )
    assert unchecked.returncode == 0, unchecked.stderr


def test_an_upgrade_that_leaves_out_a_version_is_refused(release: Release, tmp_path: Path) -> None:
    """By a chart of a later version, which takes over from its forerunner only."""
    later = shutil.copytree(CHART, tmp_path / "chart") / "Chart.yaml"
    text = later.read_text().replace("ersion: 0.1.0", "ersion: 0.3.0")
    later.write_text(text.replace("upgrades-from: 0.1.0", "upgrades-from: 0.2.0"))
    assert (
        "minicluster-operator 0.1.0 is installed, and 0.3.0 can take over from 0.2.0 or a later version only."
        " Upgrade to 0.2.0 first, with its chart, and wait until its pods are ready; then repeat this"
        ' (docs/installation.md, "Upgrade"). Nothing was changed'
    ) in release.refusal(later.parent)


def test_an_upgrade_brings_the_new_definition_and_an_uninstall_leaves_it(
    helm: Path, programs: None, tmp_path: Path
) -> None:
    older = shutil.copytree(CHART, tmp_path / "chart") / "files" / "crd.yaml"
    older.write_text(older.read_text().replace("    - mc\n", "    - older\n", 1))
    with cluster() as plane:
        found = Release(helm, plane, tmp_path, "release")
        check_reference(found)
        names = []
        for chart in (older.parents[1], CHART):
            found.install(chart)
            names += plane.api.get(DEFINITION)["spec"]["names"]["shortNames"]
        found.run("uninstall")
        left = plane.api.exists(DEFINITION), plane.api.exists(DEPLOYMENT)
    assert (names, left) == (["older", "mc"], (True, False))


def check_reference(release: Release) -> None:
    """Check what helm says where the reference operator's definition is: it has this name, and no phase."""
    definition = crd()
    status = {name: {"type": "string"} for name in ("jobid", "selector")}
    schema = {"type": "object", "properties": {"status": {"type": "object", "properties": status}}}
    (version,) = definition["spec"]["versions"]
    definition["spec"]["versions"] = [
        {name: version[name] for name in ("name", "served", "storage")}
        | {"schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}}
    ]
    release.api.create(DEFINITION.rpartition("/")[0], definition)
    assert (
        "CustomResourceDefinition miniclusters.flux-framework.org is another operator's (the reference Flux"
        " Operator's has that name). Delete its MiniClusters, uninstall that operator, then `kubectl delete"
        " crd miniclusters.flux-framework.org` if it is still there, and repeat this (docs/installation.md,"
        ' "In place of the reference operator")'
    ) in release.refusal(CHART)
    release.api.delete(DEFINITION)
    until(lambda: not release.api.exists(DEFINITION), "the definition to go")
