"""Carries out the scheduler's decisions in each turn of the loop: starts jobs, and orders resizes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from broker_config.formats.job_states import JobState
from minicluster.embedded.jobs.cpu_quotas import CpuQuotas
from minicluster.embedded.jobs.launch_queue import WaitingLaunch
from minicluster.embedded.jobs.placement_reasons import PlacementReasons
from queue_policies.orders.records import Begun, GrowOrder, GuestBegun, QuotaOrder, ShrinkOrder

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from broker_config.formats.jobspec import RequestedResources
    from minicluster.embedded.jobs.active_jobs import ActiveJobs
    from minicluster.embedded.jobs.allocations import Allocations
    from minicluster.embedded.jobs.commit_loop import CommitLoop
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.job_log import JobLog
    from minicluster.embedded.jobs.launch_queue import LaunchQueue
    from minicluster.embedded.jobs.lifecycle import JobLifecycle
    from minicluster.embedded.jobs.malleable_jobs import MalleableJobs
    from minicluster.embedded.jobs.parts import Parts
    from minicluster.embedded.jobs.scheduler import Deed
    from minicluster.embedded.jobs.usage_meter import UsageSample


class Decisions:
    """Asks the scheduler once it is `ready`."""

    def __init__(
        self,
        parts: Parts,
        jobs: ActiveJobs,
        log: JobLog,
        commits: CommitLoop,
        lifecycle: JobLifecycle,
        launches: LaunchQueue,
        allocations: Allocations,
    ) -> None:
        self.ready = False  # the broker sets it when scheduling may begin
        self._parts = parts
        self._jobs = jobs.by_id
        self._log = log
        self._commits = commits
        self._lifecycle = lifecycle
        self._launches = launches
        self._allocations = allocations
        self._bypassing = jobs.bypassing
        self.quotas = CpuQuotas(parts, jobs.by_id, log, lifecycle)
        self._reasons = PlacementReasons(parts.scheduler, jobs.by_id, log)
        self._malleable: MalleableJobs | None = None
        self._wake: asyncio.TimerHandle | None = None
        commits.on_turn.append(self._decide)

    def task_ended(self, job: int, task: int) -> None:
        """Note that a task of a malleable job ended."""
        if self._malleable is not None:
            self._malleable.task_ended(job, task)

    def used(self, job: int, sample: UsageSample) -> None:
        """Note what a running job used on a rank."""
        self._parts.scheduler.co_scheduling.used(job, sample, self._parts.clock())
        self._commits.schedule()

    def _decide(self) -> None:
        if not self.ready:
            return
        while self._bypassing:
            self._bypass(self._bypassing.pop(0))
        scheduler = self._parts.scheduler
        for deed in scheduler.decide(self._parts.clock()):
            self._apply(deed)
        self._reasons.update()
        if self._wake is not None:
            self._wake.cancel()
        self._wake = None if scheduler.wake is None else self._parts.call_at(scheduler.wake, self._woken)

    def _woken(self) -> None:
        self._parts.scheduler.woken()
        self._commits.schedule()

    def _apply(self, deed: Deed) -> None:
        if isinstance(deed, Begun):
            self._start(deed)
        elif isinstance(deed, GuestBegun):
            self._start(deed)
            self.quotas.begun(deed)
        elif isinstance(deed, QuotaOrder):
            self.quotas.order(deed)
        elif isinstance(deed, (GrowOrder, ShrinkOrder)):
            self._loaded().order(deed)
        else:
            self._log.annotate(self._jobs[deed.job], {"sched": {"t_estimate": deed.at}})

    def _bypass(self, job: ActiveJob) -> None:
        if job.state == JobState.SCHED:  # it may have been canceled
            self._allocations.bypass(job)
            self._launches.add(WaitingLaunch(job, None))

    def _start(self, begun: Begun | GuestBegun) -> None:
        job, request = self._jobs[begun.queued.id], cast("RequestedResources", begun.request)
        credentials = None
        if job.elastic is not None and job.elastic.malleable:
            self._loaded().begin(job, request, begun.allocation)
            credentials = partial(self._loaded().credentials, job)
        self._allocations.start(job, request, begun.allocation)
        self._launches.add(WaitingLaunch(job, credentials))

    def resize(self, job: int, workers: int, on_end: Callable[[str], None]) -> None:
        """Order a running job to have this number of workers.

        `on_end` is called with why the order failed, or an empty text when it is done, at once if there is
        nothing to do. Raises OrderRefused.
        """
        from minicluster.malleable.speaker import NOT_YET  # noqa: PLC0415 - seldom needed
        from queue_policies.errors import OrderRefused  # noqa: PLC0415 - seldom needed
        from queue_policies.orders import by_hand  # noqa: PLC0415 - seldom needed

        scheduler = self._parts.scheduler
        obstacle = NOT_YET if self._malleable is None else self._malleable.obstacle(job)
        if job not in scheduler.running:
            raise OrderRefused(by_hand.RIGID)
        order = by_hand.order(scheduler.resizing, scheduler.running[job], workers, obstacle)
        if order is None:
            on_end("")
        else:
            self._loaded().order(order, on_end)

    def _loaded(self) -> MalleableJobs:
        """Return the malleable jobs; their module is imported with the first one."""
        if self._malleable is None:
            from minicluster.embedded.jobs.malleable_jobs import MalleableJobs  # noqa: PLC0415 - seldom needed

            self._malleable = MalleableJobs(
                self._parts, self._log, self._commits, self._lifecycle, self._allocations
            )
        return self._malleable
