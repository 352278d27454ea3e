"""Jobs as their events make them (RFC 21), by the rules of Flux's job-list: pure, from items of the journal.

An item of the journal is {"id", "events"} with, where it has them, `jobspec` (redacted) and `R`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from broker_config.formats import eventlog, job_sizes, jobspec, resource_set
from broker_config.formats.job_states import EXCEPTION_RESULTS
from minicluster.instance.records import Job, JobException, JobResult, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, KeysView, Mapping

JSON = dict[str, Any]


class JobProjection:
    """The active jobs of an instance; of ended ones it keeps nothing.

    `embedded`: by the rules of the embedded instance, where an elastic job has the size of its fewest workers
    before it runs.
    """

    def __init__(self, *, embedded: bool) -> None:
        self._embedded = embedded
        self._jobs: dict[int, _JobState] = {}

    @property
    def active(self) -> KeysView[int]:
        """The ids of the active jobs."""
        return self._jobs.keys()

    def take(self, item: Mapping[str, Any]) -> Job | None:
        """Return the job as the item makes it.

        None where no listing has it: it is not accepted yet, was not accepted, or is not known.
        """
        job = self._jobs.get(item["id"])
        if job is None:
            if not any(entry["name"] == "submit" for entry in item["events"]):
                return None
            job = self._jobs[item["id"]] = _JobState(item["id"], self._embedded)
        if "jobspec" in item:
            job.jobspec = jobspec.without_files(item["jobspec"])
        job.resources = item.get("R", job.resources)
        for entry in item["events"]:
            job.apply(entry)
        if job.state in {JobState.INACTIVE, _REFUSED}:
            del self._jobs[job.id]
        return None if job.state in {JobState.NEW, _REFUSED} else job.record()

    def annotate(self, jobid: int, annotations: JSON) -> Job | None:
        """Return an active job with these annotations; None where it is not active, or has them already."""
        job = self._jobs.get(jobid)
        if job is None or job.annotations == annotations:
            return None
        job.annotations = annotations
        return job.record()


_REFUSED = JobState(0)
"""The state of a job that was refused after its submission had an id: it never existed."""


@dataclass(slots=True)
class _JobState:
    """One job, as far as its events are known."""

    id: int
    embedded: bool
    state: JobState = JobState.NEW
    jobspec: JSON = field(default_factory=dict)
    resources: JSON | None = None
    """R (RFC 20), redacted."""
    shown: JSON = field(default_factory=dict)
    """Further fields of `Job`, by their names."""
    annotations: JSON = field(default_factory=dict)
    dependencies: list[str] = field(default_factory=list)
    exception: JobException | None = None
    """The gravest."""
    succeeded: bool = False

    def apply(self, entry: JSON) -> None:
        """Apply an event; unknown ones change nothing."""
        if entry["name"] in _EVENTS:
            _EVENTS[entry["name"]](self, entry["timestamp"], eventlog.context(entry))

    def record(self) -> Job:
        """Return the job."""
        return Job(
            id=self.id,
            state=self.state,
            result=self._result() if self.state == JobState.INACTIVE else None,
            exception=self.exception,
            dependencies=tuple(self.dependencies),
            annotations=self.annotations,
            attributes=dict(jobspec.user_of(self.jobspec)),
            **self.shown,
        )

    def _result(self) -> JobResult:
        fatal = self.exception is not None and self.exception.severity == 0
        if self.succeeded and not (self.embedded and fatal):
            return JobResult.COMPLETED
        counts = fatal or not self.embedded  # job-list counts any exception, the embedded instance fatal ones
        kind = self.exception.type if self.exception is not None and counts else ""
        return EXCEPTION_RESULTS.get(kind, JobResult.FAILED)

    def enter(self, state: JobState, time: str, now: float) -> None:
        """Enter a state for the first time; `time` is the field that has when."""
        if time not in self.shown:
            self.state = state
            self.shown[time] = now

    def prioritize_again(self) -> None:
        """Return to PRIORITY. The embedded instance computes a priority at once."""
        if self.state == JobState.SCHED and not self.embedded:
            self.state = JobState.PRIORITY
            self.shown.pop("priority", None)

    def measure(self) -> None:
        """Set what listings have of its jobspec and, once it has run, of its R."""
        spec = self.jobspec if self.embedded else jobspec.without_user(self.jobspec)
        parsed = jobspec.read(spec)
        size, count = job_sizes.requested(parsed.resources), parsed.ntasks
        if self.resources is not None and "t_run" in self.shown:
            size = job_sizes.normalized(self.resources)
            if parsed.elastic is not None:
                slots = resource_set.nslots_of(self.resources)
                count = size["nnodes"] if parsed.asked.nodes else slots or count
        self.shown |= {"name": parsed.name, "cwd": parsed.cwd or "", "queue": parsed.queue or "", **size}
        self.shown |= {"duration": parsed.duration, "ntasks": job_sizes.tasks(count, parsed.tasks_per, size)}


def _submit(job: _JobState, now: float, context: JSON) -> None:
    job.shown |= {"t_submit": now, "userid": context["userid"], "urgency": context["urgency"]}


def _validate(job: _JobState, now: float, _context: JSON) -> None:
    job.enter(JobState.DEPEND, "t_depend", now)
    job.measure()


def _invalidate(job: _JobState, _now: float, _context: JSON) -> None:
    job.state = _REFUSED


def _dependency_add(job: _JobState, _now: float, context: JSON) -> None:
    if context["description"] not in job.dependencies:
        job.dependencies.append(context["description"])


def _dependency_remove(job: _JobState, _now: float, context: JSON) -> None:
    if context["description"] in job.dependencies:
        job.dependencies.remove(context["description"])


def _depend(job: _JobState, _now: float, _context: JSON) -> None:
    job.state = JobState.PRIORITY


def _priority(job: _JobState, _now: float, context: JSON) -> None:
    job.shown["priority"] = context["priority"]
    if job.state == JobState.PRIORITY:
        job.state = JobState.SCHED


def _urgency(job: _JobState, _now: float, context: JSON) -> None:
    job.shown["urgency"] = context["urgency"]
    job.prioritize_again()


def _restart(job: _JobState, _now: float, _context: JSON) -> None:
    job.prioritize_again()


def _annotations(job: _JobState, _now: float, context: JSON) -> None:
    job.annotations = context.get("annotations") or {}


def _memo(job: _JobState, _now: float, context: JSON) -> None:
    job.annotations = _updated(job.annotations, {"user": context})


def _updated(table: JSON, changes: JSON) -> JSON:
    """Return a table with changes, in which null removes; no table in it stays empty."""
    made = dict(table)
    for key, value in changes.items():
        before = made.pop(key, None)
        if isinstance(value, dict):
            value = _updated(before if isinstance(before, dict) else {}, value)  # noqa: PLW2901
        if value is not None and value != {}:
            made[key] = value
    return made


def _alloc(job: _JobState, now: float, context: JSON) -> None:
    job.annotations = {**job.annotations, **context.get("annotations", {})}
    job.enter(JobState.RUN, "t_run", now)
    job.measure()


def _jobspec_update(job: _JobState, _now: float, context: JSON) -> None:
    for path, value in context.items():
        jobspec.set_at(job.jobspec, path.split("."), value)
    job.measure()
    job.prioritize_again()


def _resource_update(job: _JobState, _now: float, context: JSON) -> None:
    if job.resources is not None:
        job.resources = job_sizes.updated(job.resources, context)
    job.measure()


def _finish(job: _JobState, now: float, context: JSON) -> None:
    job.shown["waitstatus"] = context["status"]
    job.succeeded = context["status"] == 0 and (job.exception is None or job.exception.severity != 0)
    job.enter(JobState.CLEANUP, "t_cleanup", now)


def _exception(job: _JobState, now: float, context: JSON) -> None:
    if job.exception is None or context["severity"] < job.exception.severity:
        job.exception = JobException(context["type"], context["severity"], context.get("note", ""))
    if context["severity"] == 0:
        job.enter(JobState.CLEANUP, "t_cleanup", now)


def _release(job: _JobState, now: float, context: JSON) -> None:
    if context.get("final"):  # without `finish`: none of its tasks ever began
        job.enter(JobState.CLEANUP, "t_cleanup", now)


def _clean(job: _JobState, now: float, _context: JSON) -> None:
    job.enter(JobState.INACTIVE, "t_inactive", now)


_EVENTS: dict[str, Callable[[_JobState, float, JSON], None]] = {
    "submit": _submit,
    "validate": _validate,
    "invalidate": _invalidate,
    "dependency-add": _dependency_add,
    "dependency-remove": _dependency_remove,
    "depend": _depend,
    "priority": _priority,
    "urgency": _urgency,
    "flux-restart": _restart,
    "annotations": _annotations,
    "memo": _memo,
    "alloc": _alloc,
    "jobspec-update": _jobspec_update,
    "resource-update": _resource_update,
    "finish": _finish,
    "exception": _exception,
    "release": _release,
    "clean": _clean,
}
