"""The module `minicluster-sched` of real Flux: between the messages of RFC 27 and `Scheduling`.

Whatever goes wrong in a decision, the module stays: one that fails would end the instance. Jobs then wait,
and the reason shows in the log, in their annotations, and in the answer to `minicluster-sched.pending`.
"""

from __future__ import annotations

import errno
import json
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flux.brokermod import request_handler
from flux.scheduler import Scheduler

from minicluster.embedded.errors import RpcError
from minicluster.embedded.resource_set import nodes_of, summary
from minicluster.flux_modules.scheduler import answers
from minicluster.flux_modules.scheduler.choice import chosen
from minicluster.flux_modules.scheduler.errors import WrongArgument
from minicluster.flux_modules.scheduler.resource_pool import RanksPool
from minicluster.flux_modules.scheduler.scheduling import Scheduling, running
from queue_policies.errors import PolicyError
from queue_policies.plugins import load

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.flux_modules.scheduler.scheduling import Started

PAUSE = 1.0
"""Seconds at least between two rounds of annotations."""


@dataclass(slots=True)
class Pending:
    """A request that is open, and what was told about it."""

    request: Any
    said: dict[str, Any] | None = None


class PolicyScheduler(Scheduler):  # type: ignore[misc] # the base is untyped
    """Runs one of our queue policies. Raises PolicyError or WrongArgument where there is no such policy."""

    pool_class = RanksPool
    # How long a decision may be put off to see more of what happens. The base class's second is for such as
    # walk through the whole queue; nodes would be idle meanwhile.
    SCHED_DELAY_MAX = 0.01

    def __init__(self, handle: Any, *arguments: str) -> None:
        super().__init__(handle, *arguments)
        self._pending_args: list[str]  # what the base class does not know
        try:
            choice = chosen(handle.conf_get("minicluster"), self._pending_args)
            self._policy = load(choice.name, choice.settings)
        except (PolicyError, WrongArgument) as error:
            self.log.critical(f"cannot be loaded: {error}")
            raise
        self._pending_args = []
        self._settings = dict(choice.settings)
        self._scheduling: Scheduling | None = None
        self._queue: dict[int, Pending] = {}  # the base class only asks how long it is
        self._waker = handle.timer_watcher_create(0.0, self._on_wake)
        self._annotator = handle.timer_watcher_create(0.0, self._on_annotate)
        self._annotating = False
        self._annotated: set[int] = set()
        self._told_defect = ""
        self._defects = 0
        self.log.info(f"queue policy {choice.name} {self._settings or ''}".rstrip())

    @property
    def scheduling(self) -> Scheduling:
        """What waits, runs and is free; there from the first word of the resource module on."""
        if self._scheduling is None:
            self._scheduling = Scheduling(self._policy, self.resources.ranks)
            self.resources.allocated = self._scheduling.allocated
        return self._scheduling

    def resource_update(self) -> None:
        """Ranks went up, down or away."""
        self.scheduling.follow_ranks()

    def hello(self, jobid: int, priority: int, userid: int, t_submit: float, R: Any) -> None:  # noqa: N803 - its name there
        """A job that runs already. Raises NoRoom where its ranks are gone: it is ended then."""
        self.scheduling.resume(*running(jobid, priority, userid, t_submit, R.to_dict()))

    def alloc(
        self, request: Any, jobid: int, priority: int, userid: int, t_submit: float, jobspec: Any
    ) -> None:
        """A job may start from now on; one that never can is told so."""
        try:
            queued = self.scheduling.queued(jobid, priority, userid, t_submit, jobspec)
            wrong = self.scheduling.infeasible(jobspec)
        except RpcError as error:
            wrong = error.text
        except Exception as error:  # noqa: BLE001 - a jobspec is anybody's text, and this module must stay
            wrong = f"jobspec cannot be read: {type(error).__name__}: {error}"
        if wrong is not None:
            request.deny(wrong)
            return
        self._queue[jobid] = Pending(request)
        self.scheduling.arrive(queued)

    def free(self, jobid: int, R: Any, final: bool = False) -> None:  # noqa: N803 - its name there
        """Resources of a job are free."""
        ranks = None if final else [node.rank for node in nodes_of(R.to_dict())]
        self.scheduling.free(jobid, ranks)

    def cancel(self, jobid: int) -> None:
        """A job must not start any more."""
        pending = self._queue.pop(jobid, None)
        if pending is not None:
            self.scheduling.leave(jobid)
            pending.request.annotate({"sched": {"t_estimate": None, "reason_pending": None}})
            pending.request.cancel()

    def prioritize(self, jobs: Iterable[tuple[int, int]]) -> None:
        """Jobs change their places."""
        for jobid, priority in jobs:
            self.scheduling.prioritize(jobid, priority)

    def expiration(self, msg: Any, jobid: int, expiration: float) -> None:
        """A running job will be ended at another time."""
        self.scheduling.limit(jobid, expiration or math.inf)
        self.handle.respond(msg, None)

    def feasibility_check(self, msg: Any, jobspec: Any) -> None:
        """Whether such a job could run here at all, asked when it is submitted."""
        try:
            wrong = self.scheduling.infeasible(jobspec)
        except RpcError as error:
            self.handle.respond_error(msg, errno.EINVAL, error.text)
        except Exception as error:  # noqa: BLE001 - see alloc
            self.handle.respond_error(msg, errno.EINVAL, f"jobspec cannot be read: {error}")
        else:
            if wrong is None:
                self.handle.respond(msg, None)
            else:
                self.handle.respond_error(msg, errno.EOVERFLOW, wrong)

    def schedule(self) -> None:
        """One decision."""
        try:
            self._decide()
        except Exception as error:  # noqa: BLE001 - see the module's docstring
            self._tell(f"a decision failed: {type(error).__name__}: {error}")

    def _decide(self) -> None:
        decided = self.scheduling.decide(now := time.time())
        for started in decided.starts:
            self._answer(started, now)
        if decided.wake is not None:
            self._waker.reset(after=max(0.0, decided.wake - now))
        self._tell(self.scheduling.defect)
        if self._queue and not self._annotating:
            self._annotating = True
            self._annotator.reset(after=PAUSE)

    def _answer(self, started: Started, now: float) -> None:
        """Give a job what it got."""
        job = started.job
        pending = self._queue.pop(job.id)
        try:
            end = now + job.limit if job.limit < math.inf else self.resources.expiration
            resources = self.resources.ranks.encode(
                started.holding, starttime=now, expiration=end, nslots=started.slots
            )
            pending.request.success(resources, {"sched": {"resource_summary": summary(started.holding)}})
        except Exception as error:  # noqa: BLE001 - the others must have their answers
            self.scheduling.free(job.id)
            pending.request.deny(f"cannot make R: {type(error).__name__}: {error}")

    def _tell(self, defect: str) -> None:
        """Log what is wrong, once."""
        kind = defect.partition("; at ")[0]
        if defect:
            self._defects += 1
        if defect and kind != self._told_defect:
            self.log.error(f"{defect}; jobs wait, and the policy is asked again when something changes")
        self._told_defect = kind

    def _on_wake(self, *_: object) -> None:
        self.scheduling.woken()
        self._request_schedule()

    def _on_annotate(self, *_: object) -> None:
        self._annotating = False
        try:
            self._annotate()
        except Exception as error:  # noqa: BLE001 - see the module's docstring
            self._tell(f"cannot annotate jobs: {type(error).__name__}: {error}")

    def _annotate(self) -> None:
        words = answers.told(self.scheduling)
        for jobid in (words.keys() | self._annotated) & self._queue.keys():
            pending, said = self._queue[jobid], words.get(jobid, answers.NOTHING)
            if said != pending.said:
                pending.said = said
                pending.request.annotate({"sched": said})
        self._annotated = set(words)

    def stats_get(self) -> dict[str, Any]:
        """Return the base class's numbers and which policy decides."""
        own = {"policy": self._policy.name, "settings": self._settings, "defects": self._defects}
        return {**super().stats_get(), **own}

    @request_handler("pending")  # type: ignore[untyped-decorator]
    def _handle_pending(self, msg: Any) -> None:
        """Answer what waits and why: `{}`, `{"limit": 10}` or `{"id": "ƒ…"}`."""
        try:
            answer = answers.pending(self.scheduling, json.loads(msg.payload_str or "{}"))
        except WrongArgument as error:
            self.handle.respond_error(msg, errno.EINVAL, str(error))
        except Exception as error:  # noqa: BLE001 - see the module's docstring
            self.handle.respond_error(msg, errno.EINVAL, f"{type(error).__name__}: {error}")
        else:
            self.handle.respond(msg, answer)


def mod_main(handle: Any, *arguments: str) -> None:
    """Run until the broker unloads the module."""
    PolicyScheduler(handle, *arguments).run()
