"""Dependencies between jobs, with Flux's rules for when one is satisfied or never can be.

A target that never got resources satisfies `afterany` only.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from minicluster.embedded import jobid
from minicluster.embedded.errors import RpcError
from minicluster.embedded.job import Job, Result, State

_KINDS = {
    "after": "after-start",
    "afterstart": "after-start",
    "afterok": "after-success",
    "afterany": "after-finish",
    "afternotok": "after-failure",
    "afterexcept": "after-except",
}
Timer = Callable[[float, Callable[[], None]], Any]
"""call_at(wall time, function): a loop's timer."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is known of the job that another one waits for."""

    allocated: bool
    started: bool
    ended: bool
    result: Result
    excepted: bool

    @staticmethod
    def of(job: Job) -> Target:
        """An active job."""
        excepted = job.exception is not None and job.exception[1] == 0
        return Target(job.R is not None, job.started, job.state == State.INACTIVE, job.result, excepted)

    @staticmethod
    def ended_as(info: Mapping[str, Any]) -> Target:
        """An inactive job, by what listings show of it."""
        fatal = info.get("exception_severity") == 0
        return Target("t_run" in info, "waitstatus" in info, True, Result(info["result"]), fatal)


@dataclass(frozen=True, slots=True)
class _Waiter:
    job: int
    description: str


class Dependencies:
    """Who waits for whom."""

    def __init__(
        self,
        find: Callable[[int], Target | None],
        satisfied: Callable[[int, str], None],
        impossible: Callable[[int, str], None],
        call_at: Timer,
    ) -> None:
        self._find = find
        self._satisfied = satisfied
        self._impossible = impossible
        self._call_at = call_at
        self._waiting: dict[int, list[_Waiter]] = {}

    def describe(self, wanted: tuple[tuple[str, str], ...]) -> list[tuple[str, bool]]:
        """Each dependency's description, and whether it is satisfied already.

        Raises RpcError where one is malformed or can never be satisfied; nothing is kept then.
        """
        return [self._describe(scheme, value) for scheme, value in wanted]

    def _describe(self, scheme: str, value: str) -> tuple[str, bool]:
        if scheme == "begin-time":
            return f"begin-time={_begin_time(value):.3f}", False
        if scheme not in _KINDS:
            raise RpcError(errno.EINVAL, f'dependency scheme "{scheme}" not supported')
        target = self._find(_target(scheme, value))
        if target is None:
            raise RpcError(errno.EINVAL, f"dependency: {scheme}: id {value}: job not found")
        if target.ended:
            _check_ended(_KINDS[scheme], target, value)
            return f"{_KINDS[scheme]}={value}", True
        return f"{_KINDS[scheme]}={value}", _KINDS[scheme] == "after-start" and target.started

    def wait(self, job: int, description: str) -> None:
        """The job waits for this description, which is not satisfied yet (or was not, before a restart)."""
        kind, _, value = description.partition("=")
        if kind == "begin-time":
            self._call_at(float(value), lambda: self._satisfied(job, description))
            return
        target = self._find(jobid.parse(value))
        if target is None:
            self._impossible(job, f"dependency {description} can never be satisfied")
        elif target.ended:
            self._end(_Waiter(job, description), target)
        else:
            self._waiting.setdefault(jobid.parse(value), []).append(_Waiter(job, description))

    def started(self, target: int) -> None:
        """The target's tasks were started."""
        waiters = self._waiting.get(target, [])
        self._waiting[target] = [w for w in waiters if not w.description.startswith("after-start=")]
        for waiter in waiters:
            if waiter.description.startswith("after-start="):
                self._satisfied(waiter.job, waiter.description)

    def ended(self, job: Job) -> None:
        """The target became inactive."""
        for waiter in self._waiting.pop(job.id, []):
            self._end(waiter, Target.of(job))

    def _end(self, waiter: _Waiter, target: Target) -> None:
        kind = waiter.description.partition("=")[0]
        if _is_satisfied(kind, target):
            self._satisfied(waiter.job, waiter.description)
        else:
            why = "can never be satisfied" if target.allocated else "job never started"
            self._impossible(waiter.job, f"dependency {waiter.description} {why}")


def _is_satisfied(kind: str, target: Target) -> bool:
    if kind == "after-finish":
        return True
    if not target.allocated:
        return False
    completed = target.result == Result.COMPLETED
    return {
        "after-start": target.started,
        "after-success": completed,
        "after-failure": not completed,
        "after-except": target.excepted,
    }[kind]


def _check_ended(kind: str, target: Target, value: str) -> None:
    """Refuse a dependency on a job that ended otherwise than wished."""
    if _is_satisfied(kind, target):
        return
    if not target.allocated or kind == "after-start":
        reason = f"dependency: after: {value} never started"
    else:
        reason = {
            "after-success": f"dependency: afterok: job {value} failed or was canceled",
            "after-failure": f"dependency: afternotok: job {value} succeeded",
            "after-except": f"dependency: afterexcept: job {value} had no exception",
        }[kind]
    raise RpcError(errno.EINVAL, reason)


def _target(scheme: str, value: str) -> int:
    try:
        return jobid.parse(value)
    except ValueError as error:
        raise RpcError(errno.EINVAL, f"dependency: {scheme}: {error}") from None


def _begin_time(value: str) -> float:
    try:
        begin = float(value)
    except ValueError:
        begin = -1.0
    if not 0 <= begin < time.time() + 1e10:
        raise RpcError(errno.EINVAL, f"Invalid begin-time={value}")
    return begin
