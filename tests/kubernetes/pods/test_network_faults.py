"""What becomes of jobs when brokers do not reach each other, or nobody reaches the API server."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.devcluster import ControlPlane, node_images, until
from tests.devcluster.fake_nodes import node_names
from tests.kubernetes.ledger import Ledger
from tests.kubernetes.live import SECONDS, Live

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def ledger(live: Live, nodes: ControlPlane, tmp_path: Path) -> Ledger:
    """A MiniCluster of two brokers that waits for work, and a ledger."""
    return Ledger.created(live, nodes, tmp_path / "ledger")


@contextmanager
def sustained(seconds: float) -> Iterator[None]:
    """Take at least so long: that a fault lasts is what it is."""
    begun = time.monotonic()
    yield
    time.sleep(max(0.0, begun + seconds - time.monotonic()))


@contextmanager
def apart(live: Live, nodes: ControlPlane) -> Iterator[None]:
    """Have nothing pass between the pods of the lead and of rank 1."""
    lead, follower = (live.pods.node(nodes, rank) for rank in (0, 1))
    lead.link.cut_from(follower.link)
    try:
        yield
    finally:
        lead.link.mend_with(follower.link)


def test_brokers_that_do_not_reach_each_other_for_10_s_lose_nothing(
    ledger: Ledger, live: Live, nodes: ControlPlane
) -> None:
    """Their connections outlive that."""
    ledger.begin(1)
    with apart(live, nodes), sustained(10):
        pass
    assert ledger.balance() == {}
    assert live.joined(2)["phase"] == "Running"


def test_brokers_that_do_not_reach_each_other_for_60_s_lose_the_job_of_the_follower(
    ledger: Ledger, live: Live, nodes: ControlPlane, engine: str
) -> None:
    """The lead gives the follower up; that gives up the lead, ends the job, and joins anew."""
    hit = ledger.begin(1)
    uid = live.pods.by_rank()[1]["metadata"]["uid"]
    with apart(live, nodes), sustained(60):
        live.until(BrokersReady=("False", "BrokersMissing"))
    live.joined(2)
    failed = ledger.balance()
    assert set(failed.values()) == {"node failure on mc-1 (rank 1)"}
    assert ledger.never_ended(failed)
    if engine == node_images.REAL:  # see test_pods_faults.check
        assert hit in failed
    else:
        assert set(failed) == {hit}
    assert live.pods.by_rank()[1]["metadata"]["uid"] == uid


def test_brokers_and_jobs_go_on_without_the_api_server(
    ledger: Ledger, live: Live, nodes: ControlPlane
) -> None:
    """It is away for 30 s; the jobs that wait are started meanwhile."""
    ledger.begin(1)
    try:
        nodes.apiserver.stop()
        with sustained(30):
            (ledger.folder / "released").touch()
            until(lambda: len(ledger.written()) == len(ledger.ids), "all jobs to end", SECONDS)
    finally:
        nodes.apiserver.start()
        everyone = {node.name for node in nodes.nodes}
        until(lambda: everyone <= node_names(nodes.api, ready=True), "the nodes to be Ready again", SECONDS)
    assert ledger.balance() == {}
    assert live.joined(2)["phase"] == "Running"
