"""The module `minicluster-sched` of real Flux: between the messages of RFC 27 and `Scheduling`.

Whatever goes wrong in a decision, the module stays: one that fails would end the instance. Jobs then wait,
and the reason shows in the log, in their annotations, and in the answer to `minicluster-sched.pending`.
"""

from __future__ import annotations

import errno
import json
import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flux.brokermod import request_handler
from flux.scheduler import Scheduler

from minicluster.embedded.endpoints import lead_host
from minicluster.embedded.errors import RpcError
from minicluster.embedded.resource_set import nodes_of, summary
from minicluster.flux_modules.scheduler import answers
from minicluster.flux_modules.scheduler.choice import chosen, order_timeout
from minicluster.flux_modules.scheduler.companion_jobspec import Companion, companion_of, with_credentials
from minicluster.flux_modules.scheduler.companions import Companions
from minicluster.flux_modules.scheduler.errors import WrongArgument
from minicluster.flux_modules.scheduler.flux_jobs import FluxJobs
from minicluster.flux_modules.scheduler.listener import Listener
from minicluster.flux_modules.scheduler.resource_pool import RanksPool
from minicluster.flux_modules.scheduler.scheduling import Scheduling, running
from queue_policies.errors import PolicyError
from queue_policies.plugins import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from minicluster.flux_modules.scheduler.scheduling import Started

SHELL_PLUGIN = "minicluster-malleable.lua"
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
            config = handle.conf_get("minicluster")
            choice = chosen(config, self._pending_args)
            self._policy = load(choice.name, choice.settings)
            self._limit = order_timeout(config)
        except (PolicyError, WrongArgument) as error:
            self.log.critical(f"cannot be loaded: {error}")
            raise
        self._pending_args = []
        self._settings = dict(choice.settings)
        self._scheduling: Scheduling | None = None
        self._companions: Companions | None = None
        shells = handle.attr_get("conf.shell_initrc") or ""
        # Only then programs of malleable jobs hear where the scheduler listens, see malleable.lua.
        told = (Path(shells).parent / "lua.d" / SHELL_PLUGIN).exists()
        self._owner = os.getuid() if told else None
        self._before: set[int] = set()  # jobs that ran before, of which it is asked what they are
        self._jobs = FluxJobs(handle, self._guarded, self._request_schedule, self.log.debug)
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
            self._scheduling = Scheduling(self._policy, self.resources.ranks, self._owner)
            self.resources.allocated = self._scheduling.allocated
        return self._scheduling

    @property
    def companions(self) -> Companions:
        """The malleable jobs; programs reach them by the listener."""
        if self._companions is None:
            ranks = self.resources.ranks
            self._companions = Companions(
                self._jobs, self.scheduling, lambda rank: ranks.nodes[rank].host, self._limit
            )
            host = lead_host({"bootstrap": self.handle.conf_get("bootstrap") or {}})
            self._jobs.listener = Listener(self.handle, host, self._companions, self._guarded)
        return self._companions

    def _guarded(self, call: Callable[[], None]) -> None:
        """Call what a malleable job is about; this module survives it."""
        try:
            call()
        except Exception as error:  # noqa: BLE001 - see the module's docstring
            self.log.warning(f"malleable jobs: {type(error).__name__}: {error}")

    def _request_schedule(self) -> None:
        """The base class decides while jobs wait; here what runs may be resized besides."""
        if self._queue or self._scheduling is None or not self._scheduling.malleable:
            super()._request_schedule()
        else:
            self.start_schedule()

    def resource_update(self) -> None:
        """Ranks went up, down or away."""
        self.scheduling.follow_ranks()

    def hello(self, jobid: int, priority: int, userid: int, t_submit: float, R: Any) -> None:  # noqa: N803 - its name there
        """A job that runs already. Raises NoRoom where its ranks are gone: it is ended then."""
        self.scheduling.resume(*running(jobid, priority, userid, t_submit, R.to_dict()))
        self._before.add(jobid)
        self._jobs.look_up(jobid, lambda jobspec: self._looked_up(jobid, jobspec))

    def _looked_up(self, jobid: int, jobspec: dict[str, Any] | None) -> None:
        """Of a job that ran before: whether it is a companion."""
        if jobid in self._before:
            self._before.discard(jobid)
            whose = None if jobspec is None else companion_of(jobspec)
            if whose is not None:
                self.companions.adopt({jobid: whose.of}, self.scheduling.running)

    def alloc(
        self, request: Any, jobid: int, priority: int, userid: int, t_submit: float, jobspec: Any
    ) -> None:
        """A job may start from now on; one that never can is told so."""
        whose = companion_of(jobspec)
        if whose is not None and userid == self._owner:
            try:
                self._place(request, jobid, whose)
            except Exception as error:  # noqa: BLE001 - see the module's docstring
                self._ended(jobid)
                request.deny(f"cannot be placed: {type(error).__name__}: {error}")
            return
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

    def _place(self, request: Any, jobid: int, whose: Companion) -> None:
        """Give a companion what is held for it."""
        claimed = self.companions.claim(jobid, whose)
        if isinstance(claimed, str):
            request.deny(claimed)
            return
        holding, credentials = claimed
        resources = self.resources.ranks.encode(holding, starttime=time.time(), expiration=0.0, nslots=1)
        shown = {"resource_summary": summary(holding), "companion_of": whose.of}
        request.success(with_credentials(resources, credentials), {"sched": shown})

    def free(self, jobid: int, R: Any, final: bool = False) -> None:  # noqa: N803 - its name there
        """Resources of a job are free."""
        if final and self._ended(jobid):
            return
        ranks = None if final else [node.rank for node in nodes_of(R.to_dict())]
        self.scheduling.free(jobid, ranks)

    def _ended(self, jobid: int) -> bool:
        """Tell of a job's end; whether what it held is its base job's."""
        self._before.discard(jobid)
        try:
            return self._companions is not None and self._companions.ended(jobid)
        except Exception as error:  # noqa: BLE001 - see the module's docstring
            self.log.warning(f"malleable jobs: {type(error).__name__}: {error}")
            return False

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
            if job.elastic is not None and job.elastic.malleable:
                resources = with_credentials(
                    resources, self.companions.begin(job.id, started.holding, started.more)
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
