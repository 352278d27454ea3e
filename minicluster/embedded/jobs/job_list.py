"""Listing jobs, by the attributes of Flux's job-list and the constraints of RFC 31."""

from __future__ import annotations

import asyncio
import errno
import json
import operator
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any

from broker_config.formats.job_states import JobState
from minicluster.embedded.errors import RpcError
from minicluster.embedded.jobs.job_attributes import attributes

if TYPE_CHECKING:
    from minicluster.embedded.jobs.job_manager import JobManager
    from minicluster.embedded.services import RpcRequest

JSON = dict[str, Any]
Match = Callable[[JSON], bool]
# fmt: off
ATTRIBUTES = [
    "userid", "urgency", "priority", "t_submit", "t_depend", "t_priority", "t_sched", "t_run", "t_cleanup",
    "t_inactive", "state", "name", "cwd", "queue", "ntasks", "ncores", "duration",
    "nnodes", "ranks", "nodelist", "success", "exception_occurred", "exception_severity", "exception_type",
    "exception_note", "result", "expiration", "annotations", "waitstatus", "dependencies",
]
# fmt: on
TIMES = ("t_submit", "t_depend", "t_priority", "t_sched", "t_run", "t_cleanup", "t_inactive")
_BOUND = re.compile(r"([<>]=?)([0-9].*)")
_COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_SLICE = re.compile(r"\[(-?\d+)?:(-?\d+)?(?::(-?\d+)?)?\]")
_YIELD_EVERY = 500  # jobs, after which the loop serves other requests


class JobList:
    """Answers job-list.* from the active jobs and, for inactive ones, from the store."""

    def __init__(self, manager: JobManager) -> None:
        self._manager = manager

    async def list(self, request: RpcRequest) -> AsyncIterator[JSON]:
        """job-list.list, some jobs in each answer: pending by priority, running and inactive latest first."""
        payload = request.payload
        most = payload.get("max_entries", 0)
        wanted = _wanted(request)
        match = compile_constraint(payload.get("constraint") or {})
        since = payload.get("since") or 0.0
        found: list[JSON] = []
        count = 0
        for number, shown in enumerate(self._all(float(since)), 1):
            if match(shown):
                found.append(_chosen(shown, wanted))
                count += 1
            if count == most > 0:
                break
            if number % _YIELD_EVERY == 0:
                yield {"jobs": found}
                found = []
                await asyncio.sleep(0)
        yield {"jobs": found}

    def _all(self, since: float) -> Iterator[JSON]:
        jobs = tuple(self._manager.active.values())
        pending = [job for job in jobs if job.state in JobState.PENDING]
        pending.sort(key=lambda job: (-(job.priority if job.priority is not None else -1), job.id))
        running = [job for job in jobs if job.state in JobState.RUNNING]
        running.sort(key=lambda job: (-job.t_run, -job.id))
        for job in (*pending, *running):
            if job.id in self._manager.active:
                yield attributes(job)
        for _, info in self._manager.parts.store.jobs.inactive(since):
            yield json.loads(info)

    async def list_id(self, request: RpcRequest) -> JSON:
        """job-list.list-id: one job, once it has the requested state, if any."""
        jobid = request.need("id", int)
        wanted = _wanted(request)
        state = request.payload.get("state")
        while True:
            shown = self.find(jobid)
            if shown is None:
                raise RpcError(errno.ENOENT)
            if state is None or shown["state"] >= state:
                return {"job": _chosen(shown, wanted)}
            await self._manager.watchers.changed(jobid)

    def find(self, jobid: int) -> JSON | None:
        """Return the attributes of a job, None where there is none with this id."""
        job = self._manager.active.get(jobid)
        if job is not None:
            return attributes(job)
        info = self._manager.parts.store.jobs.info(jobid)
        return json.loads(info) if info else None

    def history(self, request: RpcRequest) -> JSON:
        """job-manager.history.get: the ids in a slice, as of Python, of all jobs, the latest first."""
        found = _SLICE.fullmatch(request.need("slice", str))
        bounds = [int(text) if text else None for text in found.groups()] if found else [None, None, 0]
        if bounds[2] == 0:
            raise RpcError(errno.EINVAL, "could not parse python-style slice expression")
        return {"jobs": list(self._manager.parts.store.jobs.ids())[::-1][slice(*bounds)]}

    def stats(self, _request: RpcRequest) -> JSON | Awaitable[JSON]:
        """job-list.job-stats; readers of the journal receive the events that it counts before it."""
        return self._later_stats() if self._manager.watchers.flush() else self._manager.stats.encode()

    async def _later_stats(self) -> JSON:
        await asyncio.sleep(0)
        return self._manager.stats.encode()


def _wanted(request: RpcRequest) -> list[str]:
    names: list[str] = request.need("attrs", list)
    for name in names:
        if name not in (*ATTRIBUTES, "all"):
            raise RpcError(errno.EINVAL, f"{name} is not a valid attribute")
    return ATTRIBUTES if "all" in names else names


def _chosen(shown: JSON, wanted: list[str]) -> JSON:
    return {"id": shown["id"], **{name: shown[name] for name in wanted if name in shown}}


def _timed(name: str, bound: str) -> Match:
    """Return a predicate of a bound like `>=1700000000.5`. Raises ValueError, TypeError."""
    found = _BOUND.fullmatch(bound)
    if found is None:
        raise ValueError(bound)
    compare, limit = _COMPARISONS[found[1]], float(found[2])
    return lambda job: name in job and compare(job[name], limit)


def compile_constraint(constraint: Any) -> Match:
    """Return a predicate over jobs' attributes. Raises RpcError where the constraint is malformed."""
    if constraint == {}:
        return lambda _job: True
    try:
        ((name, values),) = constraint.items()
        if name in ("and", "or"):
            parts = [compile_constraint(value) for value in values]
            join = all if name == "and" or not parts else any
            return lambda job: join(part(job) for part in parts)
        if name in ("states", "results"):
            mask, key = reduce(operator.or_, map(int, values)), name.removesuffix("s")
            return lambda job: bool(job.get(key, 0) & mask)
        if name in ("userid", "name", "queue"):
            chosen = frozenset(values)
            return lambda job: job.get(name) in chosen
        if name in TIMES:
            return _timed(name, values[0])
    except (AttributeError, IndexError, TypeError, ValueError):
        pass
    raise RpcError(errno.EPROTO, f"invalid payload: constraint object invalid: {constraint}")
