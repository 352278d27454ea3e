"""Jobs as futures of concurrent.futures.

    with JobExecutor(client, "mc") as executor:
        for record in executor.map(["./solve"], range(10)):
            print(record.id, record.returncode)

This runs ./solve 0, ./solve 1, and so on.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import threading
from collections import deque
from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from minicluster.client.errors import (
    ClientError,
    Invalid,
    JobEnded,
    NotFound,
    QuotaExceeded,
    ServerAway,
    ServiceFailed,
    TooManyRequests,
)
from minicluster.client.jobs import succeeded
from minicluster.client.records import JobStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.client.client import Client
    from minicluster.client.jobs import RemoteJob

TOGETHER = 100
"""Jobs that are submitted with one request at most: those that wait while another request is under way."""
POLL_SECONDS = 1.0
"""Between two listings of the jobs that have not ended: one for all futures."""


class JobFuture(Future[JobStatus]):
    """A job that was submitted, or will be.

    `result` returns its record when it has completed, and raises JobFailure when it has ended otherwise.
    """

    def __init__(self) -> None:
        super().__init__()
        self._submitted = threading.Event()
        self._job: RemoteJob | None = None
        self._cancelling = threading.Lock()

    def job(self, timeout: float | None = None) -> RemoteJob:
        """Wait until it is submitted, and return the job. Raises TimeoutError, and why it is not."""
        if not self._submitted.wait(timeout):
            raise TimeoutError("the job is not submitted yet")
        if self._job is None:
            self.result(0)
            raise concurrent.futures.CancelledError
        return self._job

    def output(self) -> bytes:
        """Wait until the job has ended, however that is, and return what its tasks wrote to standard output.

        Raises why it was not submitted, CancelledError, and what `RemoteJob.output` raises.
        """
        job = self.job()
        return b"".join(chunk.data for chunk in job.output(streams=("stdout",), follow=not self.done()))

    def running(self) -> bool:
        """Whether the job is submitted, and has not ended."""
        return self._job is not None and not self.done()

    def cancel(self) -> bool:
        """Cancel the job, or its submit. False: it has ended, or the service refuses."""
        with self._cancelling:
            if self.cancelled():
                return True
            if self._job is not None and not self.done():
                try:
                    self._job.cancel()
                except (JobEnded, NotFound):
                    return False
            if not super().cancel():
                return False
            self.set_running_or_notify_cancel()
            return True

    def submitted(self, job: RemoteJob | None) -> None:
        """Take the job; None: there is none, and the reason is set. For the executor alone."""
        with self._cancelling:
            self._job = job
            self._submitted.set()
        if job is not None and self.cancelled():
            with contextlib.suppress(ClientError):
                job.cancel()

    def ended(self, record: JobStatus, job: RemoteJob) -> None:
        """Take the end of the job. For the executor alone."""
        try:
            value = succeeded(record, job)
        except ClientError as error:
            self.failed(error)
        else:
            with contextlib.suppress(InvalidStateError):  # it was cancelled meanwhile
                self.set_result(value)

    def failed(self, error: BaseException) -> None:
        """Take why there is no result. For the executor alone."""
        with contextlib.suppress(InvalidStateError):
            self.set_exception(error)


class JobExecutor(concurrent.futures.Executor):
    """Submits jobs to one cluster. The fields are those of each job, such as tasks=4."""

    def __init__(self, client: Client, cluster: str, *, poll: float = POLL_SECONDS, **fields: Any) -> None:
        self._client = client
        self._cluster = cluster
        self._fields = fields
        self._poll = poll
        self._pool = ThreadPoolExecutor(1, "submit")
        self._next: deque[tuple[JobFuture, dict[str, Any]]] = deque()
        self._changed = threading.Condition()
        self._waiting: dict[str, JobFuture] = {}
        self._unsubmitted: set[JobFuture] = set()
        self._closed = False
        self._watcher: threading.Thread | None = None

    def submit(self, fn: Sequence[str], /, *args: object, **fields: Any) -> JobFuture:  # type: ignore[override]
        """Submit a command with further arguments; return its future. Raises RuntimeError once shut down."""
        future = JobFuture()
        with self._changed:
            if self._closed:
                raise RuntimeError("the executor was shut down: it takes no more jobs")
            self._unsubmitted.add(future)
            self._next.append((future, {"command": [*fn, *map(str, args)], **self._fields, **fields}))
        self._pool.submit(self._submit)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more jobs. With `cancel_futures`, those that have not ended are cancelled."""
        with self._changed:
            self._closed = True
            left = [*self._unsubmitted, *self._waiting.values()]
            self._changed.notify_all()
        for each in left if cancel_futures else ():
            with contextlib.suppress(ClientError):
                each.cancel()
        if wait:
            concurrent.futures.wait(left)
        self._pool.shutdown(wait=wait)

    def _submit(self) -> None:
        """Submit the jobs that wait."""
        with self._changed:
            some = [self._next.popleft() for _ in range(min(TOGETHER, len(self._next)))]
        wanted = [(future, job) for future, job in some if not future.cancelled()]
        jobs = dict(
            zip((future for future, _ in wanted), self._jobs([job for _, job in wanted]), strict=True)
        )
        for future, _ in some:
            found = jobs.get(future)
            if isinstance(found, Exception):
                future.failed(found)
                found = None
            self._submitted(future, found)

    def _jobs(self, wanted: Sequence[dict[str, Any]]) -> list[RemoteJob | Exception]:
        """Submit jobs; one that is refused with others is sent alone, as another one may be the wrong one."""
        if len(wanted) == 1:
            return [self._alone(wanted[0])]
        try:
            found = self._client.bulk.submit(self._cluster, wanted)
        except Exception as error:  # noqa: BLE001 - the futures' results raise it
            return [error] * len(wanted)
        return [
            self._alone(job) if isinstance(each, Invalid | QuotaExceeded) else each
            for job, each in zip(wanted, found, strict=True)
        ]

    def _alone(self, job: dict[str, Any]) -> RemoteJob | Exception:
        try:
            return self._client.submit(self._cluster, **job)
        except Exception as error:  # noqa: BLE001 - the future's result raises it
            return error

    def _submitted(self, future: JobFuture, job: RemoteJob | None) -> None:
        future.submitted(job)
        with self._changed:
            self._unsubmitted.discard(future)
            if job is not None and not future.done():
                self._waiting[job.id] = future
                self._start_watcher()
                self._changed.notify_all()

    def _start_watcher(self) -> None:
        if self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, name="jobs", daemon=True)
            self._watcher.start()

    def _watch(self) -> None:
        """Look for jobs that have ended, as long as there are futures."""
        while True:
            with self._changed:
                self._waiting = {jobid: each for jobid, each in self._waiting.items() if not each.done()}
                if not self._waiting:
                    self._watcher = None
                    return
                waiting = dict(self._waiting)
            try:
                self._sweep(waiting)
            except (ServerAway, ServiceFailed, TooManyRequests):
                pass  # tried long enough for once; the jobs go on without us
            except Exception as error:  # noqa: BLE001 - the futures' results raise it
                for each in waiting.values():
                    each.failed(error)
            with self._changed:
                self._changed.wait(self._poll)

    def _sweep(self, waiting: dict[str, JobFuture]) -> None:
        active = {each.id for each in self._client.jobs(self._cluster, state="active", limit=500)}
        for jobid, future in waiting.items():
            if jobid not in active and not future.done():
                self._finish(jobid, future)

    def _finish(self, jobid: str, future: JobFuture) -> None:
        job = self._client.job(self._cluster, jobid)
        try:
            record = job.record()
        except NotFound as error:
            future.failed(error)
            return
        if record.ended:
            future.ended(record, job)
