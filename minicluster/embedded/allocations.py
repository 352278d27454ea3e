"""What jobs get: the scheduler's orders carried out, R kept right, time limits, launches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from minicluster.embedded import resource_set
from minicluster.embedded.job import State
from minicluster.embedded.ports import Launch
from minicluster.embedded.services import Encoded

if TYPE_CHECKING:
    from minicluster.embedded.elastic import Place
    from minicluster.embedded.job import Job
    from minicluster.embedded.job_manager import JobManager
    from minicluster.embedded.jobspec import Resources
    from minicluster.embedded.malleable_jobs import MalleableJobs
    from minicluster.embedded.ports import JSON
    from minicluster.embedded.resource_set import Holding, R


class Allocations:
    """Implements `scheduler.Orders` and `resizing.Orders`."""

    def __init__(self, manager: JobManager) -> None:
        self._manager = manager
        self._parts = manager.parts
        self._launches: list[Job] = []
        self._malleable: MalleableJobs | None = None

    def start(self, job: int, request: Resources, holding: Holding) -> None:
        """The scheduler gave resources: SCHED → RUN."""
        manager, found = self._manager, self._manager.active[job]
        now = self._parts.clock()
        expiration = now + found.duration if found.duration else 0.0
        found.t_run = now
        annotations, encoded = self._allocate(found, holding, request, starttime=now, expiration=expiration)
        if found.elastic is not None:
            found.ntasks = request.workers
            if found.elastic.malleable:
                self.malleable.begin(found, request, holding)
        manager.append(found, "alloc", {"annotations": annotations}, R=encoded)
        manager.enter_run(found)
        self._launches.append(found)
        self.set_timer(found)

    def _allocate(
        self, job: Job, holding: Holding, request: Resources, **times: float
    ) -> tuple[JSON, Encoded]:
        """Let R be what the job holds; return the annotations that say so, and R."""
        job.R = self._parts.scheduler.pool.encode(holding, **times, nslots=request.slots_in_all)
        encoded = Encoded(json.dumps(job.R, separators=(",", ":")))
        self._parts.store.set_resources(job.id, encoded.text)
        annotations = {"sched": {"resource_summary": resource_set.summary(holding)}}
        self._manager.annotate(job, annotations)
        return annotations, encoded

    def resized(self, job: Job, order: int, request: Resources) -> None:
        """A job has another size: its R changes, which the event `resource-update` tells."""
        had: R = (job.R or {})["execution"]
        holding = self._parts.scheduler.pool.holding(job.id)
        times = {key: had[key] for key in ("starttime", "expiration")}
        _, encoded = self._allocate(job, holding, request, **times)
        job.ntasks = request.workers
        has: R = (job.R or {})["execution"]
        update = {key: has[key] for key in ("R_lite", "nodelist", "nslots")}
        context = {"order": order, "size": request.workers, **update}
        self._manager.append(job, "resource-update", context, R=encoded)

    def reserve(self, job: int, at: float) -> None:
        """Tell when a waiting job is expected to start."""
        self._manager.annotate(self._manager.active[job], {"sched": {"t_estimate": at}})

    def grow(self, job: int, more: Holding) -> None:
        """Order a running job to grow."""
        self.malleable.grow(job, more)

    def shrink(self, job: int, workers: int) -> None:
        """Order a running job to give up so many workers."""
        self.malleable.shrink(job, workers)

    @property
    def malleable(self) -> MalleableJobs:
        """Return those who run malleable jobs, loaded when there is the first."""
        if self._malleable is None:
            from minicluster.embedded.malleable_jobs import MalleableJobs  # noqa: PLC0415 - seldom needed

            self._malleable = MalleableJobs(self._manager, self)
            self._manager.on_inactive.append(self._malleable.ended)
        return self._malleable

    def task_ended(self, job: int, task: int) -> None:
        """A task of a malleable job ended."""
        if self._malleable is not None:
            self._malleable.task_ended(job, task)

    def leaving(self, job: Job) -> bool:
        """The job ends. Whether it was to be launched still, which it is not any more."""
        if self._malleable is not None:
            self._malleable.leaving(job)
        if job not in self._launches:
            return False
        self._launches.remove(job)
        return True

    def launch(self) -> None:
        """Have the executor start what got resources, which is stored by now."""
        launches, self._launches = self._launches, []
        for job in launches:
            spec = json.loads(self._parts.store.jobspec(job.id) or "{}")
            malleable = job.elastic is not None and job.elastic.malleable
            credentials = self.malleable.credentials(job) if malleable else None
            self._parts.executor.start(Launch(job.id, spec, job.R or {}, job.userid, credentials))

    def set_timer(self, job: Job) -> None:
        """End the job when its time limit is over."""
        if job.timer is not None:
            job.timer.cancel()
        expire = lambda: self._expire(job)  # noqa: E731
        job.timer = self._manager.call_at(job.expiration, expire) if job.expiration else None

    def _expire(self, job: Job) -> None:
        job.timer = None
        if job.state == State.RUN:
            self._manager.raise_exception(job, "timeout", 0, "resource allocation expired")

    def hosts(self, places: list[Place]) -> list[str]:
        """The host of each place."""
        nodes = self._parts.scheduler.pool.nodes
        return [nodes[place.rank].host for place in places]
