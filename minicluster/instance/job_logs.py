"""The records of jobs in an instance: what is stored of one, its eventlogs, and the journal of all."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from broker_config.formats import eventlog
from minicluster.instance import wire
from minicluster.instance.errors import JobInactive, JobNotFound, RequestRefused
from minicluster.instance.output_watch import OUTPUT, STAGES, OutputStage, OutputWatch, PresentOutput
from minicluster.instance.streams import Collected, Decoded

if TYPE_CHECKING:
    from minicluster.instance.links.shared import SharedLinks
    from minicluster.instance.port import Stream
    from minicluster.instance.records import Event, OutputChunk

JSON = Mapping[str, Any]

WATCH_INITIAL_SENTINEL = 2
"""Flux's flag: behind what is there comes an item without an event."""


class JobLogs:
    """The stored records of an instance's jobs."""

    def __init__(self, links: SharedLinks) -> None:
        self._links = links

    def lookup(self, jobid: int, key: str) -> str:
        """Return something that is stored of a job. Raises RequestRefused."""
        text: str = self._links.rpc("job-info.lookup", {"id": jobid, "keys": [key], "flags": 0})[key]
        return text

    def eventlog(self, jobid: int) -> str:
        """Return a job's eventlog. Raises JobNotFound."""
        try:
            return self.lookup(jobid, "eventlog")
        except RequestRefused as refusal:
            raise_for(jobid, refusal)

    def present_output(self, jobid: int, after: int, text: str) -> Stream[JSON]:
        """Return the output that is there, as items of `follow_output`: read as they are asked for.

        `text` is the job's eventlog. Before a job starts, real Flux waits for its output, and would not
        answer. Release 0.1.0, and a Flux without that flag, send all of it at once.
        """
        if self._links.engine == "embedded":
            if not self._numbers_entries(jobid):
                return Collected([self._whole_output(jobid, after)])
        elif not _has(text, STAGES[0]):
            return Collected([])
        watch = self.watch(jobid, OUTPUT, flags=WATCH_INITIAL_SENTINEL)
        return PresentOutput(watch, lambda: self._whole_output(jobid, after))

    def _numbers_entries(self, jobid: int) -> bool:
        """Return whether an embedded instance is younger than release 0.1.0."""
        return "entry" in self._links.rpc(
            "job-info.lookup", {"id": jobid, "keys": [], "flags": 0, "after": 0}
        )

    def _whole_output(self, jobid: int, after: int) -> JSON:
        wanted = {"id": jobid, "keys": [OUTPUT], "flags": 0, **_behind(after)}
        try:
            answer = self._links.rpc("job-info.lookup", wanted)
        except RequestRefused as refusal:
            if refusal.errnum != errno.ENOENT:
                raise
            return {"event": ""}
        return {**answer, "event": answer[OUTPUT]}

    def follow_output(self, jobid: int, after: int, text: str) -> OutputWatch:
        """Follow a job's output; `after`: what lies beside the broker leaves out these entries, if it can.

        `text` is the job's eventlog, as far as it is known.
        """
        return OutputWatch(
            lambda path: self.watch(jobid, path, **(_behind(after) if path == OUTPUT else {})),
            STAGES[1:] if _has(text, STAGES[0]) else STAGES,
        )

    def watch(self, jobid: int, path: str, **more: int) -> Stream[JSON]:
        """Follow an eventlog of a job."""
        wanted = {"id": jobid, "path": path, "flags": 0, **more}
        return self._links.stream("job-info.eventlog-watch", wanted)

    def journal(self, follow: bool) -> Stream[Event]:
        """Return the events of all jobs, in the order of time up to now."""
        answers = self._links.stream("job-manager.events-journal", {"full": True})
        history = list(_before_sentinel(answers))
        history.sort(key=lambda event: event.timestamp)
        if follow:
            stream = Decoded(answers, wire.journal)
            stream.prepend(history)
            return stream
        answers.close()
        return Collected(history)


class OutputDecoder:
    """Counts the entries of an output eventlog and leaves out those up to `after`.

    What lies beside the broker may have done so, and then numbers what it sends. Release 0.1.0 sends all.
    """

    def __init__(self, jobid: int, after: int) -> None:
        self._jobid = jobid
        self._after = after
        self._number = 0

    def __call__(self, item: JSON) -> Iterable[OutputChunk]:
        """Return what an item of the eventlog holds."""
        chunks: list[OutputChunk] = []
        self._number = item.get("entry", self._number)
        for sequence, line in enumerate(eventlog.lines(item["event"]), self._number):
            self._number = sequence + 1
            if sequence > self._after:
                chunks.extend(wire.output(self._jobid, sequence, eventlog.decode(line)))
        return chunks


def _has(text: str, stage: OutputStage) -> bool:
    return any(entry["name"] == stage.event for entry in eventlog.events(text))


def _behind(after: int) -> dict[str, int]:
    return {"after": after} if after >= 0 else {}


def _before_sentinel(answers: Iterable[JSON]) -> Iterator[Event]:
    for answer in answers:
        if answer["id"] == -1:
            return
        yield from wire.journal(answer)


def raise_for(jobid: int, refusal: RequestRefused) -> NoReturn:
    """Raise the error for a refused request about a job."""
    if "inactive" in refusal.text:
        raise JobInactive(jobid) from refusal
    if "unknown job" in refusal.text or (
        refusal.errnum == errno.ENOENT and refusal.topic.startswith(("job-list.", "job-info."))
    ):
        raise JobNotFound(jobid) from refusal
    raise refusal
