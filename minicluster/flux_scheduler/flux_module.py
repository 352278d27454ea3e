"""The module `minicluster-sched` of real Flux: translates between the messages of RFC 27 and `Scheduling`.

An error in a decision must not end the module, as that would end the instance. Jobs then wait, and the reason
is in the log, in their annotations, and in the answer to `minicluster-sched.pending`.
"""

from __future__ import annotations

import errno
import json
import math
from functools import partial
from typing import TYPE_CHECKING, Any

from flux.brokermod import request_handler
from flux.scheduler import Scheduler as FluxScheduler

from broker_config.formats.errors import JobspecError
from broker_config.formats.jobspec import companion_of
from broker_config.formats.resource_set import ranks_of
from minicluster.flux_scheduler import replies, resize_request
from minicluster.flux_scheduler.choice import check_sharing, chosen, order_timeout
from minicluster.flux_scheduler.decision_round import DecisionRound
from minicluster.flux_scheduler.defect_log import DefectLog
from minicluster.flux_scheduler.errors import WrongArgument
from minicluster.flux_scheduler.job_allocations import running
from minicluster.flux_scheduler.malleable_side import MalleableSide, owner_of
from minicluster.flux_scheduler.open_requests import OpenRequests
from minicluster.flux_scheduler.placement_side import PlacementSide
from minicluster.flux_scheduler.resource_pool import RanksPool
from minicluster.flux_scheduler.scheduling import Scheduling
from queue_policies.errors import OrderRefused, PolicyError, TaskAttributeError
from queue_policies.plugins import load

if TYPE_CHECKING:
    from collections.abc import Iterable


class PolicyScheduler(FluxScheduler):  # type: ignore[misc] # the base is untyped
    """Runs one of our queue policies. Raises PolicyError or WrongArgument if it cannot be loaded."""

    pool_class = RanksPool
    # Seconds for which a decision may be delayed to include more events. The base class waits 1 s, for
    # schedulers that go through the whole queue; nodes would be idle meanwhile.
    SCHED_DELAY_MAX = 0.01

    def __init__(self, handle: Any, *arguments: str) -> None:
        super().__init__(handle, *arguments)
        self._pending_args: list[str]  # those that the base class does not know
        try:
            config = handle.conf_get("minicluster")
            choice = chosen(config, self._pending_args)
            self._policy = load(choice.name, choice.settings, self.log.warning)
            self._cores = PlacementSide(
                handle, self.log, lambda: self.scheduling, lambda: self.resources, self._request_schedule
            )
            check_sharing(self._policy)
            limit = order_timeout(config)
        except (PolicyError, WrongArgument) as error:
            self.log.critical(f"cannot be loaded: {error}")
            raise
        self._pending_args = []
        self._settings = dict(choice.settings)
        self._scheduling: Scheduling | None = None
        self._owner = owner_of(handle)
        self._malleable = MalleableSide(
            handle, self.log, lambda: self.scheduling, limit, self._request_schedule
        )
        self._defects = DefectLog(self.log.error)
        # The base class calls nothing of it but its length.
        self._queue = OpenRequests(handle, lambda: self.scheduling, self._defects.report)
        self._round = DecisionRound(
            handle,
            lambda: self.scheduling,
            self._queue,
            self._malleable,
            self._cores,
            self._defects,
            self._request_schedule,
        )
        self.log.info(f"queue policy {choice.name} {self._settings or ''}".rstrip())

    @property
    def scheduling(self) -> Scheduling:
        """The pending and running jobs and the free resources, after the resource module's first message."""
        if self._scheduling is None:
            self._scheduling = Scheduling(
                self._policy, self.resources.ranks, self._owner, self._cores.placement
            )
            self.resources.allocated = self._scheduling.allocations.allocated
        return self._scheduling

    def _request_schedule(self) -> None:
        """Schedule a decision also when no job waits, as running jobs may be resized."""
        if self._queue or self._scheduling is None or not self._scheduling.malleable:
            super()._request_schedule()
        else:
            self.start_schedule()

    def resource_update(self) -> None:
        """Follow ranks that went up or down, or left."""
        self.scheduling.allocations.follow_ranks()
        self._cores.follow_ranks()

    def hello(self, jobid: int, priority: int, userid: int, t_submit: float, R: Any) -> None:  # noqa: N803 - its name there
        """Take over a job that runs already. Raises NoRoom if its ranks are gone; Flux ends it then."""
        self.scheduling.allocations.resume(*running(jobid, priority, userid, t_submit, R.to_dict()))
        self._malleable.hello(jobid)

    def alloc(
        self, request: Any, jobid: int, priority: int, userid: int, t_submit: float, jobspec: Any
    ) -> None:
        """Queue a job that may start from now on; deny one that never can."""
        whose = companion_of(jobspec)
        if whose is not None and userid == self._owner:
            self._malleable.allocate(request, jobid, whose)
            return
        try:
            queued = self.scheduling.queued(jobid, priority, userid, t_submit, jobspec)
            wrong = self.scheduling.infeasible(jobspec)
        except (JobspecError, TaskAttributeError) as error:
            wrong = str(error)
        except Exception as error:  # noqa: BLE001 - a user wrote the jobspec, and the module must stay
            wrong = f"jobspec cannot be read: {type(error).__name__}: {error}"
        if wrong is not None:
            request.deny(wrong)
            return
        self._queue.add(jobid, request)
        self.scheduling.arrive(queued)

    def free(self, jobid: int, R: Any, final: bool = False) -> None:  # noqa: N803 - its name there
        """Release resources of a job; with `final` it has ended."""
        if final and self._malleable.ended(jobid):
            return
        ranks = None if final else list(ranks_of(R.to_dict()))
        self.scheduling.allocations.free(jobid, ranks)

    def cancel(self, jobid: int) -> None:
        """Remove a pending job, which must not start any more."""
        if jobid in self._queue:
            request = self._queue.take(jobid)
            self.scheduling.leave(jobid)
            request.annotate({"sched": replies.NOTHING})
            request.cancel()

    def prioritize(self, jobs: Iterable[tuple[int, int]]) -> None:
        """Change jobs' priorities, which order the queue."""
        for jobid, priority in jobs:
            self.scheduling.prioritize(jobid, priority)

    def expiration(self, msg: Any, jobid: int, expiration: float) -> None:
        """Change the time at which a running job will be ended."""
        self.scheduling.allocations.limit(jobid, expiration or math.inf)
        self.handle.respond(msg, None)

    def feasibility_check(self, msg: Any, jobspec: Any) -> None:
        """Answer whether such a job can ever run here, before it is submitted."""
        try:
            wrong = self.scheduling.infeasible(jobspec)
        except (JobspecError, TaskAttributeError) as error:
            self.handle.respond_error(msg, errno.EINVAL, str(error))
        except Exception as error:  # noqa: BLE001 - see alloc
            self.handle.respond_error(msg, errno.EINVAL, f"jobspec cannot be read: {error}")
        else:
            if wrong is None:
                self.handle.respond(msg, None)
            else:
                self.handle.respond_error(msg, errno.EOVERFLOW, wrong)

    def schedule(self) -> None:
        """Make one decision."""
        self._round.run()

    def stats_get(self) -> dict[str, Any]:
        """Return the base class's statistics, and which policy decides."""
        own = {"policy": self._policy.name, "settings": self._settings, "defects": self._defects.count}
        return {**super().stats_get(), **own, **self._cores.stats()}

    @request_handler("pending")  # type: ignore[untyped-decorator]
    def _handle_pending(self, msg: Any) -> None:
        """Answer which jobs wait and why: `{}`, `{"limit": 10}` or `{"id": "ƒ…"}`."""
        try:
            answer = replies.pending(self.scheduling, json.loads(msg.payload_str or "{}"))
        except WrongArgument as error:
            self.handle.respond_error(msg, errno.EINVAL, str(error))
        except Exception as error:  # noqa: BLE001 - see the module's docstring
            self.handle.respond_error(msg, errno.EINVAL, f"{type(error).__name__}: {error}")
        else:
            self.handle.respond(msg, answer)

    @request_handler("resize")  # type: ignore[untyped-decorator]
    def _handle_resize(self, msg: Any) -> None:
        """Order a running job to have a number of workers; see `resize_request`."""
        refuse = partial(self.handle.respond_error, msg)
        try:
            asked = resize_request.parse(json.loads(msg.payload_str or "{}"))
            resize_request.serve(asked, self._malleable.resize, partial(self.handle.respond, msg), refuse)
        except (WrongArgument, OrderRefused) as error:
            refuse(errno.EINVAL, str(error))
        except Exception as error:  # noqa: BLE001 - see the module's docstring
            refuse(errno.EINVAL, f"{type(error).__name__}: {error}")


def mod_main(handle: Any, *arguments: str) -> None:
    """Run until the broker unloads the module."""
    PolicyScheduler(handle, *arguments).run()
