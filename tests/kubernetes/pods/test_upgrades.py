"""From release 0.1.0 to this one and back on real nodes, by helm, under load; then it is uninstalled.

The operators are pods: those of 0.1.0 by its own chart, of its image (tests/devcluster/release_0_1_0.py).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from minicluster.document import crd
from tests.devcluster import (
    Api,
    ApiError,
    ControlPlane,
    node_images,
    python_tree,
    release_0_1_0,
    shipped_images,
    until,
)
from tests.devcluster.archives import Archive
from tests.devcluster.control_plane import CRDS, wait_established, wait_served
from tests.devcluster.release import NAMESPACE, PODS, Release
from tests.devcluster.release_0_1_0 import PACKAGES, REVISION
from tests.kubernetes import inventory, releases, script_pods
from tests.kubernetes.archived import Archived
from tests.kubernetes.command_line import CommandLine
from tests.kubernetes.live import SECONDS, Live
from tests.kubernetes.operators import path

pytestmark = pytest.mark.timeout(900)
IN_IMAGE = f"/{node_images.PREFIX}/lib/{python_tree.VERSION}/{python_tree.SITE}"
FORMER_IMAGE = f"{shipped_images.OPERATOR}:{REVISION}"
THIS_IMAGE = f"{shipped_images.OPERATOR}:{shipped_images.version()}"
OF_FORMER = ("--set", f"image.repository={shipped_images.OPERATOR},image.tag={REVISION}")
OF_THIS = ("--reset-then-reuse-values", "--set", "image.tag=")
MINICLUSTERS = "/apis/flux-framework.org/v1alpha2/miniclusters"
FLUX_FILES = "/api/v1/configmaps?labelSelector=app.kubernetes.io/component=flux-files"
DEFINITION = f"{CRDS}/miniclusters.flux-framework.org"
Pods = dict[int, tuple[str, int]]
"""The uid of each broker's pod, and how often its container was started again."""
LAST = "last"
"""The MiniCluster that this release makes, beside `mc`, which 0.1.0 makes."""


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster, what it had before the chart was installed, and both releases of the chart."""

    nodes: ControlPlane
    before: set[str]
    former: Release
    this: Release

    def has(self, image: str) -> bool:
        """Return whether all pods of the release that stay run this image, and say of no defect."""
        assert "defect" not in releases.logs(self.nodes)
        staying = [pod for pod in self.nodes.api.items(PODS) if "deletionTimestamp" not in pod["metadata"]]
        return {pod["spec"]["containers"][0]["image"] for pod in staying} == {image}


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of release 0.1.0, readable for users of pods, and its chart."""
    if not release_0_1_0.is_known():
        pytest.skip(f"revision {REVISION} is not in this checkout's history")
    folder = tmp_path_factory.mktemp("release")
    release_0_1_0.extract(folder, *PACKAGES, release_0_1_0.CHART)
    for each in (folder, *folder.parents):
        if each.owner() == folder.owner() and each.is_relative_to(tmp_path_factory.getbasetemp().parent):
            each.chmod(0o755)
    return folder


@pytest.fixture
def site(
    shipped: list[Archive], former_image: Archive, nodes: ControlPlane, packages: Path, tmp_path: Path
) -> Iterator[Site]:
    """Release 0.1.0, installed with its CRD; in the end there is the CRD of the tests again."""
    withdraw_definition(nodes.api)
    releases.make_room(nodes.api)
    before = inventory.of(nodes.api)
    chart = packages / release_0_1_0.CHART
    with releases.installed(nodes, tmp_path, *OF_FORMER, chart=chart) as former:
        yield Site(nodes, before, former, Release(nodes.api, nodes.kubeconfig, tmp_path))
    provide_definition(nodes.api)


def withdraw_definition(api: Api) -> None:
    """Delete the CRD, and wait until it is gone; of a MiniCluster that is left nothing is saved."""
    for each in api.items(MINICLUSTERS) if api.exists(DEFINITION) else ():
        about = each["metadata"]
        try:
            api.merge(path(about["namespace"], about["name"]), {"metadata": {"finalizers": None}})
        except ApiError as error:
            if error.status != 404:  # it went meanwhile, with its namespace
                raise
    api.delete(DEFINITION)
    gone = "what it defines to go"
    until(lambda: not any("flux-framework.org" in each for each in inventory.of(api)), gone, SECONDS)


def provide_definition(api: Api) -> None:
    """Have this release's CRD, for the tests that come after this."""
    withdraw_definition(api)
    api.create(CRDS, crd())
    wait_established(api, crd())
    wait_served(api, crd())


def mounted(packages: Path, engine: str) -> dict[str, Any]:
    """Return the volumes by which the embedded instance of an image is 0.1.0's; real Flux has the zips."""
    if engine == node_images.REAL:
        return {}
    return {
        name.replace("_", "-"): {"hostPath": str(packages / name), "path": f"{IN_IMAGE}/{name}"}
        for name in PACKAGES
    }


def replaced(saved: Archived, former: str) -> bool:
    """Look whether the operator has changed the ConfigMap's files, and the lead's pod has them."""
    live = saved.live
    config = live.api.get(f"/api/v1/namespaces/{live.namespace}/configmaps/{live.name}-config")
    for pod in live.pods.by_rank().values():  # a change of a pod has its kubelet look at its volumes now
        pods = f"/api/v1/namespaces/{live.namespace}/pods"
        live.api.merge(
            f"{pods}/{pod['metadata']['name']}",
            {"metadata": {"annotations": {"files": config["metadata"]["resourceVersion"]}}},
        )
    return saved.shell("cat /etc/minicluster/start.sh") == config["data"]["start.sh"] != former


def uids(live: Live) -> Pods:
    """Return which pods a MiniCluster has."""
    return {
        rank: (pod["metadata"]["uid"], pod["status"]["containerStatuses"][0]["restartCount"])
        for rank, pod in live.pods.by_rank().items()
    }


@dataclass(frozen=True, slots=True)
class Scene:
    """What runs meanwhile: `saved` is of 0.1.0 and `last` of this release, each in a namespace of its own."""

    site: Site
    engine: str
    saved: Archived
    last: Live
    crowd: str
    """The namespace of MiniClusters that are made while operators are replaced."""

    def namespaces(self) -> set[str]:
        """Return how an inventory names the namespaces, which the test itself has made."""
        names = self.saved.live.namespace, self.last.namespace, self.crowd
        return {f"namespaces: {name}" for name in names}

    def roll(self, release: Release, command: Callable[[], None], image: str) -> None:
        """Have other operators; MiniClusters that are made before and meanwhile run to their end."""
        api, begun = self.site.nodes.api, image.rpartition(":")[2].replace(".", "-")
        made = [Live(api, self.crowd, f"run-{begun}-{number}", self.engine) for number in range(3)]
        made[0].create({"command": "true"}, size=1)
        command()
        for one in made[1:]:
            one.create({"command": "true"}, size=1)
        assert [one.ended()["phase"] for one in made] == ["Succeeded"] * len(made)
        release.wait_ready()
        assert self.site.has(image)


@pytest.fixture
def scene(site: Site, nodes: ControlPlane, engine: str, tmp_path: Path) -> Iterator[Scene]:
    """Nothing runs yet."""
    with (
        script_pods.space(nodes.api) as own,
        script_pods.space(nodes.api) as other,
        script_pods.space(nodes.api) as crowd,
    ):
        saved = Archived(Live(nodes.api, own, image=engine), nodes, tmp_path)
        yield Scene(site, engine, saved, Live(nodes.api, other, LAST, engine), crowd)


def test_miniclusters_of_both_releases_go_on_and_at_last_nothing_is_left(
    scene: Scene, packages: Path
) -> None:
    """One of 0.1.0 is drained, saved and restored under this release, and both grow after the rollback."""
    live, last, site = scene.saved.live, scene.last, scene.site
    assert site.has(FORMER_IMAGE)
    volumes = mounted(packages, scene.engine)
    scene.saved.create(3, volumes=volumes, drainTimeoutSeconds=120)
    leaving = scene.saved.ledger.begin(2)
    others = {job: scene.saved.ledger.hold(job) for job in scene.saved.ledger.ids if job != leaving}
    before, script = uids(live), scene.saved.shell("cat /etc/minicluster/start.sh")
    scene.roll(site.this, lambda: site.this.install(*OF_THIS), THIS_IMAGE)
    last.create(interactive=True, size=1, maxSize=2).joined(1)
    until(lambda: replaced(scene.saved, script), "the files of this operator in the lead's pod", SECONDS)
    assert uids(live) == before
    drain(scene.saved, before)
    save(scene.saved, before, others)
    scene.roll(site.former, lambda: site.this.run("rollback", "1"), FORMER_IMAGE)
    live.change(size=3)
    last.change(size=2)
    live.joined(3)
    last.joined(2)
    uninstall(scene)


def drain(saved: Archived, before: Pods) -> None:
    """Shrink to two: the job that ran on rank 2 ends, all others are held."""
    live = saved.live
    live.change(size=2)
    live.until(Resizing=("True", "Draining"))
    assert uids(live) == before
    # Not before it is drained: one that is held for long could start there.
    until(lambda: "2" in saved.shell("flux resource drain -no '{ranks}'").split(), "rank 2 to be drained")
    saved.release()
    until(lambda: len(live.pods.by_rank()) == 2, "the pod of rank 2 to go", SECONDS)
    assert saved.ledger.written().total() == 1


def save(saved: Archived, before: Pods, others: Mapping[str, Path]) -> None:
    """Suspend it: two jobs are waited for, the others are saved and go on afterwards."""
    live, running = saved.live, saved.ledger.running()
    assert running.keys() == {0, 1}
    live.change(suspend=True)
    until(lambda: "waiting for 2 jobs" in live.message("Suspended"), "jobs to be waited for", SECONDS)
    assert uids(live).items() <= before.items()
    for job in running.values():
        others[job].unlink()
    status = live.until(Suspended=("True", "Suspended"))
    assert status["lastDump"]["jobs"] == len(others) - 2
    for job in others.keys() - set(running.values()):
        others[job].unlink()
    saved.resume(2)
    saved.completed()


def uninstall(scene: Scene) -> None:
    """Do as docs/installation.md says; a MiniCluster that is not deleted goes on until the CRD is."""
    api, last = scene.site.nodes.api, scene.last
    scene.saved.live.delete()
    scene.saved.gone()
    before = uids(last)
    scene.site.former.uninstall()
    until(lambda: api.items(PODS) == [], "the operators to go", SECONDS)
    minicluster = CommandLine(scene.site.nodes.kubeconfig, last.namespace)
    job = minicluster("submit", LAST, "-N", 2, "--", "hostname").stdout.strip()
    hosts = {f"{rank}: {LAST}-{rank}" for rank in range(2)}
    assert set(minicluster("attach", LAST, job).stdout.splitlines()) == hosts
    assert uids(last) == before
    assert api.exists(DEFINITION)
    api.delete(DEFINITION)
    api.delete(f"/api/v1/namespaces/{NAMESPACE}")
    for each in api.items(FLUX_FILES):
        about = each["metadata"]
        api.delete(f"/api/v1/namespaces/{about['namespace']}/configmaps/{about['name']}")
    left: set[str] = set()

    def poll() -> bool:
        left.clear()
        left.update(inventory.of(api) - scene.site.before - scene.namespaces())
        return not left

    try:
        until(poll, "everything to go", SECONDS)
    except TimeoutError as error:
        raise AssertionError(f"{error}; left: {left}") from error
