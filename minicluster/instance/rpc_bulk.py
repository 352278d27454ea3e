"""Submits of many jobs, over links to a broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from broker_config.formats.job_states import JobFlag
from minicluster.instance import jobspec as jobspecs
from minicluster.instance.errors import RequestRefused, SubmitRefused
from minicluster.instance.records import Resubmission

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.instance.errors import InstanceError
    from minicluster.instance.links.shared import SharedLinks
    from minicluster.instance.records import JobRequest

UNANSWERED = 64
"""Submits that are under way at once on a link: more are no faster, and others wait for the answers."""


@dataclass(frozen=True, slots=True)
class RpcBulk:
    """See `minicluster.instance.port.BulkSubmits`."""

    _links: SharedLinks

    def submit(self, requests: Sequence[JobRequest]) -> list[int | InstanceError]:
        """Submit jobs."""
        jobs: dict[int, Resubmission] = {}
        found: dict[int, int | InstanceError] = {}
        for number, each in enumerate(requests):
            try:
                spec = jobspecs.jobspec(each, inherit=self._links.inherits_environment)
            except SubmitRefused as refusal:
                found[number] = refusal
            else:
                jobs[number] = Resubmission(spec, each.urgency, each.waitable)
        found |= zip(jobs, self.resubmit(tuple(jobs.values())), strict=True)
        return [found[number] for number in range(len(requests))]

    def resubmit(self, jobs: Sequence[Resubmission]) -> list[int | InstanceError]:
        """Submit jobspecs as they are."""
        found: list[int | InstanceError] = []
        for start in range(0, len(jobs), UNANSWERED):
            sent = [
                (each.jobspec, each.urgency, JobFlag.WAITABLE if each.waitable else 0)
                for each in jobs[start : start + UNANSWERED]
            ]
            found += self._links.submit_many(sent)
        return [SubmitRefused(each.text) if isinstance(each, RequestRefused) else each for each in found]
