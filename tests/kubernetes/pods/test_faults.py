"""What becomes of jobs when a follower is lost: each completes once, or is said to have failed, and why."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.devcluster import ControlPlane, node_images, until
from tests.devcluster.nodes import wait_ready
from tests.kubernetes.ledger import Ledger
from tests.kubernetes.live import SECONDS, Live

pytestmark = pytest.mark.timeout(600)
NODE_FAILURE = "node failure on mc-1 (rank 1)"
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}


@pytest.fixture
def ledger(live: Live, nodes: ControlPlane, tmp_path: Path) -> Ledger:
    """A MiniCluster of two brokers that waits for work, and a ledger."""
    return Ledger.created(live, nodes, tmp_path / "ledger")


def check(ledger: Ledger, hit: str, engine: str) -> None:
    """Check that the job is lost that ran on the follower, and no other.

    Real Flux (0.88) loses more: its executor knows of a lost broker 0.1 s before its scheduler does, which
    meanwhile places one waiting job after the other there. They fail at once, and say why.
    """
    failed = ledger.balance()
    assert ledger.never_ended(failed)
    if engine == node_images.REAL:
        failed[hit]
        assert {why for job, why in failed.items() if job != hit} <= {NODE_FAILURE}
    else:
        assert failed == {hit: NODE_FAILURE}


def check_restarted(ledger: Ledger, hit: str, engine: str) -> dict[str, str]:
    """Check that what was lost has completed under the ids that the status names, which are returned."""
    restarted = ledger.restarted()
    failed = ledger.balance(restarted)
    assert failed.keys() == restarted.keys()
    assert hit in restarted
    assert engine == node_images.REAL or failed == {hit: NODE_FAILURE}
    return restarted


def test_a_follower_that_is_killed_costs_the_job_that_ran_on_it(
    ledger: Ledger, live: Live, nodes: ControlPlane, engine: str
) -> None:
    """Its container is gone without a word, as when memory runs out: 137. Another pod is made.

    The command line tells of the jobs what the instance does.
    """
    hit = ledger.begin(1)
    uid = live.pods.by_rank()[1]["metadata"]["uid"]
    for pid in live.pods.processes(nodes, 1):
        os.kill(pid, signal.SIGKILL)
    live.pods.replaced(1, uid)
    live.joined(2)
    check(ledger, hit, engine)
    done = ledger.minicluster("jobs", live.name, "--all", "--output", "json")
    assert done.returncode == 0, done.stderr
    shown = [
        {word: row[word] for word in ("id", "state", "ranks", "exception")} for row in json.loads(done.stdout)
    ]
    assert shown == ledger.listed()


def test_a_follower_whose_pod_is_deleted_costs_the_job_that_ran_on_it(
    ledger: Ledger, live: Live, engine: str
) -> None:
    """As a person may do; the Job makes another pod, and its broker joins as the same rank."""
    hit = ledger.begin(1)
    uid = live.pods.by_rank()[1]["metadata"]["uid"]
    live.pods.delete(1)
    live.until(BrokersReady=("False", "BrokersMissing"))
    live.pods.replaced(1, uid)
    live.joined(2)
    check(ledger, hit, engine)


def test_the_job_of_a_follower_that_is_evicted_is_started_again(
    ledger: Ledger, live: Live, engine: str
) -> None:
    """As where its node is drained: on a broker that is left, or on the one that comes in its place."""
    hit = ledger.begin(1)
    uid = live.pods.by_rank()[1]["metadata"]["uid"]
    live.pods.evict(1)
    check_restarted(ledger, hit, engine)
    live.pods.replaced(1, uid)
    live.joined(2)


def test_a_follower_whose_kubelet_stops_works_on(ledger: Ledger, live: Live, nodes: ControlPlane) -> None:
    """Its pod is given up, but nobody ends it; when the kubelet is back it does, and another one is made."""
    ledger.begin(1)
    uid = live.pods.by_rank()[1]["metadata"]["uid"]
    node = live.pods.node(nodes, 1)
    node.stop_kubelet()
    try:
        until(lambda: 1 not in live.pods.by_rank(), "the pod to be given up", SECONDS)
        assert ledger.balance() == {}
        assert live.message("BrokersReady") == "2 of 2 brokers have joined"
    finally:
        node.start_kubelet()
        wait_ready(nodes.api, [node], nodes.guardian)
    live.pods.replaced(1, uid)
    live.joined(2)


def test_the_job_of_a_follower_whose_node_dies_is_started_again(
    ledger: Ledger, live: Live, nodes: ControlPlane, engine: str
) -> None:
    """Nobody can end its pod, which is not replaced until somebody says that the node is out of service."""
    hit = ledger.begin(1)
    node = live.pods.node(nodes, 1)
    node.kill()
    try:
        until(lambda: 1 not in live.pods.by_rank(), "the pod to be given up", SECONDS)
        restarted = check_restarted(ledger, hit, engine)
        named = ", ".join(f"{old} as {new}" for old, new in restarted.items())
        assert live.message("BrokersReady") == (
            "1 of 2 brokers have joined; missing: 1 (lost: lost connection; its pod was told to go, and is"
            " still there (a node that died holds its pods)); of the jobs that ran there: started again: "
            + named
        )
        nodes.api.merge(f"/api/v1/nodes/{node.name}", {"spec": {"taints": [OUT_OF_SERVICE]}})
        live.joined(2)
        assert live.pods.node(nodes, 1) != node
    finally:
        nodes.api.merge(f"/api/v1/nodes/{node.name}", {"spec": {"taints": None}})
        node.start()
        wait_ready(nodes.api, [node], nodes.guardian)
