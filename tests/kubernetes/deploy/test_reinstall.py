"""The operator goes and comes back: what its MiniClusters and their users need meanwhile, stays."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.files import CHART, ROOT
from tests.devcluster import cluster, until
from tests.devcluster.lookup import kubernetes, locate
from tests.docs import pages
from tests.kubernetes.chart_release import Release

PAGE = "docs/installation.md"
SYSTEM = "minicluster-system"
SECRETS = f"/api/v1/namespaces/{SYSTEM}/secrets"
KEYS = f"{SECRETS}/minicluster-operator-door"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/minicluster-operator"
BUDGET = f"/apis/policy/v1/namespaces/{SYSTEM}/poddisruptionbudgets/minicluster-operator"
MINICLUSTERS = "flux-framework.org/miniclusters"
EDITOR = {
    "metadata": {"name": "jane"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
}


@pytest.fixture
def release(helm: Path, programs: None, tmp_path: Path) -> Iterator[Release]:
    """A cluster that never saw the operator; Jane may edit in the namespace `default`."""
    with cluster() as plane:
        plane.api.create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", EDITOR)
        yield Release(helm, plane, tmp_path, SYSTEM)


def typed(release: Release, line: str, folder: Path, code: int = 0) -> str:
    """Type a line of the page in the checkout; return what it writes to standard error."""
    kubectl = locate(kubernetes()).get("kubectl")
    if kubectl is None:
        pytest.skip("no kubectl beside the other programs of Kubernetes")
    for program in (kubectl, release.helm):
        if not (folder / program.name).exists():
            (folder / program.name).symlink_to(program)
    environment = {**release.environment, "PATH": f"{folder}:{release.environment['PATH']}"}
    done = subprocess.run(
        ["sh", "-ec", line], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, f"{line}: {done.stderr}"
    return done.stderr


def lines(first: str) -> list[str]:
    """Return what is typed in the page's block that begins with a line."""
    [block] = [block for block in pages.PAGES[PAGE] if block.first == first]
    return [each.line for each in block.typed]


def uninstalling(words: str) -> str:
    """Return the command in the page's section on the uninstallation that begins with these words."""
    section = (ROOT / PAGE).read_text().partition("\n## Uninstall\n")[2]
    found = set(re.findall(rf"`({words}[^`]*)`", " ".join(section.split())))
    assert len(found) == 1, found
    return str(found.pop())


def key(release: Release) -> tuple[str, str]:
    """Return which Secret has the keys, and what is in it."""
    found = release.api.get(KEYS)
    return found["metadata"]["uid"], found["data"]["key"]


def make_key(release: Release) -> tuple[str, str]:
    """Make the keys' Secret, as the operator does at its first start."""
    about = {"metadata": {"name": "minicluster-operator-door"}, "data": {"key": "c2VjcmV0"}}
    release.api.create(SECRETS, about)
    return key(release)


def may_edit(release: Release) -> bool:
    return release.may("jane", "create", MINICLUSTERS, "default")


def test_manifests_that_are_deleted_and_applied_again_find_the_keys(release: Release, tmp_path: Path) -> None:
    """As the page has both; then a release of Helm's takes their place, as it has that."""
    apply = lines("kubectl apply --server-side -f deploy/manifests/crd.yaml")
    for line in apply:
        typed(release, line, tmp_path)
    made = make_key(release)
    until(lambda: may_edit(release), "the role to be added to `edit`")
    typed(release, uninstalling("kubectl delete -f"), tmp_path)
    left = [release.api.exists(path) for path in (DEPLOYMENT, BUDGET)]
    assert (left, key(release), may_edit(release)) == ([False, False], made, True)
    for line in apply:
        typed(release, line, tmp_path)
    assert (release.api.exists(DEPLOYMENT), key(release)) == (True, made)
    for line in lines("kubectl delete -f deploy/manifests/install.yaml"):
        typed(release, line, tmp_path)
    labels = release.api.get(DEPLOYMENT)["metadata"]["labels"]
    assert (labels["app.kubernetes.io/managed-by"], key(release)) == ("Helm", made)
    release.run("upgrade", str(CHART), "--reset-then-reuse-values", "--set", "log.level=debug")
    assert "--log-level=debug" in str(release.api.get(DEPLOYMENT)["spec"])


def test_manifests_follow_a_release(release: Release, tmp_path: Path) -> None:
    """As the page has it; of what Helm has left it still owns the fields, where a manifest has others."""
    release.install(CHART)
    made = make_key(release)
    until(lambda: may_edit(release), "the role to be added to `edit`")
    uninstall, crd, *rest = lines("helm uninstall minicluster-operator --namespace minicluster-system --wait")
    typed(release, uninstall, tmp_path)
    apply, _, file = crd.replace(" --force-conflicts", "").rpartition(" ")
    refused = typed(release, f"sed 's/part-of: flux.*/part-of: another/' {file} | {apply} -", tmp_path, 1)
    assert 'conflict with "helm"' in refused
    for line in (crd, *rest):
        typed(release, line, tmp_path)
    labels = release.api.get(DEPLOYMENT)["metadata"]["labels"]
    assert ("app.kubernetes.io/managed-by" in labels, key(release), may_edit(release)) == (False, made, True)


def test_a_release_that_is_uninstalled_and_installed_again_finds_the_keys(
    release: Release, tmp_path: Path
) -> None:
    """Users keep their rights meanwhile; a release in another namespace takes the roles over."""
    release.install(CHART)
    made = make_key(release)
    until(lambda: may_edit(release), "the role to be added to `edit`")
    typed(release, uninstalling("helm uninstall minicluster"), tmp_path)
    assert (release.api.exists(DEPLOYMENT), key(release), may_edit(release)) == (False, made, True)
    release.install(CHART)
    assert key(release) == made
    release.run("uninstall")
    elsewhere = Release(release.helm, release.plane, tmp_path, "elsewhere")
    elsewhere.install(CHART, "--take-ownership")
    assert may_edit(elsewhere)


def test_the_roles_of_users_go_where_the_definition_is_not_kept(release: Release) -> None:
    release.install(CHART, "--set", "crd.keep=false")
    until(lambda: may_edit(release), "the role to be added to `edit`")
    release.run("uninstall")
    assert until(lambda: not may_edit(release), "the role to be taken away")


def test_the_words_about_a_release_that_is_gone_fit(release: Release, tmp_path: Path) -> None:
    """Of an operator by manifests, under a definition that a release has left."""
    release.install(CHART)
    release.run("uninstall")
    for line in lines("kubectl apply --server-side -f deploy/manifests/crd.yaml"):
        typed(release, line, tmp_path)
    other = Release(release.helm, release.plane, tmp_path, "default")
    assert (
        "To have this one in its place: kubectl delete -f with the manifest that it was applied from"
        " (deploy/manifests/install.yaml), then repeat this with --take-ownership"
    ) in other.refusal(CHART)
