"""Every block of the README and the guides that needs a cluster does there, typed, what the page shows.

The reader's `make cluster` is answered by the cluster of the tests; all else is typed as it stands. Where it
installs the chart (`INSTALL=1`), the chart is installed.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.devcluster import ApiError, until
from tests.docs import pages, reader
from tests.kubernetes import inventory, releases
from tests.kubernetes.live import SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.devcluster import ControlPlane
    from tests.devcluster.archives import Archive

ON_A_CLUSTER = [page for page in pages.PAGES if pages.on_a_cluster(page)]
INSTALLING = [page for page in ON_A_CLUSTER if "INSTALL=1" in str(pages.on_a_cluster(page))]
ON_TWO = "docs/burst-on-kubernetes.md"
NAMESPACES = ("default", "research")
"""Those that the pages use."""
MINICLUSTERS = "/apis/flux-framework.org/v1alpha2/namespaces/{}/miniclusters"


@pytest.fixture
def desk(nodes: ControlPlane) -> Iterator[tuple[Path, dict[str, str]]]:
    """A checkout and an environment; nothing of what the page has made may be left in the cluster."""
    directory = Path(tempfile.mkdtemp(prefix="mcd-", dir="/tmp"))
    kubeconfig = directory / "kubeconfig"
    shutil.copy(nodes.kubeconfig, kubeconfig)
    given = (
        f"*cluster*NODES* | *clusters*INSTALL*) echo 'export KUBECONFIG={kubeconfig}'; cat {directory}/far ;;"
    )
    reader.checkout(directory, make=f"case $* in {given} cluster*-down) ;; *) exit 2 ;; esac")
    (directory / "far").touch()
    yield directory, reader.environment(directory, XDG_STATE_HOME=str(directory / "state"))
    left = [each["metadata"]["name"] for each in miniclusters(nodes)]
    shutil.rmtree(directory, ignore_errors=True)
    until(lambda: pods(nodes) == [], "the pods of the page to go", SECONDS)
    assert left == [], "the page leaves MiniClusters behind"


def miniclusters(nodes: ControlPlane) -> list[dict]:
    return [each for name in NAMESPACES for each in nodes.api.items(MINICLUSTERS.format(name))]


def pods(nodes: ControlPlane) -> list[str]:
    """Return the pods in the pages' namespaces; none in a namespace that is gone."""
    found = []
    for name in NAMESPACES:
        try:
            found += [each["metadata"]["name"] for each in nodes.api.items(f"/api/v1/namespaces/{name}/pods")]
        except ApiError:
            continue
    return found


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", [page for page in ON_A_CLUSTER if page not in INSTALLING])
def test_a_page_is_as_typed(page: str, desk: tuple[Path, dict[str, str]]) -> None:
    wrong = reader.differences(*desk, pages.on_a_cluster(page))
    assert not wrong, "\n".join(wrong)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", [page for page in INSTALLING if page != ON_TWO])
def test_a_page_that_installs_the_chart_is_as_typed(
    page: str,
    shipped: list[Archive],
    nodes: ControlPlane,
    desk: tuple[Path, dict[str, str]],
    tmp_path: Path,
) -> None:
    """Its operators and its adapter are pods, as the chart has them."""
    with releases.installed(nodes, tmp_path):
        wrong = reader.differences(*desk, pages.on_a_cluster(page))
    assert not wrong, "\n".join(wrong)


@pytest.fixture
def far(nodes: ControlPlane, remote: ControlPlane, desk: tuple[Path, dict[str, str]]) -> ControlPlane:
    """Another cluster, which the reader's `make clusters` has as well."""
    nodes.reach(remote)
    (desk[0] / "far").write_text(f"export FAR_KUBECONFIG={remote.kubeconfig}\n")
    return remote


@pytest.mark.timeout(900)
@pytest.mark.usefixtures("shipped")
def test_a_page_with_two_clusters_is_as_typed_and_leaves_both_as_they_were(
    nodes: ControlPlane, far: ControlPlane, desk: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    """By listing every kind; but for what Kubernetes has in each namespace."""
    with releases.installed(nodes, tmp_path):
        before = inventory.of(nodes.api), inventory.of(far.api)
        wrong = reader.differences(*desk, pages.on_a_cluster(ON_TWO))
        after = inventory.of(nodes.api) - before[0], inventory.of(far.api) - before[1]
    assert not wrong, "\n".join(wrong)
    assert after == (set(), {"namespaces: bursts"})
