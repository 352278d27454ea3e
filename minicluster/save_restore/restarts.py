"""Restarts, under a new id, jobs that cannot finish where they run. The copy names its original.

Flux has no requeue, and a canceled job takes its dependents with it. So three steps are taken:

1. A copy is submitted that depends on the old job's *failure*.
2. Jobs that depend on the old one are copied, to depend on the new one.
3. The old ones are canceled, by which the copies may start.

If this process ends in between, no job runs twice. A copy whose original completes after all can never start,
and Flux ends it. `reconcile` completes the rest.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker_config.formats.jobid import f58, parse
from broker_config.formats.jobspec import companion_of, dependencies_of, set_at, system_of, user_of
from minicluster.save_restore.errors import JobRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    JSON = dict[str, Any]

RESTART_OF = "restart_of"
"""Attribute (`attributes.user.minicluster.restart_of`) of a restarted job: its former id."""
RESTART = "restart"
"""Attribute (`attributes.user.minicluster.restart`) of a job that may run once only: false."""
UNWANTED = "it is not to be started again"
SCHEMES = ("afterok", "afterany", "afternotok", "after")
_IF_FAILED, _ONCE_GONE = "afternotok", "afterany"


_AGAIN = "it is started again as "


class Waiting(NamedTuple):
    """A job that waits for others."""

    id: int
    urgency: int


class RestartableJobs(Protocol):
    """What a restart needs of an instance."""

    def urgency(self, jobid: int) -> int | None:
        """Return the urgency of a job whose tasks run; None if they do not (any more)."""

    def pends(self, jobid: int) -> bool:
        """Return whether the job has not started."""

    def waiting(self) -> list[Waiting]:
        """Return the jobs with dependencies that are not satisfied."""

    def jobspec(self, jobid: int) -> Mapping[str, Any]:
        """Return the jobspec as it was submitted."""

    def submit(self, jobspec: JSON, urgency: int) -> int:
        """Submit a jobspec as it is, and return the id. Raises JobRefused."""

    def cancel(self, jobid: int, reason: str) -> None:
        """Cancel a job; one that is inactive stays as it is."""

    def await_ends(self, jobids: Iterable[int]) -> None:
        """Wait until these jobs are inactive, or the implementation's timeout is over."""

    def finished(self, jobid: int) -> bool:
        """Return whether the job's tasks ended by themselves, before it was canceled."""


class RestartOutcome(NamedTuple):
    """What became of the jobs."""

    restarted: list[tuple[int, int]]
    """The old and the new id."""
    lost: list[tuple[int, str]]
    """The id, and why the job could not be restarted."""


def restart(
    jobs: RestartableJobs,
    jobids: Iterable[int],
    reason: str,
    copied: Callable[[Mapping[int, int]], object] = lambda _moved: None,
) -> RestartOutcome:
    """Restart running jobs, and move their dependents; a job that has a copy already gets no other.

    `copied` is called with all copies by their originals, before the first of these is canceled.
    """
    return _Restart(jobs, reason, copied).run(jobids)


def reconcile(jobs: RestartableJobs) -> None:
    """Complete a restart that was interrupted, so that only one of a job and its copy can run."""
    _Restart(jobs, "").reconcile()


class _Restart:
    """One restart of several jobs."""

    def __init__(
        self,
        jobs: RestartableJobs,
        reason: str,
        copied: Callable[[Mapping[int, int]], object] = lambda _moved: None,
    ) -> None:
        self._jobs = jobs
        self._reason = reason
        self._notify = copied
        self._specs: dict[int, Mapping[str, Any]] = {}
        self._urgencies: dict[int, int] = {}
        self._lost: list[tuple[int, str]] = []

    def run(self, jobids: Iterable[int]) -> RestartOutcome:
        moved = self._copied(jobids)
        running = list(moved)
        dependents = self._moved_dependents(moved)
        self._notify(moved)
        self._cancel(dependents, "what it waits for is started again", moved)
        self._cancel(running, self._reason, moved)
        self._jobs.await_ends([*running, *dependents])
        self._undo([each for each in running if self._jobs.finished(each)], dependents, moved)
        return RestartOutcome(list(moved.items()), self._lost)

    def reconcile(self) -> None:
        """Cancel the originals that still wait, and their dependents."""
        moved = {old: new for old, new in self._known_copies().items() if self._jobs.pends(old)}
        dependents = [*moved, *self._moved_dependents(moved)]
        self._cancel(dependents, "what it waits for is started again", moved)

    def _cancel(self, olds: list[int], reason: str, moved: Mapping[int, int]) -> None:
        for old in sorted(olds, reverse=True):  # dependents before the jobs that they wait for
            self._jobs.cancel(old, f"{reason}: {_AGAIN}{f58(moved[old])}")

    def _copied(self, jobids: Iterable[int]) -> dict[int, int]:
        known = self._known_copies()
        moved: dict[int, int] = {}
        for old in jobids:
            urgency = self._jobs.urgency(old)
            if urgency is None or companion_of(self._spec(old)):
                continue  # it ended meanwhile, or ends with its base job, whose copy gets others
            if not may_restart(self._spec(old)):
                self._lost.append((old, UNWANTED))
                continue
            new = known.get(old)
            if new is None:
                # The job runs, so its dependencies are satisfied.
                new = self._submitted(old, without_dependencies(self._spec(old)), urgency, _IF_FAILED)
            if new is not None:
                moved[old] = new
        return moved

    def _known_copies(self) -> dict[int, int]:
        """Return the copies that wait for their originals to fail, by original."""
        found = ((original(self._spec(job.id)), job.id) for job in self._jobs.waiting())
        return {old: new for old, new in found if old is not None}

    def _moved_dependents(self, moved: dict[int, int]) -> list[int]:
        """Copy the dependents of moved jobs, and theirs; a job is younger than those that it waits for."""
        known = self._known_copies()
        dependents: list[int] = []
        for job in sorted(self._jobs.waiting()):
            if job.id in moved or job.id in moved.values():
                continue
            turned = redirect(self._spec(job.id), moved)
            if turned is None:
                continue
            self._urgencies[job.id] = job.urgency
            new = known.get(job.id) or self._submitted(job.id, turned, job.urgency, _ONCE_GONE)
            if new is not None:
                moved[job.id] = new
                dependents.append(job.id)
        return dependents

    def _submitted(self, old: int, spec: Mapping[str, Any], urgency: int, hold: str) -> int | None:
        try:
            return self._jobs.submit(as_copy(spec, old, hold), urgency)
        except JobRefused as error:
            self._lost.append((old, str(error)))
            return None

    def _undo(self, finished: list[int], dependents: list[int], moved: dict[int, int]) -> None:
        """Withdraw the copies of jobs that finished meanwhile. Their results count, also for dependents."""
        if not finished:
            return
        copies = {old: moved.pop(old) for old in finished}
        for old, new in copies.items():
            self._jobs.cancel(new, f"{f58(old)} finished after all")
        gone = {*finished}
        for old in dependents:
            targets = {_jobid(each["value"]) for each in _dependencies(self._spec(old))}
            if not targets & gone:
                continue
            gone.add(old)
            self._jobs.cancel(moved.pop(old), "what it waits for finished after all")
            spec = redirect(self._spec(old), moved) or self._spec(old)
            again = self._submitted(old, spec, self._urgencies[old], _ONCE_GONE)
            if again is not None:
                moved[old] = again

    def _spec(self, jobid: int) -> Mapping[str, Any]:
        if jobid not in self._specs:
            self._specs[jobid] = self._jobs.jobspec(jobid)
        return self._specs[jobid]


def original(spec: Mapping[str, Any]) -> int | None:
    """Return the id that a restarted job had before; None for any other job."""
    old = _ours(spec).get(RESTART_OF)
    return old if isinstance(old, int) else None


def copy_in(note: str) -> int | None:
    """Return the id under which a job was started again, by the note of the exception that ended it."""
    before, found, text = note.rpartition(_AGAIN)
    known = _jobid(text)
    return known if found and before and known >= 0 else None


def may_restart(spec: Mapping[str, Any]) -> bool:
    """Return whether a job may be restarted."""
    return _ours(spec).get(RESTART) is not False


def _ours(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return our own attributes in a jobspec."""
    ours = user_of(spec).get("minicluster")
    return ours if isinstance(ours, dict) else {}


def without_dependencies(spec: Mapping[str, Any]) -> JSON:
    """Return the jobspec without dependencies."""
    free = copy.deepcopy(dict(spec))
    system_of(free).pop("dependencies", None)
    return free


def as_copy(spec: Mapping[str, Any], old: int, hold: str | None = None) -> JSON:
    """Return the jobspec of a copy, which names its original.

    `hold` is the scheme of its dependency on the original (None: it does not wait for it).
    """
    marked = copy.deepcopy(dict(spec))
    end = [{"scheme": hold, "value": str(old)}] if hold else []
    system_of(marked)["dependencies"] = [*_dependencies(spec), *end]
    set_at(marked, ("attributes", "user", "minicluster"), {**_ours(spec), RESTART_OF: old})
    return marked


def _dependencies(spec: Mapping[str, Any]) -> list[JSON]:
    """Return a job's dependencies, except the one on its own original."""
    old = original(spec)
    return [each for each in dependencies_of(spec) if old is None or _jobid(each["value"]) != old]


def redirect(spec: Mapping[str, Any], moved: Mapping[int, int]) -> JSON | None:
    """Return the jobspec with dependencies on moved jobs replaced by their copies; None if it has none."""
    redirected = copy.deepcopy(dict(spec))
    dependencies = _dependencies(redirected)
    hits = [each for each in dependencies if each["scheme"] in SCHEMES and _jobid(each["value"]) in moved]
    for each in hits:
        each["value"] = str(moved[_jobid(each["value"])])
    system_of(redirected)["dependencies"] = dependencies
    return redirected if hits else None


def _jobid(value: object) -> int:
    """Return the id that a dependency names, in any form (RFC 19); -1 if the value is no id."""
    try:
        return parse(str(value))
    except ValueError:
        return -1
