"""How the operator ends where it cannot go on: with exit code 1, and a line in its log that says why."""

import logging

import pytest

from minicluster.kube_client import logs
from minicluster.kube_client.access import Access
from minicluster.kube_client.errors import LeadershipLostError
from minicluster.operator import process
from minicluster.operator.errors import WatchLostError
from minicluster.operator.settings import OperatorSettings

SETTINGS = OperatorSettings(Access(), (), None, ("127.0.0.1", 0), "json", "info", "test")
ENDS = [
    pytest.param(LeadershipLostError("another leads"), "the operator ends: another leads", id="known"),
    pytest.param(
        ExceptionGroup("of its tasks", [WatchLostError("404")]), "the operator ends: 404", id="of a task"
    ),
    pytest.param(KeyError("metadata"), "the operator ends: a defect of it", id="a defect"),
]


@pytest.mark.parametrize(("error", "line"), ENDS)
def test_the_last_line_reports_why(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception, line: str
) -> None:
    async def serve(_: object) -> None:
        raise error

    monkeypatch.setattr(logs, "setup", lambda *_: None)
    monkeypatch.setattr(process._Operator, "serve", serve)
    caplog.set_level(logging.ERROR)
    assert (process.run(SETTINGS), caplog.messages) == (1, [line])
