"""The routes by themselves: orders, and how long anything may take."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.broker_link.errors import InstanceGone, Refused
from minicluster.lead_client import connection
from minicluster.lead_server import operator_routes, status_snapshot
from minicluster.lead_server.status_snapshot import StatusSnapshot
from minicluster.save_restore.state_files import StateFiles

if TYPE_CHECKING:
    from pathlib import Path


class Link:
    """It is asked, and fails."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def rpc(self, *_: Any) -> dict[str, Any]:
        raise self.failure

    def close(self) -> None:
        """Nothing to close."""


@pytest.mark.parametrize(
    "seconds", [status_snapshot.READ_TIMEOUT, operator_routes.TIMEOUT], ids=["status", "order"]
)
def test_an_answer_comes_while_the_operator_waits(seconds: float) -> None:
    """It begins to wait before the door does, by a way through the network."""
    assert seconds + 1 <= connection.ANSWER_TIMEOUT


@pytest.mark.parametrize("failure", [Refused(errno.ETIMEDOUT), InstanceGone("away")], ids=["slow", "gone"])
def test_an_order_that_failed_may_have_been_carried_out(
    failure: Exception, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What hung there before is no status any more."""
    monkeypatch.setattr(status_snapshot, "READ_TIMEOUT", 0.05)
    hung = StatusSnapshot(lambda: None)
    hung.begin()
    hung.publish({"drained": "1"})
    table: Any = operator_routes.routes(hung, lambda: Link(failure), StateFiles(str(tmp_path)), "")  # type: ignore[arg-type,return-value]
    with pytest.raises(type(failure)):
        table["/v1/undrain"]["POST"]({}, {"ranks": "1"})
    with pytest.raises(InstanceGone, match="the broker has not answered yet"):
        table["/v1/status"]["GET"]({}, {})
