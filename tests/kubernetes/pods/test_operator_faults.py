"""What becomes of jobs when the operator is killed after each of its writes: nothing."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.devcluster import ControlPlane, until
from tests.kubernetes import meddler, operators
from tests.kubernetes.ledger import SECONDS, Ledger
from tests.kubernetes.live import Live
from tests.kubernetes.meddler import Meddler
from tests.kubernetes.mortality import killed_after_each_write
from tests.kubernetes.operators import ACCOUNT, SYSTEM

pytestmark = pytest.mark.timeout(1200)  # an operator is started some 30 times


@pytest.fixture
def proxy(nodes: ControlPlane, tmp_path: Path) -> Iterator[Meddler]:
    """A way to the API server on which single writes can be seen."""
    operators.account(nodes)
    access = nodes.user(ACCOUNT, ["system:serviceaccounts", f"system:serviceaccounts:{SYSTEM}"])
    with meddler.meddling(access, tmp_path / "kubeconfig") as found:
        yield found


def test_an_operator_that_is_killed_after_each_write_costs_no_job(
    nodes: ControlPlane, space: str, engine: str, proxy: Meddler, tmp_path: Path
) -> None:
    """From the first object of a MiniCluster until it has grown and shrunk."""
    live = Live(nodes.api, space, image=engine)
    with killed_after_each_write(proxy, tmp_path / "log", space) as lives:
        ledger = Ledger.of(live, nodes, tmp_path / "ledger")
        live.create(ledger.container(), interactive=True, maxSize=3).joined(seconds=SECONDS)
        ledger.begin(1)
        live.change(size=3)
        until(lambda: 2 in ledger.running(), "a job on the new rank", SECONDS)
        live.joined(3, SECONDS)
        live.change(size=2)
        ledger.release()
        live.until(SECONDS, Resizing=("False", "AtSize"))
        live.joined(2, SECONDS)
        assert ledger.balance() == {}
    assert len(lives) > 10
