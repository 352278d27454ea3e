"""The operator's installation on a real API server: accepted, restricted, and with the rights it says."""

import copy
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from minicluster.document import crd
from tests.deploy.files import CHART, INSTALL, NAMESPACE, NAMESPACED, Object, objects, the
from tests.devcluster import Api, ApiError, ControlPlane, cluster, until

MANIFESTS = pytest.mark.parametrize("manifest", [INSTALL, NAMESPACED], ids=lambda path: path.stem)
PLURALS = {"NetworkPolicy": "networkpolicies"}
UNSCOPED = {"Namespace", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding"}
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/miniclusters.flux-framework.org"
DEPLOYMENT = "/apis/apps/v1/namespaces/release/deployments/minicluster-operator"
MINICLUSTERS = "flux-framework.org/miniclusters"


def path(item: Object) -> str:
    """Return where an object is."""
    version, kind, metadata = item["apiVersion"], item["kind"], item["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    scope = "" if kind in UNSCOPED else f"/namespaces/{metadata['namespace']}"
    return f"{root}{scope}/{PLURALS.get(kind, kind.lower() + 's')}/{metadata['name']}"


def installed_in(manifest: Path, namespace: str) -> list[Object]:
    """Read a manifest as if it had been made for another namespace."""
    return objects(manifest.read_text().replace(NAMESPACE, namespace))


def accepted(api: Api, item: Object) -> bool:
    """Try to apply an object, with every field known to the server; raises ApiError where it is refused."""
    query = "dryRun=All&fieldManager=test&force=true&fieldValidation=Strict"
    answer = api.call("PATCH", f"{path(item)}?{query}", item, "application/apply-patch+yaml")
    return bool(answer["kind"] == item["kind"])


@MANIFESTS
def test_the_api_server_accepts_every_object(api: Api, namespace: str, manifest: Path) -> None:
    assert all(accepted(api, item) for item in installed_in(manifest, namespace))


@MANIFESTS
def test_so_does_the_oldest_that_is_supported(oldest_plane: ControlPlane, manifest: Path) -> None:
    assert all(accepted(oldest_plane.api, item) for item in installed_in(manifest, "default"))


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


class Release:
    """The chart, installed by helm into a namespace of its own."""

    def __init__(self, helm: Path, plane: ControlPlane, home: Path, namespace: str) -> None:
        self.helm, self.api, self.namespace = helm, plane.api, namespace
        folders = {f"HELM_{name}_HOME": str(home / name) for name in ("CACHE", "CONFIG", "DATA")}
        self.environment = {**os.environ, **folders, "KUBECONFIG": str(plane.kubeconfig)}
        self.account = f"system:serviceaccount:{namespace}:minicluster-operator"

    def run(self, command: str, *options: str) -> None:
        """Run a command of helm's on the release."""
        completed = self.tried(command, *options)
        assert completed.returncode == 0, completed.stderr

    def tried(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        """Run a command of helm's on the release, which may fail."""
        argv = [str(self.helm), command, "minicluster-operator", *options, "--namespace", self.namespace]
        return subprocess.run(argv, env=self.environment, capture_output=True, text=True, check=False)

    def refusal(self, chart: Path, *options: str) -> str:
        """Try to install or upgrade, and return how helm refuses; nothing was changed."""
        done = self.tried("upgrade", str(chart), "--install", "--dry-run=server", *options)
        assert done.returncode == 1, done.stdout
        return done.stderr

    def install(self, chart: Path, *options: str) -> None:
        """Install or upgrade."""
        self.run("upgrade", str(chart), "--install", "--create-namespace", *options)

    def may(self, user: str, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:
        """Ask the API server for its decision; the resource is `group/kind/subresource`."""
        group, kind, *subresource = resource.split("/")
        asked = {"verb": verb, "group": group, "resource": kind, "namespace": namespace, "name": name}
        spec = {"user": user, "resourceAttributes": {**asked, "subresource": "".join(subresource)}}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        answer = self.api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(answer["status"]["allowed"])


@pytest.fixture(scope="module")
def release(helm: Path, fresh: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """The chart with its defaults; Jane may edit in the namespace `default`."""
    found = Release(helm, fresh, tmp_path_factory.mktemp("helm"), "release")
    found.install(CHART)
    fresh.api.create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", JANE)
    yield found
    found.run("uninstall")


JANE = {
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
        "watchNamespaces={default},crd.install=false,userRoles=false,metricsAdapter.enabled=false",
    )
    namespaces = [
        namespace
        for namespace in ("default", "second")
        if found.may(found.account, "create", "batch/jobs", namespace)
    ]
    found.run("uninstall")
    assert namespaces == ["default"]


ALL = "Deployment release/minicluster-operator is an operator that runs MiniClusters in "
NO_MORE = "crd.install=false,userRoles=false,metricsAdapter.enabled=false"
BESIDE = f"--set 'watchNamespaces={{...}},{NO_MORE}'"
TAKEN = (
    "release minicluster-operator in namespace release has the CustomResourceDefinition already, and its"
    f" operator is there. For a second operator beside it, with namespaces of its own: {BESIDE}. To have this"
    " one in its place: helm uninstall minicluster-operator --namespace release, then repeat this with"
    " --take-ownership (MiniClusters stay)"
)
WORK = "as this one would: they would undo each other's work. Set watchNamespaces to namespaces that no other"
SECOND = {
    "as it is": ("", TAKEN),
    "all namespaces": (NO_MORE, f"{ALL}all namespaces or some of them, {WORK}"),
    "some of them": ("watchNamespaces={a,b},crd.install=false,userRoles=false", f"{ALL}a, b, {WORK}"),
}


@pytest.mark.parametrize(("values", "message"), SECOND.values(), ids=SECOND)
def test_a_second_release_for_the_same_namespaces_is_refused(
    release: Release, helm: Path, fresh: ControlPlane, tmp_path: Path, values: str, message: str
) -> None:
    second = Release(helm, fresh, tmp_path, "default")
    assert message in second.refusal(CHART, *(("--set", values) if values else ()))


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
