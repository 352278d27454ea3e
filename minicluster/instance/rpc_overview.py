"""What is known of all jobs of an instance, over links to a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minicluster.instance import job_changes, user_attributes, wait_reasons
from minicluster.instance.records import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from minicluster.instance.links.shared import SharedLinks
    from minicluster.instance.port import JobQueues, Jobs, Nodes, Stream
    from minicluster.instance.records import BurstSummary, JobChange


class RpcOverview:
    """See `minicluster.instance.port.JobOverview`."""

    def __init__(self, links: SharedLinks, jobs: Jobs, queues: JobQueues, nodes: Nodes) -> None:
        self._links = links
        self._jobs = jobs
        self._queues = queues
        self._nodes = nodes

    def changes(self, since: float = 0.0) -> Stream[JobChange]:
        """What jobs there are, then each change of one."""
        return job_changes.changes(self._links, since)

    def attributes(self, jobids: Iterable[int]) -> Mapping[int, Mapping[str, Any]]:
        """Return `attributes.user` of many jobs."""
        return user_attributes.of(self._links, jobids)

    def why(self, jobid: int, bursts: Callable[[], Sequence[BurstSummary]] = tuple) -> str:
        """Return why a job waits."""
        job = self._jobs.get(jobid)
        if job.state not in JobState.PENDING:
            return ""
        around = wait_reasons.context(self._jobs, self._queues, self._nodes, bursts=bursts)
        return wait_reasons.why(job, around)
