"""An instance elsewhere over the port. Nobody but this service submits there."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from burst.elsewhere import jobspecs
from burst.elsewhere.output import OutputReader, PacedReader
from burst.errors import CallInvalid
from burst.leads.instance_lead import instance_id
from burst.lifecycle.isolated import FAILED_STATUS
from burst.lifecycle.isolation import RESULTS, STDERR, STDOUT, JobElsewhere, PackedResults, RemoteView
from burst.lifecycle.records import PREFIX
from minicluster.instance.errors import JobInactive, SubmitRefused
from minicluster.instance.records import Job, JobFilter, JobRequest, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.instance.port import Instance

URGENCY = 16
"""Of a job that may start, as usual."""
CANCEL_SECONDS = 30.0
"""Seconds after which a job that was canceled and has not ended is canceled again."""
MAX_ERROR = 300
"""Characters of what an archiver wrote."""
_SCRIPT = """\
set -e
archive=$(mktemp)
trap 'rm -f -- "$archive"' EXIT
tar -cf "$archive" -- "$@"
sha256sum <"$archive" >&2
cat -- "$archive"
"""
"""Writes files as one archive: the whole of it, or nothing; then its digest is the last that it says."""


class InstanceRemote:
    """One burst's instance while it is connected. Methods block, and raise InstanceError."""

    def __init__(self, instance: Instance, label: str, now: Callable[[], float] = time.time) -> None:
        self._instance = instance
        self._label = label
        self._now = now
        self.identity = instance_id(instance)
        """What tells it from one that takes its place."""
        self._output = PacedReader(OutputReader({"stdout": STDOUT, "stderr": STDERR}), now)
        self._archive = OutputReader({"stdout": RESULTS})
        self._canceled = -CANCEL_SECONDS
        self._job: int | None = None

    def close(self) -> None:
        """Hang up."""
        self._instance.close()

    def view(self, received: Mapping[str, int] | None) -> RemoteView:
        """Return what it reports; output where somebody has received so many bytes."""
        found = self._instance.nodes.resources()
        nodes = found.all.nodes - found.offline.nodes
        job, results = self._found(), None
        if job is None:
            return RemoteView(self.identity, nodes)
        user = job.attributes or {}
        is_over = job.state is JobState.INACTIVE
        # Its state was read before: what is not there now never will be, once it is over.
        read = self._output.read
        parts = read(self._instance, job.id, received, whole=is_over) if received is not None else ()
        if is_over and jobspecs.has_results(user):
            results = self._packed(user, received or {})
        there = JobElsewhere(
            id=job.id,
            is_on_hold=job.urgency == 0 and job.state in JobState.PENDING,
            is_canceled=job.exception is not None or self._now() - self._canceled < CANCEL_SECONDS,
            is_over=is_over,
            status=_status(job) if is_over else 0,
            note=job.exception.note if job.exception is not None and is_over else "",
            has_results=jobspecs.has_results(user),
            parts=parts,
        )
        return RemoteView(self.identity, nodes, there, results)

    def submit(self, jobspec: Mapping[str, Any]) -> int:
        """Submit the job on hold, unless it is there. Raises CallInvalid if it is refused."""
        found = self._found()
        if found is not None:
            return found.id
        try:
            return self._instance.jobs.resubmit(jobspecs.elsewhere(jobspec, self._label), urgency=0)
        except SubmitRefused as refusal:
            raise CallInvalid(str(refusal)) from refusal

    def release(self) -> None:
        """Let the first one start; others, of answers that were lost, have never run and never will."""
        for number, each in enumerate(self._own()):
            with contextlib.suppress(JobInactive):
                if number:
                    self._instance.jobs.cancel(each, "it is there already")
                else:
                    self._job = each
                    self._instance.jobs.set_urgency(each, URGENCY)

    def pack(self) -> None:
        """Have the results written as one archive, beside the first rank of the job."""
        job = self._found()
        if job is None or self._packing() is not None:
            return
        self._instance.jobs.submit(_packing_request(job, self._label))

    def cancel(self, reason: str) -> None:
        """Cancel the job."""
        self._canceled = self._now()
        for each in self._own():
            with contextlib.suppress(JobInactive):
                self._instance.jobs.cancel(each, reason)

    def _own(self) -> list[int]:
        """Return the jobs of the burst, the first one first."""
        every = sorted(job.id for job in self._instance.jobs.find(JobFilter(), limit=0))
        users = self._instance.overview.attributes(every) if every else {}
        return [job for job in every if jobspecs.label_of(users.get(job, {})) == self._label]

    def _found(self) -> Job | None:
        if self._job is None:
            self._job = next(iter(self._own()), None)
        return self._instance.jobs.get(self._job) if self._job is not None else None

    def _packing(self) -> Job | None:
        named = self._instance.jobs.find(JobFilter(name=_packing_name(self._label)), limit=0)
        return min(named, key=lambda job: job.id, default=None)

    def _packed(self, user: Mapping[str, Any], received: Mapping[str, int]) -> PackedResults | None:
        try:
            jobspecs.results_of(user)
        except ValueError as error:
            return PackedResults(is_over=True, error=str(error))
        job = self._packing()
        if job is None or job.state is not JobState.INACTIVE:
            return None if job is None else PackedResults()
        errors = self._error_output(job.id)
        if job.returncode != 0:
            return PackedResults(is_over=True, error=errors[-MAX_ERROR:] or "no archive was made")
        digest = "".join(errors.split()[-2:-1])
        return PackedResults(True, "", digest, self._archive.read(self._instance, job.id, received))

    def _error_output(self, job: int) -> str:
        """Return what a job has written to its standard error."""
        with self._instance.jobs.output(job) as chunks:
            written = b"".join(chunk.data for chunk in chunks if chunk.stream == "stderr")
        return written.decode(errors="replace").strip()


def _packing_name(label: str) -> str:
    return f"{PREFIX}{label}-results"


def _packing_request(job: Job, label: str) -> JobRequest:
    """Return a job that writes files of another one to its standard output, on the first of its ranks."""
    first = job.ranks.strip("[]").replace("-", ",").split(",")[0]
    return JobRequest(
        ("sh", "-c", _SCRIPT, "sh", *jobspecs.results_of(job.attributes or {})),
        nodes=1,
        environment={"PATH": os.defpath + ":/usr/local/bin"},
        cwd=job.cwd or "/",
        name=_packing_name(label),
        system={"constraints": {"ranks": [first]}} if first else {},
    )


def _status(job: Job) -> int:
    """Return the wait status of a job that is over: never 0 where an exception ended it."""
    failed = job.exception is not None and job.exception.severity == 0
    return job.waitstatus or (FAILED_STATUS if failed or job.waitstatus is None else 0)
