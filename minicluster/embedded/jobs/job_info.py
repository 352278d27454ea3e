"""The stored data of a job: jobspec, R, eventlogs, and its output in the form of RFC 24."""

from __future__ import annotations

import asyncio
import base64
import errno
import json
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from broker_config.formats import eventlog, signed_jobspec
from broker_config.formats.jobspec import redacted, user_of
from minicluster.embedded.errors import RpcError
from minicluster.embedded.jobs.job_log import EXEC, MAIN
from minicluster.embedded.services import Encoded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Container, Sequence

    from minicluster.embedded.jobs.job_manager import JobManager
    from minicluster.embedded.jobs.watchers import Posted
    from minicluster.embedded.services import RpcRequest

JSON = dict[str, Any]
OUTPUT = "guest.output"
DECODE = 1  # lookup flag: answer jobspec and R as objects
INITIAL_SENTINEL = 2  # watch flag: an item without an event behind what is there
_JOBS_AT_ONCE = 50  # of a journal's history
_BATCH = 4  # chunks read at a time: with 256 KiB a chunk, 1 MiB


class JobInfo:
    """Answers job-info.* and the job manager's journal."""

    def __init__(self, manager: JobManager) -> None:
        self._manager = manager
        self._store = manager.parts.store

    def lookup(self, request: RpcRequest) -> JSON:
        """job-info.lookup: one or several keys of a job.

        Not in Flux: with `after` its eventlogs are returned from the entry behind that number on, which the
        answer has as `entry`.
        """
        jobid = request.need("id", int)
        decode = bool(request.payload.get("flags", 0) & DECODE)
        self._known(jobid)
        answer: JSON = {"id": jobid}
        first = request.need("after", int) + 1 if "after" in request.payload else 0
        if first:
            answer["entry"] = first
        for key in request.need("keys", list):
            answer[key] = self._value(jobid, key, decode, first)
        return answer

    def user_attributes(self, request: RpcRequest) -> JSON:
        """minicluster-jobs.attributes, not in Flux: `attributes.user` of the jobs that are known."""
        found = ((jobid, self._store.jobs.jobspec(jobid)) for jobid in request.need("ids", list))
        return {"jobs": [{"id": jobid, "user": user_of(json.loads(spec))} for jobid, spec in found if spec]}

    def _known(self, jobid: int) -> None:
        if self._store.jobs.jobspec(jobid) is None:
            raise RpcError(errno.ENOENT, "invalid job id")

    def _value(self, jobid: int, key: str, decode: bool, first: int = 0) -> Any:
        if key in (MAIN, EXEC, OUTPUT):
            self._manager.commits.write()
            entry, seq = self._behind(jobid, key, first)
            return "".join(line for _, line in self._lines(jobid, key, seq, -1)[first - entry :])
        jobs = self._store.jobs
        if key == "J":
            return signed_jobspec.encode(jobs.jobspec(jobid) or "")
        text = {"jobspec": jobs.jobspec, "R": jobs.resources}.get(key, lambda _id: None)(jobid)
        if text is None:
            raise RpcError(errno.ENOENT)
        if key == "jobspec":
            shown = redacted(json.loads(text))
            return shown if decode else json.dumps(shown, ensure_ascii=True)
        return json.loads(text) if decode else text

    def _lines(self, jobid: int, path: str, after: int, most: int) -> list[tuple[int, str]]:
        """Return lines with their sequence numbers, each with its newline."""
        if path != OUTPUT:
            return [(seq, line + "\n") for seq, line in self._store.eventlogs.lines(jobid, path, after, most)]
        chunks = self._store.output.chunks(jobid, after, most)
        lines = [] if after or not chunks else [(0, _line(chunks[0][4], "header", _HEADER))]
        lines += [(seq, _output_line(task, stream, data, t)) for seq, task, stream, data, t in chunks]
        return lines

    def _behind(self, jobid: int, path: str, first: int) -> tuple[int, int]:
        """Return which entry to read from, `first` or an earlier one, and the sequence number before it."""
        if path != OUTPUT or first < 2:  # the header is no chunk
            return 0, 0
        count, seq = self._store.output.first(jobid, first - 1)
        return (count + 1, seq) if count else (0, 0)

    def watch(self, request: RpcRequest) -> AsyncIterator[JSON]:
        """job-info.eventlog-watch: a log's lines, and new ones until the job is inactive.

        With the flag INITIAL_SENTINEL an item without an event comes behind those that are there.
        Not in Flux: with `after` those behind that entry, each with its number as `entry`.
        """
        if "after" in request.payload:
            return self._numbered(request)
        return self._watch(request, int(request.payload.get("since", 0)))

    async def _numbered(self, request: RpcRequest) -> AsyncIterator[JSON]:
        jobid, path, first = (
            request.need("id", int),
            request.need("path", str),
            request.need("after", int) + 1,
        )
        self._manager.commits.write()
        entry, seq = self._behind(jobid, path, first)
        async for item in self._watch(request, seq):
            if item["event"] is None:
                yield item
                continue
            if entry >= first:
                yield {**item, "entry": entry}
            entry += 1

    async def _watch(self, request: RpcRequest, after: int) -> AsyncIterator[JSON]:
        jobid = request.need("id", int)
        path = request.need("path", str)
        self._known(jobid)
        if path not in (MAIN, EXEC, OUTPUT):
            raise RpcError(errno.ENOENT)
        sentinel = bool(request.payload.get("flags", 0) & INITIAL_SENTINEL)
        while True:
            ended = jobid not in self._manager.active
            self._manager.commits.write()
            lines = self._lines(jobid, path, after, _BATCH)
            for seq, line in lines:
                yield {"event": line, "seq": seq}
                after = max(after, seq)
            if not lines:
                if sentinel:
                    sentinel = False
                    yield {"event": None}
                    continue  # something may have been written meanwhile
                if ended:
                    return
                await self._manager.watchers.changed(jobid)

    async def journal(self, request: RpcRequest) -> AsyncIterator[JSON | Encoded]:
        """job-manager.events-journal: the history, a sentinel (id -1), then new events.

        The history is that of active jobs, or with `full` of all jobs. `allow` names the wanted events. For a
        reader that is slower than the instance, consecutive events of one job are one item.

        Not in Flux: with `gather` items come at most every so many seconds, with one item for each job. The
        reader receives all events that the counts of job-list.job-stats contain before these counts.
        """
        full = bool(request.payload.get("full", False))
        allow = request.need("allow", dict) if "allow" in request.payload else None
        gather = request.need("gather", (int, float)) if "gather" in request.payload else 0.0
        watchers = self._manager.watchers
        self._manager.commits.write()
        listener = watchers.subscribe(allow, gather)
        try:
            last = self._store.eventlogs.last
            jobs = self._store.jobs.ids() if full else tuple(self._manager.active)
            for number, jobid in enumerate(jobs):
                if number % _JOBS_AT_ONCE == 0:
                    await asyncio.sleep(0)  # lets the loop serve other requests
                if item := self._history(jobid, last, allow):
                    yield item
            yield {"id": -1, "events": []}
            while posted := await listener.take():
                if gather:
                    posted.sort(key=attrgetter("job"))  # which keeps the order of each job's
                for _, run in groupby(posted, attrgetter("job")):
                    yield _journal_item(tuple(run))
        finally:
            watchers.unsubscribe(listener)

    def _history(self, jobid: int, last: int, allow: Container[str] | None) -> JSON | None:
        """Return a job's events up to a sequence number; None without any."""
        lines = self._store.eventlogs.lines(jobid, MAIN)
        events = [eventlog.decode(line) for seq, line in lines if seq <= last]
        if not events:
            return None
        chosen = [event for event in events if allow is None or event["name"] in allow]
        item = {"id": jobid, "events": chosen, "jobspec": self._value(jobid, "jobspec", True)}
        resources = self._store.jobs.resources(jobid)
        return item | ({"R": json.loads(resources)} if resources else {})


def _journal_item(run: Sequence[Posted]) -> Encoded:
    """Return an item with consecutive events of one job, joined from their encoded lines."""
    data = {key: value for posted in run for key, value in posted.data.items()}
    more = "".join(f',"{key}":{value}' for key, value in data.items())
    return Encoded(f'{{"id":{run[0].job},"events":[{",".join(posted.line for posted in run)}]{more}}}')


_HEADER: JSON = {
    "version": 1,
    "encoding": {"stdout": "UTF-8", "stderr": "UTF-8"},
    "count": {"stdout": 1, "stderr": 1},
    "options": {},
}


def _line(timestamp: float, name: str, context: JSON) -> str:
    return eventlog.encode(eventlog.event(timestamp, name, context)) + "\n"


def _output_line(task: int, stream: str, data: bytes | None, t: float) -> str:
    """Return an RFC 24 event: data, end of data, a log message of the shell, or a redirected stream."""
    if stream.startswith("log"):
        level, _, component = stream.removeprefix("log").partition(".")
        shown: JSON = {"rank": task, "level": int(level), "message": (data or b"").decode(errors="replace")}
        return _line(t, "log", {**shown, "component": component} if component else shown)
    if stream.startswith("redirect-"):
        ranks = "0" if task == 1 else f"[0-{task - 1}]"
        path = (data or b"").decode("utf-8", "surrogateescape")
        return _line(t, "redirect", {"stream": stream.removeprefix("redirect-"), "rank": ranks, "path": path})
    context: JSON = {"stream": stream, "rank": str(task)}
    if data is None:
        return _line(t, "data", {**context, "eof": True})
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # text with zeros is six times as long in JSON, and longer in the frame around it
        return _line(t, "data", {**context, "encoding": "base64", "data": base64.b64encode(data).decode()})
    return _line(t, "data", {**context, "data": text})
