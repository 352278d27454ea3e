"""A MiniCluster on real nodes, and a user who may have jobs there."""

import secrets
from collections.abc import Callable, Iterator

import pytest

from tests.devcluster import ControlPlane, real_flux, until
from tests.devcluster.node_images import EMBEDDED, REAL
from tests.kubernetes import operators
from tests.kubernetes.cli.exec.single_broker import READ, SECONDS, WORK, document, make, phase, user
from tests.kubernetes.command_line import CommandLine


@pytest.fixture(scope="module", params=[EMBEDDED, REAL], ids=["embedded", "flux"])
def image(request: pytest.FixtureRequest) -> str:
    """The image with the engine; that of real Flux only where this machine has it."""
    if request.param == REAL and real_flux.find() is None:
        pytest.skip("real Flux is not on PATH")
    return str(request.param)


@pytest.fixture(scope="module")
def namespace(nodes: ControlPlane, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A namespace with an operator of its own, and a MiniCluster `mc` that is up."""
    name = f"exec-{secrets.token_hex(3)}"
    nodes.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    log = tmp_path_factory.mktemp("operator") / "log"
    with operators.running(nodes.kubeconfig, log, "--namespace", name, "--no-leader-election"):
        make(nodes.api, name, document("mc", image))
        until(lambda: phase(nodes.api, name, "mc") == "Running", "mc to run", SECONDS)
        yield name
        nodes.api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="module")
def worker(nodes: ControlPlane, namespace: str) -> Iterator[CommandLine]:
    """The command line of a user with the rights that jobs need, and no other."""
    program = user(nodes, namespace, "worker", [*READ, WORK])
    until(lambda: program("jobs", "mc").returncode == 0, "the rights and the broker")
    yield program
    program.end()


@pytest.fixture
def submit(worker: CommandLine) -> Callable[..., str]:
    """Submit a job, and return its id."""

    def submitted(*words: object) -> str:
        done = worker("submit", "mc", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return submitted
