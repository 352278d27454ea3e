"""How a service's process ends: with an exit code, and a line in its log that says why."""

import logging
import os
import signal
from collections.abc import Callable, Iterator

import pytest

from minicluster.kube_client import service_process
from minicluster.kube_client.errors import LeadershipLostError

LOG = logging.getLogger("test")


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    """Leave this process its own."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def raises(error: Exception) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize(
    ("work", "code", "lines"),
    [
        pytest.param(lambda: None, 0, [], id="done"),
        pytest.param(
            raises(LeadershipLostError("another leads")), 1, ["the x ends: another leads"], id="known"
        ),
        pytest.param(raises(KeyError("metadata")), 1, ["the x ends: a defect of it"], id="a defect"),
    ],
)
def test_the_last_line_reports_why(
    caplog: pytest.LogCaptureFixture, work: Callable[[], None], code: int, lines: list[str]
) -> None:
    caplog.set_level(logging.ERROR)
    assert service_process.exit_code("x", work, LOG, (LeadershipLostError,)) == code
    assert caplog.messages == lines


def test_a_first_process_ends_by_sigterm_before_it_serves() -> None:
    """The kernel has no default for it there."""
    with pytest.raises(SystemExit) as ended:
        service_process.exit_code("x", lambda: os.kill(os.getpid(), signal.SIGTERM), LOG, ())
    assert ended.value.code == 0
