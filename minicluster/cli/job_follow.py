"""Following jobs to their ends: their output, their exit codes, and why they wait meanwhile."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import deque
from queue import SimpleQueue
from typing import TYPE_CHECKING

from broker_config.formats.printable import few
from minicluster.cli.elastic_jobs import sizes
from minicluster.cli.job_reasons import outcome
from minicluster.cli.job_words import written
from minicluster.cli.reporting import PlainReporter, print_notice
from minicluster.cli.tables import echo
from minicluster.instance.errors import InstanceError, WaitTimeout
from minicluster.instance.records import JobState
from minicluster.instance.task_lines import TaskLines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job

WAITING = 2.0
"""Seconds after which the user learns why a job has not begun."""
MAX_NAMED = 10
"""Jobs that are named in one line."""
MAX_FOLLOWED = 16
"""Jobs whose output is read at the same time: each takes a thread and a connection."""


def follow(instance: Instance, job: Job, known: str = "") -> int:
    """Copy a job's output to ours until it ends, and return its exit code; `known` is as for `exit_code`."""
    with reported(instance, job):
        copy_output(instance, job)
    return exit_code(instance.jobs.wait(job.id), known)


def follow_all(instance: Instance, jobids: Sequence[int], known: str = "") -> int:
    """Follow jobs side by side, and return the greatest exit code.

    With several each line begins with the id of its job, and `name_failed` is for why they failed.
    """
    if len(jobids) == 1:
        return follow(instance, instance.jobs.get(jobids[0]), known)
    left, ends = deque(jobids), SimpleQueue[int | Exception]()

    def work() -> None:
        with contextlib.suppress(IndexError):  # none is left
            while True:
                ends.put(_followed(instance, left.popleft()))

    for _ in range(min(MAX_FOLLOWED, len(jobids))):
        threading.Thread(target=work, daemon=True).start()  # Ctrl-C must not wait for it
    return max(_result(ends.get()) for _ in jobids)


def wait_for_all(instance: Instance, jobids: Sequence[int], known: str = "") -> int:
    """Wait until jobs have ended, and return the greatest exit code.

    With several `name_failed` is for why they failed.
    """
    if len(jobids) == 1:
        return exit_code(instance.jobs.wait(jobids[0]), known)
    return max(shell_code(instance.jobs.wait(jobid)) for jobid in jobids)


def name_failed(instance: Instance, jobids: Sequence[int]) -> None:
    """Print how those of these jobs ended that failed, on standard error: a line for each way."""
    found: dict[str, list[str]] = {}
    for job in map(instance.jobs.get, jobids):
        if shell_code(job):
            found.setdefault(outcome(job), []).append(written(job.id))
    for way, names in found.items():
        print_notice(f"{few(names, MAX_NAMED)}: {way}")


def report_ends(instance: Instance, jobs: Sequence[Job], left: list[str], limit: float | None = None) -> int:
    """Wait until jobs have ended, print how each did, and return the greatest exit code; 0 without any.

    After `limit` seconds those that have not ended are passed over. `left` gets the ids of all, as users
    write them, and loses those of jobs that have ended.
    """
    left += [written(job.id) for job in jobs]
    end = None if limit is None else time.monotonic() + limit
    codes = [0]
    for each in jobs:
        job = _end(instance, each, end)
        if job is not None:
            left.remove(written(job.id))
            echo(f"{written(job.id)}: {outcome(job)}")
            codes.append(shell_code(job))
    return max(codes)


@contextlib.contextmanager
def reported(instance: Instance, job: Job) -> Iterator[None]:
    """Tell the user why a job waits, if it still does after a while, as long as the block runs."""
    if job.state not in JobState.PENDING:
        yield
        return
    timer = threading.Timer(WAITING, _report_waiting, (instance, job.id))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def copy_output(instance: Instance, job: Job, label: bytes = b"") -> None:
    """Copy a job's output to ours until it ends.

    With several tasks each line begins with its task's rank, and comes once it is whole; so it does in a
    malleable job that may have several, whether it has them now or not.
    """
    elastic = sizes(job)
    is_one = job.ntasks <= 1 and not (elastic["malleable"] and elastic["max"] != 1)
    open_lines = TaskLines()

    def write(stream: str, task: int, lines: Iterable[bytes]) -> None:
        target = sys.stdout.buffer if stream == "stdout" else sys.stderr.buffer
        own = label + (b"" if is_one else b"%d: " % task)
        target.write(b"".join(own + line for line in lines))
        target.flush()

    with instance.jobs.output(job.id, follow=True) as chunks:
        for chunk in chunks:
            whole = [chunk.data] if is_one and not label else open_lines.feed(chunk)
            write(chunk.stream, chunk.task, whole)
    for stream, task, line in open_lines.rest():
        write(stream, task, [line])


def exit_code(job: Job, known: str = "") -> int:
    """Return the exit code that a shell would show for the job.

    Prints the exception that ended it, unless the user knows already why it can never run.
    """
    fatal = job.exception if job.exception is not None and job.exception.severity == 0 else None
    if fatal is not None and not (known and fatal.type == "alloc"):
        print_notice(f"job.exception type={fatal.type}: {fatal.note}")
    return shell_code(job)


def shell_code(job: Job) -> int:
    """Return the exit code that a shell would show for the job."""
    code = job.returncode
    if code is None:
        return 1
    return code if code >= 0 else 128 - code if code > -128 else 1


def _end(instance: Instance, job: Job, end: float | None) -> Job | None:
    """Return a job that has ended; None where it has not by `end`, on the monotonic clock."""
    remaining = None if end is None else end - time.monotonic()
    if remaining is not None and remaining <= 0:
        found = instance.jobs.get(job.id)
        return found if found.result else None
    with contextlib.suppress(WaitTimeout), reported(instance, job):
        return instance.jobs.wait(job.id, remaining)
    return None


def _followed(instance: Instance, jobid: int) -> int | Exception:
    """Follow one of several jobs; return its exit code, or what went wrong."""
    try:
        copy_output(instance, instance.jobs.get(jobid), f"{written(jobid)}: ".encode())
        return shell_code(instance.jobs.wait(jobid))
    except Exception as error:  # noqa: BLE001 - raised in the thread that waits
        return error


def _result(end: int | Exception) -> int:
    if isinstance(end, Exception):
        raise end
    return end


def _report_waiting(instance: Instance, jobid: int) -> None:
    from minicluster.cli.job_rows import rows

    with contextlib.suppress(InstanceError):  # it has ended, and the connection with it
        job = instance.jobs.get(jobid)
        if job.state in JobState.PENDING:
            PlainReporter().notice(f"{written(jobid)}: {rows(instance, [job])[0]['info']}")
