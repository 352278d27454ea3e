"""One round of the scheduler's module: a decision is made, and jobs get their answers."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from broker_config.formats.resource_set import summary
from minicluster.flux_scheduler import replies

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.flux_scheduler.defect_log import DefectLog
    from minicluster.flux_scheduler.malleable_side import MalleableSide
    from minicluster.flux_scheduler.open_requests import OpenRequests
    from minicluster.flux_scheduler.placement_side import PlacementSide
    from minicluster.flux_scheduler.scheduling import Scheduling, StartedJob


class DecisionRound:
    """Makes decisions, also at the time for which the policy asks."""

    def __init__(
        self,
        handle: Any,
        scheduling: Callable[[], Scheduling],
        requests: OpenRequests,
        malleable: MalleableSide,
        cores: PlacementSide,
        defects: DefectLog,
        schedule_decision: Callable[[], None],
    ) -> None:
        self._scheduling = scheduling
        self._requests = requests
        self._malleable = malleable
        self._cores = cores
        self._defects = defects
        self._schedule_decision = schedule_decision
        self._waker = handle.timer_watcher_create(0.0, self._on_wake)

    def run(self) -> None:
        """Make one decision; an error is logged, as it must not end the module."""
        try:
            self._decide()
        except Exception as error:  # noqa: BLE001 - one that fails would end the instance
            self._defects.report(f"a decision failed: {type(error).__name__}: {error}")

    def _decide(self) -> None:
        scheduling = self._scheduling()
        decision = scheduling.decide(now := time.time())
        self._malleable.order(decision.orders)
        for started in decision.starts:
            self._answer(started, now)
        if decision.wake is not None:
            self._waker.reset(after=max(0.0, decision.wake - now))
        self._defects.report(scheduling.defect)
        self._requests.schedule_annotation()

    def _answer(self, started: StartedJob, now: float) -> None:
        """Answer the request of a job that starts."""
        job = started.job
        request = self._requests.take(job.id)
        try:
            resources = self._cores.resources_of(started, now)
            if job.elastic is not None and job.elastic.malleable:
                resources = self._malleable.begin(started, resources)
            shown = {"resource_summary": summary(started.allocation), **replies.elastic_of(job)}
            request.success(resources, {"sched": shown})
        except Exception as error:  # noqa: BLE001 - the others must have their answers
            self._scheduling().allocations.free(job.id)
            request.deny(f"cannot make R: {type(error).__name__}: {error}")

    def _on_wake(self, *_: object) -> None:
        self._scheduling().woken()
        self._schedule_decision()
