"""A reader of an engine's journal, which folds it as the port does, and compares it with listings."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from broker_config.formats.jobspec import user_of
from minicluster.embedded.jobs import job_info
from minicluster.instance import wire
from minicluster.instance.job_projection import JobProjection

if TYPE_CHECKING:
    from minicluster.instance.records import Job

JSON = dict[str, Any]


class JournalReader:
    """Has read each event up to now."""

    def __init__(self, bench: Any) -> None:
        self._bench = bench
        self._jobs = JobProjection(embedded=True)
        self.found: dict[int, Job] = {}
        self.connect()

    def connect(self) -> None:
        """Begin to listen, as after a restart of the lead."""
        self._buffer = self._bench.engine._manager.watchers.subscribe()

    def read(self) -> dict[int, Job]:
        """Read what is new, and return all jobs."""
        posted, self._buffer._posted = self._buffer._posted, []
        for each in posted:
            self._take(job_info._journal_item([each]).decoded())
        return self.found

    def read_history(self) -> dict[int, Job]:
        """Read all from the beginning, with what a listing has of annotations."""

        async def scenario() -> None:
            journal = self._bench.call("job-manager.events-journal", full=True)
            async for item in journal:
                if item["id"] == -1:
                    break
                self._take(item)
            await journal.aclose()

        asyncio.run(scenario())
        for jobid in tuple(self._jobs.active):
            annotations = self._bench.shown(jobid).get("annotations", {})
            self.found[jobid] = self._jobs.annotate(jobid, annotations) or self.found[jobid]
        return self.found

    def _take(self, item: JSON) -> None:
        job = self._jobs.take(item)
        if job is not None:
            self.found[job.id] = job


def listed(bench: Any) -> dict[int, Job]:
    """Return all jobs as the port's listings have them."""
    jobs = bench.engine._manager.parts.store.jobs
    return {
        jobid: wire.job(bench.shown(jobid), user_of(json.loads(jobs.jobspec(jobid)))) for jobid in jobs.ids()
    }
