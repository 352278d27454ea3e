"""Dependencies on jobs and times, with Flux's rules for when one is satisfied, or can never be.

A target that never got resources satisfies `afterany` only.
"""

from __future__ import annotations

import errno
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker_config.formats import jobid
from broker_config.formats.job_states import JobResult, JobState
from minicluster.embedded.errors import RpcError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.embedded.jobs.job import ActiveJob
_KINDS = {"afterok": "after-success", "afterany": "after-finish", "afternotok": "after-failure"}
_BEGIN = "begin-time"


@dataclass(frozen=True, slots=True)
class DependencyTarget:
    """The job that another one waits for."""

    allocated: bool
    ended: bool
    result: JobResult

    @staticmethod
    def of(job: ActiveJob) -> DependencyTarget:
        """Return the target for an active job."""
        return DependencyTarget(job.R is not None, job.state == JobState.INACTIVE, job.result)

    @staticmethod
    def ended_as(info: Mapping[str, Any]) -> DependencyTarget:
        """Return the target for an inactive job, from its attributes in listings."""
        return DependencyTarget("t_run" in info, True, JobResult(info["result"]))

    def satisfies(self, kind: str) -> bool:
        """Whether a dependency of this kind is satisfied by the target's end."""
        if kind == "after-finish":
            return True
        return self.allocated and (self.result == JobResult.COMPLETED) == (kind == "after-success")


class Dependencies:
    """The jobs that wait for other jobs, or for a time."""

    def __init__(
        self,
        find: Callable[[int], DependencyTarget | None],
        satisfied: Callable[[int, str], None],
        impossible: Callable[[int, str], None],
        call_at: Callable[[float, Callable[[], None]], object],
    ) -> None:
        self._find = find
        self._call_at = call_at
        self._satisfied = satisfied
        self._impossible = impossible
        self._waiting: dict[int, list[tuple[int, str]]] = {}  # by target: job, description

    def describe(self, wanted: tuple[tuple[str, str], ...]) -> list[tuple[str, bool]]:
        """Return each dependency's description, and whether it is satisfied already.

        Raises RpcError where one is malformed or can never be satisfied.
        """
        return [self._describe(scheme, value) for scheme, value in wanted]

    def _describe(self, scheme: str, value: str) -> tuple[str, bool]:
        if scheme == _BEGIN:
            return f"{_BEGIN}={_begin_time(value):.3f}", False
        if scheme not in _KINDS:
            raise RpcError(errno.EINVAL, f'dependency scheme "{scheme}" not supported')
        try:
            target = self._find(jobid.parse(value))
        except ValueError as error:
            raise RpcError(errno.EINVAL, f"dependency: {scheme}: {error}") from None
        if target is None:
            raise RpcError(errno.EINVAL, f"dependency: {scheme}: id {value}: job not found")
        kind = _KINDS[scheme]
        if target.ended and not target.satisfies(kind):
            failed = "failed or was canceled" if scheme == "afterok" else "succeeded"
            why = f"{scheme}: job {value} {failed}" if target.allocated else f"after: {value} never started"
            raise RpcError(errno.EINVAL, f"dependency: {why}")
        return f"{kind}={value}", target.ended

    def wait(self, job: int, description: str) -> None:
        """Add a dependency of the job that is not satisfied yet (or was not, before a restart)."""
        kind, _, value = description.partition("=")
        if kind == _BEGIN:
            self._call_at(float(value), lambda: self._satisfied(job, description))
            return
        number = jobid.parse(value)
        target = self._find(number)
        if target is None:
            self._impossible(job, f"dependency {description} can never be satisfied")
        elif target.ended:
            self._end(job, description, target)
        else:
            self._waiting.setdefault(number, []).append((job, description))

    def ended(self, job: ActiveJob) -> None:
        """Satisfy, or fail, the dependencies on a job that became inactive."""
        for waiter, description in self._waiting.pop(job.id, []):
            self._end(waiter, description, DependencyTarget.of(job))

    def _end(self, job: int, description: str, target: DependencyTarget) -> None:
        if target.satisfies(description.partition("=")[0]):
            self._satisfied(job, description)
        else:
            why = "can never be satisfied" if target.allocated else "job never started"
            self._impossible(job, f"dependency {description} {why}")


def _begin_time(text: str) -> float:
    """Return seconds since 1970. Raises RpcError."""
    try:
        begin = float(text)
    except ValueError:
        begin = -1.0
    if not 0 <= begin < math.inf:
        raise RpcError(errno.EINVAL, f"Invalid {_BEGIN}={text}")
    return begin
