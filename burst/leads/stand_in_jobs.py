"""The jobs of an instance as a restart sees them that has a stand-in take a job's place."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from broker_config.formats import jobspec as jobspecs
from broker_config.formats.burst_names import BURST
from broker_config.formats.jobid import f58
from broker_config.formats.jobspec import set_at, system_of, user_of
from broker_config.formats.resource_set import Node, ResourceSet, read, to_dict
from burst.errors import StandInRefused
from burst.leads.restartable_jobs import RestartableSlotJobs
from minicluster.instance.errors import InstanceError, RequestRefused
from minicluster.instance.records import JobState
from minicluster.instance.stand_ins import BYPASS, STAND_IN, stood_in_for
from minicluster.save_restore.errors import JobRefused
from minicluster.save_restore.losses import FailedJob
from minicluster.save_restore.restarts import RESTART, Waiting, original
from minicluster.stand_in import topics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job

    JSON = dict[str, Any]

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
FLAG_SECONDS = 10.0
"""How long the first events of a job that was submitted may take to be there."""
_PLUGIN = "its lead runs no jobs without resources: spec.bursting.join was not false when it was started"
_ONCE_GONE = "afterany"
"""For Flux a job that never started has not failed. Whose end it was is looked up in its original's."""
_FAILED, _UNMET = "exec", "dependency"
_POLL_SECONDS = 0.05


class StandInJobs(RestartableSlotJobs):
    """For `restarts.restart` of a job that waits, or for `losses.restart_lost` of a stand-in.

    `job` is the one whose place is taken: the job itself, or a stand-in that was killed (`killed`).
    """

    def __init__(self, instance: Instance, label: str, job: int, killed: Job | None = None) -> None:
        super().__init__(instance, "")
        self._label = label
        self._job = job
        self._killed = killed

    def urgency(self, jobid: int) -> int | None:
        """Return the urgency of a job that waits; None if it does not (any more)."""
        job = self._instance.jobs.get(jobid)
        return job.urgency if job.state in JobState.PENDING else None

    def waiting(self) -> list[Waiting]:
        """Return the jobs with dependencies, but stand-ins of this job for other bursts: those end."""
        found = []
        for each in super().waiting():
            spec = self._instance.jobs.jobspec(each.id)
            label = stood_in_for(spec)
            if label not in ("", self._label) and original(spec) == self._job:
                self.cancel(each.id, f"burst {label} has ended before")
            else:
                found.append(each)
        return found

    def jobspec(self, jobid: int) -> Mapping[str, Any]:
        """Return the jobspec as it was submitted; a job that may run once only has not run yet."""
        found = dict(self._instance.jobs.jobspec(jobid))
        if jobid == self._job and RESTART in user_of(found).get("minicluster", {}):
            ours = {key: value for key, value in user_of(found)["minicluster"].items() if key != RESTART}
            set_at(found, ("attributes", "user", "minicluster"), ours)
        return found

    def submit(self, jobspec: JSON, urgency: int) -> int:
        """Submit a copy as it is, and that of the job as its stand-in. Raises JobRefused."""
        try:
            if original(jobspec) == self._job:
                jobspec = self._stand_in(jobspec)
            return self._instance.jobs.resubmit(jobspec, urgency=urgency)
        except InstanceError as error:
            raise JobRefused(str(error)) from error

    def failed(self, since: float) -> list[FailedJob]:
        """Return the stand-in that was killed, as one that was lost, and the jobs that failed with it."""
        unmet = [each for each in super().failed(since) if each.exception == _UNMET]
        killed = self._killed
        if killed is None:
            return unmet
        ended = FailedJob(killed.id, killed.urgency, killed.t_inactive, _FAILED, "", frozenset({0}))
        return [ended, *unmet]

    def close_in(self, moved: Mapping[int, int]) -> None:
        """Before the job is canceled: see that its stand-in takes nothing, and that the job does not start.

        Raises StandInRefused, once all copies are withdrawn.
        """
        standing = moved.get(self._job)
        if standing is None:
            return
        reason = "" if bypasses(self._instance, standing) else _PLUGIN
        if not reason:
            self.note(standing, is_successor=False)
            put_aside(self._instance, self._job)
            if not self.pends(self._job):
                reason = f"{f58(self._job)} has started here"
        if reason:
            for copied in sorted(moved.values(), reverse=True):
                self.cancel(copied, f"{f58(self._job)} keeps its place: {reason}")
            raise StandInRefused(reason)

    def note(self, standing: int, *, is_successor: bool) -> Mapping[str, Any]:
        """Have the spool belong to a job; 0: only see that there is one. Return folder and program."""
        request = {"label": self._label, "job": standing, "successor": is_successor}
        return self._instance.links.rpc(topics.OPEN, request)

    def _stand_in(self, spec: JSON) -> JSON:
        opened = self.note(0, is_successor=False)
        whole = read(self._instance.links.rpc("resource.sched-status", {})["all"])
        command = [*opened["program"], opened["path"]]
        for each in jobspecs.dependencies_of(spec):
            each["scheme"] = _ONCE_GONE
        return stand_in(spec, self._label, command, whole.nodes[0])


def put_aside(instance: Instance, job: int) -> None:
    """Move a job into the waiting room, where it does not start, if there is one. Raises InstanceError."""
    if BURST in {queue.name for queue in instance.queues.all()}:
        try:
            instance.queues.update(job, queue=BURST)
        except RequestRefused:
            return  # it is there, has constraints of its own, or has started


def bypasses(instance: Instance, job: int) -> bool:
    """Return whether an instance has taken a job as one without resources. Raises InstanceError."""
    end = time.monotonic() + FLAG_SECONDS
    while time.monotonic() < end:
        with instance.jobs.events(job) as events:
            for event in events:
                if event.name == "set-flags" and BYPASS in event.context["flags"]:
                    return True
                if event.name in ("validate", "invalidate"):
                    return False
        time.sleep(_POLL_SECONDS)
    return False


def stand_in(spec: JSON, label: str, command: list[str], lead: Node) -> JSON:
    """Return the jobspec of a copy that stands in: its program takes no resources of the lead's node.

    Of `attributes.system` it keeps what it needs alone: it is not burstable, and has no limit.
    """
    given, system = jobspecs.read(spec), system_of(spec)
    directory = given.cwd or "/"
    output = jobspecs.shell_options(spec).get("output")
    resources = to_dict(ResourceSet((Node(lead.rank, lead.host, lead.cores & -lead.cores),)))
    kept: JSON = {key: system[key] for key in ("queue", "dependencies") if key in system}
    made: JSON = {
        **kept,
        "duration": 0,
        "cwd": directory,
        "environment": ENVIRONMENT,
        "job": {"name": given.name},
        BYPASS: {"R": resources},
    }
    if output is not None:
        made["shell"] = {"options": {"output": output}}
    user = {key: value for key, value in user_of(spec).items() if key != "elastic"}
    found = jobspecs.build([*command, directory], jobspecs.slot(1, 1), {"total": 1}, made, user)
    ours = user_of(spec).get("minicluster")
    marked = {**(ours if isinstance(ours, dict) else {}), STAND_IN: label}
    set_at(found, ("attributes", "user", "minicluster"), marked)
    return found
