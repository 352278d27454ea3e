"""Fixtures of the tests on a real API server: one control plane a session, one namespace a test."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from minicluster.document import crd
from tests import dealing
from tests.devcluster import (
    Api,
    ContextError,
    ControlPlane,
    HarnessError,
    MissingProgramsError,
    Options,
    cluster,
    node_images,
    node_programs,
    rack,
    real_flux,
    release_0_1_0,
    shipped_images,
    start,
    until,
)
from tests.devcluster.archives import Archive
from tests.devcluster.existing import ExistingCluster, connect
from tests.devcluster.images import AnyImage
from tests.devcluster.lookup import (
    ETCD,
    HELM,
    KEDA,
    KWOK,
    METRICS_CLIENT,
    METRICS_SERVER,
    Programs,
    kubernetes,
    locate,
)
from tests.devcluster.reporting import unavailable
from tests.kubernetes import autoscalers, kept_instance, leftovers, operators, script_pods
from tests.kubernetes.live import Live
from tests.kubernetes.operators import Operator
from tests.kubernetes.task_ledger import TaskLedger

OLDEST = "1.31"  # of Kubernetes, that the operator promises to work on
# The programs that a fixture needs.
NEEDS = {
    "programs": (ETCD, kubernetes(), KWOK),
    "own_plane": (ETCD, kubernetes(), KWOK),
    "oldest_plane": (ETCD, kubernetes(OLDEST), KWOK),
    "helm": (HELM,),
    "metrics_client": (METRICS_CLIENT,),
    "metrics_server": (METRICS_SERVER,),
    "keda_programs": (KEDA,),
    "nodes": (),  # what they need besides is in `rack.supplies`, where it is clear that there can be any
}
NODES = 4
TIMEOUT = 1200  # seconds for a test on nodes that asks for no other
# What `--one-plane` leaves out: tests with these fixtures, and on nodes all but these files.
FURTHER = {"oldest_plane", "helm", "metrics_client", "metrics_server", "keda_programs"}
FIRST_ON_NODES = {"test_bring_up.py", "test_ends.py"}
HERE = Path(__file__).parent
PLACEMENT_FILES = ("test_exclusive_cores.py", "test_saving_cut.py")
"""What is collected with `--prove-placement` alone."""
UNASKED = ("endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller")
"""Controllers that list the pods behind Services: nobody asks where no pod has a network."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what takes long: a cluster with nodes of its own, three MiniClusters in turn."""
    is_asked_for = config.getoption("--prove-placement")
    return True if collection_path.name in PLACEMENT_FILES and not is_asked_for else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse tests on nodes in a file that tests/dealing.py does not know to have them.

    The first one that a worker runs has the start of its cluster in its time.
    """
    on_nodes = [item for item in items if "nodes" in named(item)]
    for item in on_nodes:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT))
    files = {item.path for item in on_nodes}
    if unknown := sorted(
        file.name for file in files if dealing.cluster_of(str(file)) is not dealing.Cluster.NODES
    ):
        names = ", ".join(unknown)
        raise pytest.UsageError(f"tests on nodes: let NODES_FILES in tests/dealing.py match {names}")
    if config.getoption("--one-plane"):
        config.hook.pytest_deselected(items=[item for item in items if needs_more(item)])
        items[:] = [item for item in items if not needs_more(item)]


def named(item: pytest.Item) -> set[str]:
    """Return the names of a test's fixtures; elsewhere something else may be called as one of these is."""
    return set(getattr(item, "fixturenames", ())) if item.path.is_relative_to(HERE) else set()


def needs_more(item: pytest.Item) -> bool:
    """Return whether `make test` leaves a test out: it needs a further control plane, or more of nodes."""
    fixtures = named(item)
    return bool(fixtures & FURTHER) or ("nodes" in fixtures and item.path.name not in FIRST_ON_NODES)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the programs now if a test that was selected needs them: it takes longer than a test may."""
    wanted = {name for item in session.items for name in named(item)}
    needed = [suite for name in sorted(NEEDS.keys() & wanted) for suite in NEEDS[name]]
    if not NEEDS.keys() & wanted:
        return
    if session.config.getoption("collectonly") and not session.config.getoption("--build"):
        return
    capture = session.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        try:
            if "nodes" in wanted:
                rack.supplies(images(session)).kept_open.close()
        except HarnessError:
            pass  # the tests say so, each for itself
        try:
            for suite in needed:
                locate(suite)
        except HarnessError:
            pass  # the tests say so, each for itself


@pytest.fixture(autouse=True)
def _no_kept_connection() -> Iterator[None]:
    """End what a test has kept: the thread that serves it would hold the process up."""
    yield
    kept_instance.hang_up_all()


@pytest.fixture(scope="session")
def programs() -> None:
    """Skip (or, under CI, fail) where there are no programs; for tests that start clusters of their own."""
    require("programs")


@pytest.fixture(scope="session")
def node_tools() -> None:
    """Skip (or, under CI, fail) where nodes cannot be; for tests that need a part of one."""
    try:
        node_programs.require()
    except MissingProgramsError as error:
        unavailable(error)


def require(fixture: str) -> None:
    """Locate the programs of a fixture, or skip."""
    try:
        for suite in NEEDS[fixture]:
            locate(suite)
    except MissingProgramsError as error:
        unavailable(error)


@pytest.fixture(scope="session")
def helm() -> Path:
    """The program that renders the chart and installs it."""
    require("helm")
    return locate(HELM)["helm"]


@pytest.fixture(scope="session")
def metrics_client() -> Path:
    """The program that asks for metrics with Kubernetes' own client library."""
    require("metrics_client")
    return locate(METRICS_CLIENT)["metrics-client"]


@pytest.fixture(scope="session")
def metrics_server() -> Path:
    """The program that measures what pods use."""
    require("metrics_server")
    return locate(METRICS_SERVER)["metrics-server"]


@pytest.fixture(scope="session")
def keda_programs() -> Programs:
    """The programs of KEDA: `operator` and `adapter`."""
    require("keda_programs")
    return locate(KEDA)


@pytest.fixture(scope="session")
def own_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane | None]:
    """The session's control plane, with the CRD and an audit log; none where a context is given."""
    if request.config.getoption("--kube-context"):
        yield None
        return
    require("own_plane")
    controllers = ",".join(["*", *(f"-{each}" for each in UNASKED)])
    options = Options(crds=[crd()], audit=True, controller_manager={"controllers": controllers})
    with cluster(options) as plane:
        yield plane


def images(session: pytest.Session) -> Sequence[AnyImage] | None:
    """Return what nodes have: with the images of containers/ only where a test asks for them."""
    wanted = {name for item in session.items for name in named(item)}
    if "shipped" not in wanted:
        return None
    wants_former = "former_image" in wanted and release_0_1_0.is_known()
    try:
        former = [release_0_1_0.image()] if wants_former else []
        return [*node_images.build(), *shipped_images.build(), *former]
    except MissingProgramsError:
        return None  # the tests say so, each for itself


@pytest.fixture(scope="session")
def nodes(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A control plane with four real nodes, the CRD, and the images of `node_images`; pods run on it.

    Its autoscaler looks every second.
    """
    options = Options(crds=[crd()], nodes=NODES, controller_manager=autoscalers.EVERY_SECOND)
    try:
        started = start(replace(options, images=images(request.session)))
    except MissingProgramsError as error:
        unavailable(error)
    yield started
    started.stop()


_apart: list[ControlPlane] = []
"""The cluster of `remote`, while there is one."""


@pytest.fixture
def remote(nodes: ControlPlane) -> Iterator[ControlPlane]:
    """Another cluster, with two real nodes; nothing passes between the networks of the two.

    The next test that wants one gets the same, even in another file.
    """
    if not _apart:
        _apart.append(start(Options(nodes=2)))
    yield _apart[0]
    nodes.part(_apart[0])


@pytest.fixture
def remote_space(remote: ControlPlane) -> Iterator[str]:
    """A namespace in the other cluster."""
    with script_pods.space(remote.api) as name:
        yield name


@pytest.fixture
def tasks(tmp_path: Path) -> TaskLedger:
    """What tasks of jobs write, outside of all clusters: nothing yet."""
    return TaskLedger.empty(tmp_path / "ledger")


@pytest.fixture
def reached(nodes: ControlPlane, remote: ControlPlane) -> None:
    """The networks of the two clusters route to each other for the test."""
    nodes.reach(remote)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """End the other cluster where the next test does not want it: idle it takes of a core."""
    try:
        return (yield)
    finally:
        if _apart and "remote" not in getattr(nextitem, "fixturenames", ()):
            _apart.pop().stop()


@pytest.fixture(scope="module")
def oldest_plane() -> Iterator[ControlPlane]:
    """A control plane of the oldest Kubernetes that the operator promises to work on, with the CRD.

    Few tests of a file want it, and idle to the session's end it would take more than its start.
    """
    require("oldest_plane")
    with cluster(Options(version=OLDEST, crds=[crd()], audit=True)) as plane:
        yield plane


@pytest.fixture
def plane(own_plane: ControlPlane | None) -> ControlPlane:
    """A control plane that the test may do anything to; others use it as well, one after the other."""
    if own_plane is None:
        pytest.skip("needs a control plane of its own, not the cluster of --kube-context")
    return own_plane


@pytest.fixture(scope="session")
def kube(
    request: pytest.FixtureRequest, own_plane: ControlPlane | None
) -> Iterator[ControlPlane | ExistingCluster]:
    """A cluster that serves the CRD: the session's control plane, or the one of --kube-context."""
    if own_plane is not None:
        yield own_plane
        return
    try:
        found = connect(request.config.getoption("--kube-context"), [crd()])
    except ContextError as error:
        pytest.fail(f"--kube-context: {error}", pytrace=False)
    yield found
    found.stop()


@pytest.fixture(scope="session")
def api(kube: ControlPlane | ExistingCluster) -> Api:
    """The administrator's client."""
    return kube.api


@pytest.fixture
def namespace(request: pytest.FixtureRequest, api: Api) -> Iterator[str]:
    """A namespace for this test. A control plane that will end keeps it, without what would work on."""
    name = f"test-{secrets.token_hex(4)}"
    api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    until(
        lambda: api.exists(f"/api/v1/namespaces/{name}/serviceaccounts/default"),
        f"the service account of {name}",
    )
    yield name
    if request.config.getoption("--kube-context"):
        api.delete(f"/api/v1/namespaces/{name}")
        for item in api.items(operators.path(name)):
            leftovers.release(api, operators.path(name, item["metadata"]["name"]), item)
    else:
        leftovers.delete(api, name)


@pytest.fixture(scope="session")
def former_image() -> Archive:
    """The operator's image of release 0.1.0; nodes have it where a test asks for this."""
    if not release_0_1_0.is_known():
        pytest.skip(f"revision {release_0_1_0.REVISION} is not in this checkout's history")
    try:
        return release_0_1_0.image()
    except MissingProgramsError as error:
        unavailable(error, what="builder of images")


@pytest.fixture
def space(nodes: ControlPlane) -> Iterator[str]:
    """A namespace on the cluster with nodes."""
    with script_pods.space(nodes.api) as name:
        yield name


@pytest.fixture(scope="module")
def nodes_operator(nodes: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """An operator for the cluster with nodes, with the shipped rights."""
    with operators.everywhere(nodes, tmp_path_factory.mktemp("operator")) as found:
        yield found


@pytest.fixture(scope="module", params=[node_images.EMBEDDED, node_images.REAL], ids=["embedded", "flux"])
def engine(request: pytest.FixtureRequest) -> str:
    """The image with the engine: the embedded instance, then real Flux, only where this machine has it."""
    if request.param == node_images.REAL and real_flux.find() is None:
        pytest.skip("real Flux is not on PATH")
    return str(request.param)


@pytest.fixture
def live(nodes_operator: Operator, nodes: ControlPlane, space: str, engine: str) -> Live:
    """A MiniCluster on real nodes that is still to be created."""
    return Live(nodes.api, space, image=engine)
