"""The executor's reports of jobs' processes, and the jobs that it is to start."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from minicluster.embedded.jobs.job_log import EXEC
from minicluster.embedded.jobs.task_shapes import LaunchShapes
from minicluster.embedded.jobs.usage_meter import UsageSample
from minicluster.embedded.ports import Launch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.embedded.jobs.active_jobs import ActiveJobs
    from minicluster.embedded.jobs.commit_loop import CommitLoop
    from minicluster.embedded.jobs.cpu_quotas import CpuQuotas
    from minicluster.embedded.jobs.decisions import Decisions
    from minicluster.embedded.jobs.job_log import JobLog
    from minicluster.embedded.jobs.job_output import JobOutput
    from minicluster.embedded.jobs.launch_queue import LaunchQueue
    from minicluster.embedded.jobs.lifecycle import JobLifecycle
    from minicluster.embedded.jobs.parts import Parts
    from minicluster.embedded.ports import JSON


class Reports:
    """Implements `ports.JobEvents`. Reports about jobs that are not active any more are ignored."""

    def __init__(
        self, jobs: ActiveJobs, log: JobLog, lifecycle: JobLifecycle, decisions: Decisions, output: JobOutput
    ) -> None:
        self._jobs = jobs.by_id
        self._log = log
        self._lifecycle = lifecycle
        self._decisions = decisions
        self._output = output

    def started(self, jobid: int) -> None:
        """All ranks reported the start of their tasks."""
        job = self._jobs.get(jobid)
        if job is not None and not job.started:
            job.started = True
            self._log.append(job, "start")

    def exec_event(self, jobid: int, name: str, context: JSON | None = None) -> None:
        """Append to guest.exec.eventlog."""
        if (job := self._jobs.get(jobid)) is not None:
            self._log.append(job, name, context, EXEC)

    def finished(self, jobid: int, status: int) -> None:
        """Every task ended."""
        if (job := self._jobs.get(jobid)) is not None:
            self._lifecycle.finished(job, status)

    def released(self, jobid: int) -> None:
        """No rank has processes of the job any more."""
        if (job := self._jobs.get(jobid)) is not None:
            self._lifecycle.released(job)

    def exception(self, jobid: int, kind: str, severity: int, note: str) -> None:
        """The job's processes failed."""
        if (job := self._jobs.get(jobid)) is not None:
            self._lifecycle.raise_exception(job, kind, severity, note)

    def task_ended(self, jobid: int, task: int) -> None:
        """A task of a malleable job ended."""
        self._decisions.task_ended(jobid, task)

    def output(self, jobid: int, task: int, stream: str, data: bytes) -> None:
        """A task wrote output."""
        self._output.write(jobid, task, stream, data)

    def redirected(self, jobid: int, tasks: int, stream: str, path: str) -> None:
        """A stream of all tasks goes to a file."""
        self._output.redirected(jobid, tasks, stream, path)

    def shell_log(self, jobid: int, node: int, level: int, message: str, component: str) -> None:
        """The job's shell sent a message."""
        self._output.shell_log(jobid, node, level, message, component)

    def eof(self, jobid: int, task: int, stream: str) -> None:
        """A task's stream ended."""
        self._output.eof(jobid, task, stream)

    def limited(self, jobid: int, order: int, ways: Sequence[str]) -> None:
        """A CPU limit holds on all ranks of the job."""
        if (job := self._jobs.get(jobid)) is not None:
            self._decisions.quotas.limited(job, order, ways)

    def used(self, jobid: int, rank: int, seconds: float, cpu: float, memory: float) -> None:
        """A job used CPU time and memory on a rank."""
        self._decisions.used(jobid, UsageSample(rank, seconds, cpu, memory))


class Launcher:
    """Has the executor start the jobs that got resources, once that is stored."""

    def __init__(
        self, parts: Parts, launches: LaunchQueue, commits: CommitLoop, reports: Reports, quotas: CpuQuotas
    ) -> None:
        self._parts = parts
        self._launches = launches
        self._reports = reports
        self._shape = LaunchShapes(parts.scheduler, parts.config)
        self._quotas = quotas
        commits.on_written.append(self._launch)

    def _launch(self) -> None:
        for job, credentials in self._launches.take():
            spec = json.loads(self._parts.store.jobs.jobspec(job.id) or "{}")
            file = None if credentials is None else credentials()
            workers, floats = self._shape.of(job.id)
            asked = (job.id, spec, job.R or {}, job.userid, file)
            limits = self._quotas.launch_limits(job.id)
            self._parts.executor.start(Launch(*asked, self._reports, workers, floats, limits))
