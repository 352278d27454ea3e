"""How a job is known that stands in for one which runs elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats.jobspec import command_of, system_of, user_of
from minicluster.instance.records import JobState
from minicluster.stand_in.topics import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from minicluster.instance.port import JobOverview
    from minicluster.instance.records import Job

STAND_IN = "stand_in"
"""Attribute (`attributes.user.minicluster.stand_in`) of a stand-in: the label of its burst."""
BYPASS = "alloc-bypass"
MAX_ASKED = 250
"""Jobs of one listing of which it is asked whether they stand in: one request."""
_LEAD = "0"
"""The rank of the lead's broker, as a listing has it."""


def stood_in_for(spec: Mapping[str, Any]) -> str:
    """Return the label of the burst for which a job stands in; empty: it is an ordinary one."""
    ours = user_of(spec).get("minicluster")
    label = ours.get(STAND_IN) if isinstance(ours, dict) else None
    return label if isinstance(label, str) else ""


def prints_alone(spec: Mapping[str, Any]) -> bool:
    """Return whether a job is a stand-in that takes no resources, and has the program of one."""
    command = command_of(spec)
    has_program = tuple(command[1 : 1 + len(OPTIONS)]) == OPTIONS
    return has_program and BYPASS in system_of(spec) and bool(stood_in_for(spec))


def may_stand_in(job: Job) -> bool:
    """Return whether a job of a listing looks like a running stand-in: few others do."""
    is_alone = job.ntasks == 1 and job.ranks == _LEAD
    return job.state in JobState.RUNNING and is_alone and not job.duration


def labels(overview: JobOverview, jobs: Iterable[Job]) -> dict[int, str]:
    """Return the bursts of those of the jobs that stand in for one, by their ids. Raises InstanceError."""
    return {
        jobid: label
        for jobid, user in overview.attributes([job.id for job in jobs][:MAX_ASKED]).items()
        if (label := stood_in_for({"attributes": {"user": user}}))
    }
