"""The messages of Flux's shell about a job: log lines for its user, and the exception that ends the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minicluster.embedded.execution.lead.run import Run
    from minicluster.embedded.execution.messages import JobFailed, ShellMessage

_FATAL, _ERROR = 0, 3  # as syslog(3)


def fail(run: Run, rank: int, text: str, component: str = "") -> None:
    """Raise a fatal exception of the job, the first time only."""
    if not run.failed:
        _log(run, rank, _FATAL, f"{component}{text}")
        run.failed = True
        run.events.exception(run.id, "exec", 0, text)


def _log(run: Run, rank: int, level: int, text: str, component: str = "") -> None:
    node = list(run.nodes).index(rank)
    run.events.shell_log(run.id, node, level, text, component)


def logged(run: Run, rank: int, message: ShellMessage, _body: bytes) -> None:
    """Log a rank's message."""
    _log(run, rank, message["level"], message["text"], message.get("component", ""))


def failed(run: Run, rank: int, message: JobFailed, _body: bytes) -> None:
    """Fail the job, as a rank cannot go on with it."""
    fail(run, rank, message["text"])
