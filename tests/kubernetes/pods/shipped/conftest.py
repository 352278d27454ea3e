"""The operator of these tests is what is handed out: the chart with its defaults, in pods of the image.

It is installed once for all of them: tests/dealing.py gives the folder to one worker.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.devcluster import ControlPlane
from tests.devcluster.archives import Archive
from tests.devcluster.release import Release
from tests.kubernetes import releases
from tests.kubernetes.command_line import CommandLine, member

PROOFS = {"test_burst_release_tunnel.py", "test_burst_scaling.py"}
"""What `make prove-burst` alone runs."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files that only `--prove-bursts` asks for."""
    return True if collection_path.name in PROOFS and not config.getoption("--prove-bursts") else None


@pytest.fixture(scope="package")
def release(
    shipped: list[Archive], nodes: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Release]:
    """The chart as it is."""
    with releases.installed(nodes, tmp_path_factory.mktemp("helm")) as found:
        yield found


@pytest.fixture(scope="module")
def nodes_operator(release: Release) -> Release:
    """The operator in its pods, where other tests have one as a process."""
    return release


@pytest.fixture
def minicluster(release: Release, nodes: ControlPlane, space: str) -> CommandLine:
    """The command line of somebody who may edit the namespace, and has no rights elsewhere."""
    return member(nodes, space, "edit")
