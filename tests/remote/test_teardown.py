"""What a user is told of a save that failed before `down --dump` deleted anything."""

from typing import Any

import pytest

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
