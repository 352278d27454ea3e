"""An operator that is killed at every write of a save: what was to be saved is, and then the pods go."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.devcluster import ControlPlane, until
from tests.kubernetes import meddler, operators
from tests.kubernetes.archived import Archived
from tests.kubernetes.ledger import LONG
from tests.kubernetes.live import Live
from tests.kubernetes.meddler import Meddler
from tests.kubernetes.mortality import killed_after_each_write
from tests.kubernetes.operators import ACCOUNT, SYSTEM, path

pytestmark = pytest.mark.timeout(900)
TIMEOUT = 600.0  # every write costs the start of a process


@pytest.fixture
def proxy(nodes: ControlPlane, tmp_path: Path) -> Iterator[Meddler]:
    """A way to the API server with the shipped rights, on which each write is seen."""
    operators.account(nodes)
    access = nodes.user(ACCOUNT, ["system:serviceaccounts", f"system:serviceaccounts:{SYSTEM}"])
    with meddler.meddling(access, tmp_path / "kubeconfig") as found:
        yield found


@pytest.mark.parametrize("how", ["suspended", "deleted"])
def test_killed_after_each_write(
    proxy: Meddler, nodes: ControlPlane, space: str, engine: str, tmp_path: Path, how: str
) -> None:
    archived = Archived(Live(nodes.api, space, image=engine), nodes, tmp_path)
    with operators.running(proxy.kubeconfig, tmp_path / "first.log"):
        archived.create(2)
        archived.ledger.begin(1, LONG)
        archived.release()
    with killed_after_each_write(proxy, tmp_path / "log", space) as lives:
        if how == "suspended":
            archived.live.change(suspend=True)
            suspended = {"Suspended": ("True", "Suspended")}
            operators.settled(nodes.api, space, seconds=TIMEOUT, **suspended)
        else:
            archived.live.delete()
            until(lambda: not nodes.api.exists(path(space, "mc")), "the deletion", TIMEOUT)
    assert len(lives) > 2
    assert archived.notes_of("NotSaved") == []
    with operators.running(proxy.kubeconfig, tmp_path / "last.log"):
        if how == "suspended":
            archived.resume(2)
        else:
            archived.gone()
            archived.create(2)
        archived.completed()
