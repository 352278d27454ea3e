"""The allocations of jobs: their R, and their time limits."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, cast

from broker_config.formats import job_sizes, resource_set
from broker_config.formats.job_states import JobState
from minicluster.embedded.services import Encoded
from queue_policies.records import Happened

if TYPE_CHECKING:
    from broker_config.formats.jobspec import RequestedResources
    from broker_config.formats.resource_set import Allocation
    from minicluster.embedded.jobs.job import ActiveJob
    from minicluster.embedded.jobs.job_log import JobLog
    from minicluster.embedded.jobs.lifecycle import JobLifecycle
    from minicluster.embedded.jobs.parts import Parts
    from minicluster.embedded.ports import JSON
    from queue_policies.nodes.records import Slot


class Allocations:
    """Records the resources of jobs, which the scheduler has allocated in its pool."""

    def __init__(self, parts: Parts, log: JobLog, lifecycle: JobLifecycle) -> None:
        self._parts = parts
        self._log = log
        self._lifecycle = lifecycle

    def start(self, job: ActiveJob, request: RequestedResources, allocation: Allocation) -> None:
        """Move a job from SCHED to RUN with its allocation."""
        now = self._parts.clock()
        expiration = now + job.duration if job.duration else 0.0
        annotations, encoded = self._allocate(job, allocation, request, starttime=now, expiration=expiration)
        if job.elastic is not None:
            job.ntasks = request.workers
        job.t_run = self._log.append(job, "alloc", {"annotations": annotations}, R=encoded)
        self._lifecycle.enter_run(job)
        self._set_timer(job)

    def bypass(self, job: ActiveJob) -> None:
        """Move a job from SCHED to RUN with the resources that it has brought along."""
        job.R = job.brought
        encoded = Encoded(json.dumps(job.R, separators=(",", ":")))
        self._parts.store.jobs.set_resources(job.id, encoded.text)
        job.t_run = self._log.append(job, "alloc", {"bypass": True}, R=encoded)
        self._lifecycle.enter_run(job)
        self._set_timer(job)

    def _allocate(
        self, job: ActiveJob, allocation: Allocation, request: RequestedResources, **times: float
    ) -> tuple[JSON, Encoded]:
        """Set the job's R to its allocation; return the annotations for it, and R."""
        job.R = resource_set.encode(self._parts.nodes, allocation, **times, nslots=request.slots_in_all)
        encoded = Encoded(json.dumps(job.R, separators=(",", ":")))
        self._parts.store.jobs.set_resources(job.id, encoded.text)
        shown: JSON = {"resource_summary": resource_set.summary(allocation)}
        if job.elastic is not None:
            least, most, malleable = job.elastic
            shown["elastic"] = {"min": least, "max": most, "malleable": malleable}
        annotations = {"sched": shown}
        self._log.annotate(job, annotations)
        return annotations, encoded

    def resized(self, job: ActiveJob, order: int, request: RequestedResources) -> None:
        """Set the R of a job that was resized, and log the event `resource-update`."""
        times = resource_set.times_of(job.R)
        allocation = self._parts.scheduler.pool.allocation(job.id)
        _, encoded = self._allocate(job, allocation, request, **times._asdict())
        job.ntasks = request.workers
        context = {"order": order, "size": request.workers, **resource_set.update_of(job.R or {})}
        self._log.append(job, "resource-update", context, R=encoded)

    def limit(self, job: ActiveJob, expiration: float) -> None:
        """Set when the time limit of a running job ends it (0: never); log the event `resource-update`."""
        change = {"expiration": expiration}
        job.R = job_sizes.updated(cast("JSON", job.R), change)
        self._parts.store.jobs.set_resources(job.id, json.dumps(job.R, separators=(",", ":")))
        self._log.append(job, "resource-update", change)
        self._set_timer(job)
        scheduler = self._parts.scheduler
        if job.id not in scheduler.running:
            return
        scheduler.running[job.id] = scheduler.running[job.id]._replace(end=expiration or math.inf)
        scheduler.changed(Happened.CLUSTER)

    def _set_timer(self, job: ActiveJob) -> None:
        """End the job when its time limit is over."""
        if job.timer is not None:
            job.timer.cancel()
        expire = lambda: self._expire(job)  # noqa: E731
        job.timer = self._parts.call_at(job.expiration, expire) if job.expiration else None

    def _expire(self, job: ActiveJob) -> None:
        job.timer = None
        if job.state == JobState.RUN:
            self._lifecycle.raise_exception(job, "timeout", 0, "resource allocation expired")

    def host(self, slot: Slot) -> str:
        """Return the host of a worker's slot."""
        return self._parts.nodes[slot.rank].host
