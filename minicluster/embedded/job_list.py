"""Listing jobs: the attributes of Flux's job-list, and the constraints by which jobs are chosen (RFC 31)."""

from __future__ import annotations

import asyncio
import errno
import json
import operator
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

from broker_config import hostlist, idset
from broker_config.errors import ParseError
from minicluster.embedded import resource_set
from minicluster.embedded.errors import RpcError
from minicluster.embedded.job import Job, Result, State

if TYPE_CHECKING:
    from minicluster.embedded.job_manager import JobManager
    from minicluster.embedded.services import Request

JSON = dict[str, Any]
Match = Callable[[JSON], bool]
_TIMES = ("t_submit", "t_depend", "t_priority", "t_sched", "t_run", "t_cleanup", "t_inactive")
# fmt: off
ATTRIBUTES = [
    "userid", "urgency", "priority", "t_submit", "t_depend", "t_priority", "t_sched", "t_run", "t_cleanup",
    "t_inactive", "state", "name", "cwd", "queue", "project", "bank", "ntasks", "ncores", "duration",
    "nnodes", "ranks", "nodelist", "success", "exception_occurred", "exception_severity", "exception_type",
    "exception_note", "result", "expiration", "annotations", "waitstatus", "dependencies",
]
# fmt: on
_YIELD_EVERY = 500  # jobs are looked at before others are served
_RELATIONS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


def attributes(job: Job) -> JSON:
    """Everything that listings can show of a job; what is not known of it is absent."""
    shown: JSON = {"id": job.id, "userid": job.userid, "urgency": job.urgency}
    if job.priority is not None:
        shown["priority"] = job.priority
    shown |= {name: value for name in _TIMES if (value := getattr(job, name))}
    shown |= {"state": int(job.state), "name": job.name}
    shown |= {name: value for name in ("cwd", "queue") if (value := getattr(job, name)) is not None}
    shown |= job.extra or {}
    shown |= {"ntasks": job.ntasks, "duration": job.duration, **_size(job)}
    if job.state == State.INACTIVE:
        shown |= _ending(job)
    elif job.exception is not None:
        shown |= _exception(job)
    if job.annotations and (job.R is not None or job.state == State.SCHED):
        shown["annotations"] = job.annotations
    if job.status is not None:
        shown["waitstatus"] = job.status
    if job.dependencies:
        shown["dependencies"] = job.dependencies
    return shown


def _size(job: Job) -> JSON:
    """Before the allocation what is asked for; afterwards what it has."""
    if job.R is not None:
        execution = job.R["execution"]
        ranks = sorted(resource_set.holding_of(job.R))
        text = idset.encode(ranks)
        return {
            "ncores": resource_set.cores_of(job.R),
            "nnodes": len(ranks),
            "ranks": text if text.isdigit() else f"[{text}]",
            "nodelist": ",".join(execution["nodelist"]),
            "expiration": execution["expiration"],
        }
    asked = job.resources
    shown: JSON = {} if asked.exclusive else {"ncores": asked.size}
    if asked.nodes:
        shown["nnodes"] = asked.nodes
    return shown


def _ending(job: Job) -> JSON:
    return {"success": job.result == Result.COMPLETED, "result": int(job.result), **_exception(job)}


def _exception(job: Job) -> JSON:
    if job.exception is None:
        return {"exception_occurred": False}
    kind, severity, note = job.exception
    return {
        "exception_occurred": True,
        "exception_type": kind,
        "exception_severity": severity,
        "exception_note": note,
    }


class JobList:
    """Answers job-list.* from the active jobs and, for inactive ones, from the store."""

    def __init__(self, manager: JobManager) -> None:
        self._manager = manager

    async def list(self, request: Request) -> AsyncIterator[JSON]:
        """job-list.list, some jobs an answer: pending by priority, running and inactive the latest first."""
        payload = request.payload
        most = _entries(payload)
        wanted = _wanted(request.need("attrs", list), errno.EINVAL)
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
        pending = [job for job in jobs if job.state in State.PENDING]
        pending.sort(key=lambda job: (-(job.priority if job.priority is not None else -1), job.id))
        running = [job for job in jobs if job.state in State.RUNNING]
        running.sort(key=lambda job: (-job.t_run, -job.id))
        for job in (*pending, *running):
            if job.id in self._manager.active:
                yield attributes(job)
        for _, info in self._manager.parts.store.inactive(since):
            yield json.loads(info)

    async def list_id(self, request: Request) -> JSON:
        """job-list.list-id: one job, waiting for a state where one is asked for."""
        jobid = request.need("id", int)
        wanted = _wanted(request.need("attrs", list), errno.EINVAL)
        state = request.payload.get("state")
        while True:
            shown = self.find(jobid)
            if shown is None:
                raise RpcError(errno.ENOENT)
            if state is None or shown["state"] >= state:
                return {"job": _chosen(shown, wanted)}
            await self._manager.watchers.changed(jobid)

    def find(self, jobid: int) -> JSON | None:
        """What is shown of a job, None where there is none of this id."""
        job = self._manager.active.get(jobid)
        if job is not None:
            return attributes(job)
        info = self._manager.parts.store.info(jobid)
        return json.loads(info) if info else None

    def stats(self, _request: Request) -> JSON:
        """job-list.job-stats."""
        return self._manager.stats.encode()


def _entries(payload: Any) -> int:
    most = payload.get("max_entries", 0)
    if not isinstance(most, int) or most < 0:
        raise RpcError(errno.EPROTO, "invalid payload: max_entries < 0 not allowed")
    return most


def _wanted(names: list[str], errnum: int) -> list[str]:
    if "all" in names:
        return ATTRIBUTES
    for name in names:
        if name not in ATTRIBUTES:
            raise RpcError(errnum, f"{name} is not a valid attribute")
    return names


def _chosen(shown: JSON, wanted: list[str]) -> JSON:
    return {"id": shown["id"], **{name: shown[name] for name in wanted if name in shown}}


def compile_constraint(constraint: Any) -> Match:
    """A predicate over shown jobs. Raises RpcError with Flux's words where the constraint is wrong."""
    if not isinstance(constraint, dict):
        raise _invalid("constraint must be JSON object")
    if not constraint:
        return lambda _job: True
    if len(constraint) > 1:
        raise _invalid("constraint must only contain 1 element")
    ((name, values),) = constraint.items()
    if not isinstance(values, list):
        raise _invalid(f"operator {name} values not an array")
    if name in ("and", "or", "not"):
        return _combined(name, [compile_constraint(value) for value in values])
    if name in _TIMES:
        return _time(name, values)
    maker = _MAKERS.get(name)
    if maker is None:
        raise _invalid(f"unknown constraint operator: {name}")
    return maker(name, values)


def _invalid(reason: str) -> RpcError:
    return RpcError(errno.EPROTO, f"invalid payload: constraint object invalid: {reason}")


def _combined(name: str, parts: list[Match]) -> Match:
    if name == "or":
        return lambda job: not parts or any(part(job) for part in parts)
    if name == "and":
        return lambda job: all(part(job) for part in parts)
    return lambda job: not all(part(job) for part in parts)


def _strings(name: str, values: list[Any]) -> Match:
    if not all(isinstance(value, str) for value in values):
        raise _invalid(f"{name} value must be a string")
    return lambda job: job.get(name) in values


def _userids(_name: str, values: list[Any]) -> Match:
    if not all(isinstance(value, int) for value in values):
        raise _invalid("userid value must be an integer")
    return lambda job: job["userid"] in values or any(value in (-1, 0xFFFFFFFF) for value in values)


def _bits(kind: type[State | Result], key: str) -> Callable[[str, list[Any]], Match]:
    def make(name: str, values: list[Any]) -> Match:
        mask = 0
        for value in values:
            if isinstance(value, str) and value.upper() in kind.__members__:
                mask |= int(kind[value.upper()])
            elif isinstance(value, int) and not isinstance(value, bool):
                mask |= value
            else:
                raise _invalid(f"invalid {name} value '{value}' specified")
        return lambda job: bool(job.get(key, 0) & mask)

    return make


def _hosts(_name: str, values: list[Any]) -> Match:
    try:
        hosts = {host for value in values for host in hostlist.decode(value)}
    except (ParseError, TypeError, AttributeError):
        raise _invalid("host value not in valid Hostlist format") from None
    return lambda job: not hosts.isdisjoint(hostlist.decode(job.get("nodelist", "")))


def _ranks(_name: str, values: list[Any]) -> Match:
    ranks: set[int] = set()
    for value in values:
        try:
            ranks.update(idset.decode(value))
        except (ParseError, AttributeError) as error:
            raise _invalid(f"ranks value '{value}': {error}") from None
    return lambda job: not ranks.isdisjoint(idset.decode(job.get("ranks", "")))


def _time(name: str, values: list[Any]) -> Match:
    if not values:
        raise _invalid("timestamp value not specified")
    if not isinstance(values[0], str):
        raise _invalid(f"{name} value must be a string")
    relation = next((sign for sign in _RELATIONS if values[0].startswith(sign)), None)
    if relation is None:
        raise _invalid("timestamp comparison operator not specified")
    try:
        bound = float(values[0].removeprefix(relation))
    except ValueError:
        raise _invalid("Invalid timestamp value specified") from None
    compare = _RELATIONS[relation]
    return lambda job: name in job and compare(job[name], bound)


_MAKERS: dict[str, Callable[[str, list[Any]], Match]] = {
    "userid": _userids,
    "name": _strings,
    "queue": _strings,
    "states": _bits(State, "state"),
    "results": _bits(Result, "result"),
    "hostlist": _hosts,
    "ranks": _ranks,
}
