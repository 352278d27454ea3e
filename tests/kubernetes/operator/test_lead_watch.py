"""Operators and lead brokers talk to each other on real nodes: who has joined, and who may go."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.devcluster import ControlPlane, until
from tests.kubernetes import operators
from tests.kubernetes.live import Live
from tests.kubernetes.operators import Operator, events

SECONDS = 240.0
# A job on one rank, whose output is the lead's; what runs it stays.
JOB = (
    "id=$(flux submit --requires=rank:{rank} -N1"
    " sh -c 'until test -e /tmp/go; do sleep 0.1; done; echo finished on $(hostname)');"
    " echo submitted; flux job attach $id; sleep 600"
)


@pytest.fixture
def operator(nodes: ControlPlane, tmp_path: Path) -> Iterator[Operator]:
    """An operator with the shipped rights."""
    with operators.everywhere(nodes, tmp_path) as found:
        yield found


def working(nodes: ControlPlane, space: str, rank: int, drain: int = 60) -> Live:
    """Have a MiniCluster with a job on its highest rank, which runs until it is let `go`."""
    command = JOB.format(rank=rank)
    live = Live(nodes.api, space).create(
        {"command": command, "launcher": True}, size=rank + 1, maxSize=4, drainTimeoutSeconds=drain
    )
    live.joined(rank + 1)
    until(lambda: "submitted" in live.pods.log(0), "the job to be submitted", SECONDS)
    return live


def go(nodes: ControlPlane, live: Live, rank: int) -> None:
    """Let the job on a rank end."""
    for pid in live.pods.processes(nodes, rank):
        Path(f"/proc/{pid}/root/tmp/go").touch()


def event_notes(live: Live) -> dict[str, str]:
    """Return the Events about a MiniCluster: reason to note."""
    return {reason: note for _, reason, note in events(live.api, live.namespace)}


def at_size(live: Live, size: int) -> None:
    """Wait until a resize has ended."""
    live.until(Resizing=("False", "AtSize"))
    until(lambda: live.status["size"] == size and len(live.pods.by_rank()) == size, f"{size} pods", SECONDS)


def test_a_job_is_waited_for(operator: Operator, nodes: ControlPlane, space: str) -> None:
    live = working(nodes, space, rank=2)
    lead = live.pods.by_rank()[0]["metadata"]["uid"]
    live.change(size=1)
    until(lambda: "waiting for the jobs on rank 2" in live.message("Resizing"), "the drain", SECONDS)
    go(nodes, live, 2)
    until(lambda: live.status["size"] == 1, "the shrink", SECONDS)
    assert "finished on mc-2" in live.pods.log(0)
    at_size(live, 1)
    assert "DrainTimedOut" not in event_notes(live)
    assert live.pods.by_rank()[0]["metadata"]["uid"] == lead


def test_but_not_for_longer_than_the_document_allows(
    operator: Operator, nodes: ControlPlane, space: str
) -> None:
    live = working(nodes, space, rank=1, drain=3)
    live.change(size=1)
    until(lambda: live.status["size"] == 1, "the shrink", SECONDS)
    at_size(live, 1)
    assert re.fullmatch(
        r"shrinking to 1 pods: after 3 s \(spec.drainTimeoutSeconds\) jobs on rank 1 could not finish;"
        r" started again: ƒ\w+ as ƒ\w+",
        event_notes(live)["JobsRestarted"],
    )
    assert "DrainTimedOut" not in event_notes(live)


def test_ranks_that_come_back_get_jobs_again(operator: Operator, nodes: ControlPlane, space: str) -> None:
    command = "while flux run --requires=rank:1 hostname; do sleep 0.5; done"
    live = Live(nodes.api, space).create({"command": command, "launcher": True}, size=2, minSize=1)
    live.joined(2)
    until(lambda: "mc-1" in live.pods.log(0), "a job on rank 1", SECONDS)
    live.change(size=1)
    at_size(live, 1)
    before = live.pods.log(0).count("mc-1")
    live.change(size=2)
    live.joined(2)
    at_size(live, 2)
    until(lambda: live.pods.log(0).count("mc-1") > before, "another job on rank 1", SECONDS)


def test_crossing_resizes_end_at_the_last(operator: Operator, nodes: ControlPlane, space: str) -> None:
    live = Live(nodes.api, space).create(interactive=True, size=2, maxSize=4, minSize=1)
    live.joined(2)
    lead = live.pods.by_rank()[0]["metadata"]["uid"]
    for size in (4, 1, 3):
        live.change(size=size)
    live.joined(3)
    at_size(live, 3)
    assert live.pods.by_rank()[0]["metadata"]["uid"] == lead


def test_an_operator_that_is_started_again_goes_on(nodes: ControlPlane, space: str, tmp_path: Path) -> None:
    """All that it needs is in the status."""
    account = operators.account(nodes)
    with operators.running(account, tmp_path / "first.log"):
        live = working(nodes, space, rank=1)
        live.change(size=1)
        until(lambda: "waiting for the jobs on rank 1" in live.message("Resizing"), "the drain", SECONDS)
        assert live.status["size"] == 2
    with operators.running(account, tmp_path / "second.log"):
        go(nodes, live, 1)
        until(lambda: live.status["size"] == 1, "the shrink", SECONDS)
        assert "finished on mc-1" in live.pods.log(0)


def test_another_operator_is_not_let_in(nodes: ControlPlane, space: str, tmp_path: Path) -> None:
    """One with keys of its own, such as on another laptop."""
    with operators.everywhere(nodes, tmp_path):
        live = Live(nodes.api, space).create(interactive=True)
        live.joined(2)
    (tmp_path / "other").mkdir()
    with operators.everywhere(nodes, tmp_path / "other"):
        live.until(BrokersReady=("Unknown", "NotReported"))
        assert live.message("BrokersReady").endswith("has another operator's certificate")
