"""The journal of an instance as changes of jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from minicluster.broker_link.errors import RequestRefused
from minicluster.instance import user_attributes, wire
from minicluster.instance.job_projection import JobProjection
from minicluster.instance.records import Event, Job, JobChange, JobFilter, JobState
from minicluster.instance.streams import Decoded

if TYPE_CHECKING:
    from minicluster.instance.links.shared import SharedLinks

JSON = Mapping[str, Any]

SENTINEL = -1
"""The id in the item of the journal behind the last one of its history."""


def changes(links: SharedLinks, since: float) -> Decoded[JobChange]:
    """Return all changes, of jobs that have not ended by `since`."""
    answers = links.stream("job-manager.events-journal", {"full": since <= 0})
    return Decoded(answers, _ChangeDecoder(links, since))


class _ChangeDecoder:
    """Makes changes of the items of one journal.

    Annotations are not stored, and the history of a journal has of ended jobs none or all. So once it is
    over a listing is read, which has the annotations of active jobs, and the jobs that ended since.
    """

    def __init__(self, links: SharedLinks, since: float) -> None:
        self._links = links
        self._since = since
        self._jobs = JobProjection(embedded=links.engine == "embedded")
        self._new: dict[int, tuple[Event, ...]] = {}  # the events of jobs that are not accepted yet

    def __call__(self, item: JSON) -> Iterable[JobChange]:
        if item["id"] == SENTINEL:
            return self._rest_of_history()
        job = self._jobs.take(item)
        events = (*self._new.pop(item["id"], ()), *wire.journal(item))
        if job is not None:
            return (JobChange(job, events),)
        if item["id"] in self._jobs.active:
            self._new[item["id"]] = events
        return ()

    def _rest_of_history(self) -> Iterator[JobChange]:
        ended: list[JSON] = []
        for entry in self._listed():
            if entry["id"] not in self._jobs.active:
                ended.append(entry)
            elif job := self._jobs.annotate(entry["id"], entry.get("annotations") or {}):
                yield JobChange(job)
        if self._since > 0:
            yield from map(JobChange, self._ended(ended))
        yield JobChange(None)

    def _listed(self) -> Iterator[JSON]:
        which = JobFilter(since=self._since) if self._since > 0 else JobFilter(states=JobState.ACTIVE)
        attributes = ["all"] if self._since > 0 else ["annotations"]
        wanted = {
            "max_entries": 0, "attrs": attributes, "since": self._since, "constraint": wire.constraint(which),
        }  # fmt: skip
        with self._links.stream("job-list.list", wanted) as answers:
            for answer in answers:
                yield from answer["jobs"]

    def _ended(self, entries: Iterable[JSON]) -> Iterator[Job]:
        listed = {entry["id"]: entry for entry in entries}
        for jobid, user in user_attributes.of(self._links, listed).items():
            entry = listed.pop(jobid)
            if entry["state"] != JobState.INACTIVE:
                entry = self._once_inactive(jobid) or entry
            yield wire.job(entry, user)

    def _once_inactive(self, jobid: int) -> JSON | None:
        """Return a job that has ended, once job-list knows: it is a moment behind the job manager."""
        wanted = {"id": jobid, "attrs": ["all"], "state": int(JobState.INACTIVE)}
        try:
            entry: JSON = self._links.rpc("job-list.list-id", wanted)["job"]
        except RequestRefused:
            return None
        return entry
