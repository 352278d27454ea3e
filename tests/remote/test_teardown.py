"""What a user is told of a save that failed before `down --dump` deleted anything, and of bursts."""

from typing import Any

import pytest

from minicluster.plan.constants import BURST_FINALIZER
from minicluster.remote import summary, teardown
from tests.remote.far_cluster import cluster

AT = "2026-03-14T15:10:26Z"
OLD = "nothing was saved to /a: no space; it is tried again at 2026-03-14T15:10:26Z"
FAILED = {"phase": "Failed", "startedAt": AT, "retryAt": AT}


@pytest.mark.parametrize(
    ("message", "status", "shown"),
    [
        pytest.param("reworded", {"save": {**FAILED, "error": "full"}}, "full", id="by the field"),
        pytest.param("reworded", {"save": FAILED}, "the lead does not say why", id="without a reason"),
        pytest.param(OLD, {}, "no space", id="by an operator of 0.1.0"),
    ],
)
def test_why_nothing_was_saved(message: str, status: dict[str, Any], shown: str) -> None:
    now = summary.of(cluster("Running", "Suspended", message, reason="SaveFailed", **status))
    assert teardown.failure(now, "/a", message) == f"nothing was saved to /a: {shown}"


SERVICE = (
    f"then a burst service takes its finalizer {BURST_FINALIZER} off: is one running?"
    " docs/troubleshooting.md has what to do without"
)


@pytest.mark.parametrize(
    ("bursts", "shown"),
    [
        pytest.param([{"id": "a", "slot": "far", "state": "deleting"}], ": far (deleting)", id="one"),
        pytest.param([{"id": "a", "state": "requested"}], ": a (requested)", id="without a slot"),
        pytest.param([], "", id="none any more"),
    ],
)
def test_what_a_deletion_waits_for(bursts: list[dict[str, str]], shown: str) -> None:
    item = cluster("Running", "Running", "", bursts=bursts)
    assert teardown.waits_for(item) == ""
    item["metadata"]["finalizers"] = [BURST_FINALIZER]
    assert teardown.waits_for(item) == f"waiting for its bursts to be deleted{shown}; {SERVICE}"
