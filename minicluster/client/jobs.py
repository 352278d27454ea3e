"""A job, as one has it in hand: to wait for, to read, and to end."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from broker_config.formats import jobid
from minicluster.client.addresses import path
from minicluster.client.connection import Call
from minicluster.client.errors import ClientError, JobTimeout
from minicluster.client.job_errors import JobCanceled, JobFailure
from minicluster.client.job_output import FollowedOutput, now_written
from minicluster.client.last_lines import last_lines
from minicluster.client.records import CANCELED, COMPLETED, JobEvent, JobStatus, job_record, member, read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from minicluster.client.connection import ServiceConnection
    from minicluster.instance.records import OutputChunk

FIRST_POLL = 0.1
"""Seconds before a job is looked at again, the first time; then twice as many each."""
MAX_POLL = 2.0


class RemoteJob:
    """One job. Raises what ServiceConnection raises; NotFound where there is none, or it is another one's."""

    def __init__(self, connection: ServiceConnection, cluster: str, id: str) -> None:  # noqa: A002 - the service's name
        self._connection = connection
        self.cluster = cluster
        self.id = id
        """As the service writes it: F58 (RFC 19)."""
        self._path = path("v2", "clusters", cluster, "jobs", id)

    def __repr__(self) -> str:
        return f"RemoteJob({self.cluster!r}, {self.id!r})"

    def record(self) -> JobStatus:
        """Return it as it is now."""
        return job_record(self._connection.get(self._path))

    def wait(self, timeout: float | None = None) -> JobStatus:
        """Wait until it has ended, and return it. Raises JobTimeout after so many seconds."""
        timing, delay = self._connection.timing, FIRST_POLL
        end = None if timeout is None else timing.monotonic() + timeout
        while True:
            found = self.record()
            if found.ended:
                return found
            if end is not None and timing.monotonic() + delay > end:
                raise JobTimeout(f"job {self.id} has not ended within {timeout:g} s: it is {found.state}")
            timing.sleep(delay)
            delay = min(MAX_POLL, 2 * delay)

    def result(self, timeout: float | None = None) -> JobStatus:
        """Wait until it has completed, and return it. Raises JobFailure, JobCanceled, JobTimeout."""
        return succeeded(self.wait(timeout), self)

    def output(
        self, *, streams: Sequence[str] = (), tasks: str = "", after: int = -1, follow: bool = True
    ) -> Iterator[OutputChunk]:
        """What its tasks write, up to its end; without `follow` what is there.

        Goes on where a connection is lost: each byte comes once. `streams` are some of stdout, stderr, log;
        `tasks` an idset of ranks (RFC 22); `after` the entry behind which to begin.
        """
        query = {"stream": ",".join(streams), "task": tasks}
        query = {name: text for name, text in query.items() if text}
        where, number = f"{self._path}/output", jobid.parse(self.id)
        if follow:
            return FollowedOutput(self._connection, where, query, number, after)
        return iter(now_written(self._connection, where, query, number, after))

    def events(self) -> list[JobEvent]:
        """Return what has happened to it."""
        found = member(self._connection.get(f"{self._path}/events"), "events")
        return [read(JobEvent, each) for each in found]

    def jobspec(self) -> dict[str, Any]:
        """Return what was submitted (RFC 25), without the environment."""
        found: dict[str, Any] = self._connection.get(f"{self._path}/jobspec")
        return found

    def why(self) -> str:
        """Return why it waits; empty if it does not."""
        return str(member(self._connection.get(f"{self._path}/why"), "why"))

    def cancel(self, reason: str = "") -> None:
        """Cancel it. Raises JobEnded."""
        self._act("cancel", {"reason": reason})

    def kill(self, signal: str = "TERM") -> None:
        """Send a signal, by its name in signal(7) without SIG, to each of its tasks. Raises JobEnded."""
        self._connection.call(Call("POST", f"{self._path}/kill", body={"signal": signal}))

    def set_urgency(self, urgency: int) -> int:
        """Set its urgency, 0 (held) to 31, while it waits; return the former one. Raises JobEnded."""
        return int(member(self._act("urgency", {"urgency": urgency}), "before"))

    def _act(self, what: str, body: Any) -> Any:
        return self._connection.call(Call("POST", f"{self._path}/{what}", body=body, repeatable=True))


def succeeded(record: JobStatus, job: RemoteJob) -> JobStatus:
    """Return the record of a job that has completed. Raises JobFailure, JobCanceled."""
    if record.result == COMPLETED:
        return record
    if record.result == CANCELED:
        raise JobCanceled(record)
    raise JobFailure(record, _why_it_exited(record, job))


def _why_it_exited(record: JobStatus, job: RemoteJob) -> Sequence[str]:
    """Return the last lines of a job's standard error; none where it did not exit, or they cannot be had."""
    if record.exception is not None or not record.returncode or record.returncode < 0:
        return ()
    with contextlib.suppress(ClientError):
        return last_lines(job.output(streams=("stderr",)), label=record.ntasks > 1)
    return ()
