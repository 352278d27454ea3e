"""A metrics adapter behind a real API server, and the leads that it asks."""

from collections.abc import Iterator

import pytest

from minicluster.document import crd
from tests.devcluster import Api, ControlPlane, Options, cluster
from tests.kubernetes import adapters
from tests.kubernetes.adapters import Adapter
from tests.kubernetes.autoscalers import EVERY_SECOND
from tests.metrics_api.adapter.played import Leads, playing
from tests.ports import free_port


@pytest.fixture(scope="module")
def metrics_plane(programs: None) -> Iterator[ControlPlane]:
    """A control plane whose autoscaler looks every second."""
    with cluster(Options(crds=[crd()], audit=True, controller_manager=EVERY_SECOND)) as plane:
        yield plane


@pytest.fixture(scope="module")
def api(metrics_plane: ControlPlane) -> Api:
    return metrics_plane.api


@pytest.fixture(scope="module")
def leads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Leads]:
    with playing(tmp_path_factory.mktemp("leads")) as found:
        yield found


@pytest.fixture(scope="module")
def port() -> int:
    """A port that the adapter has also after it was started again."""
    return free_port()


@pytest.fixture(scope="module")
def adapter(
    metrics_plane: ControlPlane, leads: Leads, port: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Adapter]:
    leads.add("nobody")  # so that there is a port
    log = tmp_path_factory.mktemp("adapter") / "log"
    with adapters.running(metrics_plane, leads, log, port) as found:
        yield found
