"""From the payloads of Flux's own topics to records; both engines have these topics."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from typing import Any

from broker_config.formats import eventlog, idset
from broker_config.formats.job_states import RESULT_COUNTS, STATES, JobResult, JobState
from minicluster.instance.records import (
    Event,
    Job,
    JobException,
    JobFilter,
    OutputChunk,
    QueueStats,
    QueueStatus,
)

JSON = Mapping[str, Any]

_SAME_NAME = (
    "id", "name", "userid", "urgency", "priority", "queue", "cwd", "t_submit", "t_depend", "t_run",
    "t_cleanup", "t_inactive", "nnodes", "ntasks", "ncores", "duration", "expiration", "nodelist", "ranks",
    "waitstatus", "annotations",
)  # fmt: skip


def job(entry: JSON, attributes: JSON | None = None) -> Job:
    """A job as job-list has it."""
    return Job(
        state=JobState(entry["state"]),
        result=JobResult(entry["result"]) if "result" in entry else None,
        exception=_exception(entry),
        dependencies=tuple(entry.get("dependencies", ())),
        attributes=attributes,
        **{key: entry[key] for key in _SAME_NAME if key in entry},
    )


def _exception(entry: JSON) -> JobException | None:
    if not entry.get("exception_occurred"):
        return None
    return JobException(
        entry.get("exception_type", ""), entry.get("exception_severity", 0), entry.get("exception_note", "")
    )


def constraint(which: JobFilter) -> JSON:
    """The filter as job-list's constraint object (RFC 31 form)."""
    wanted: list[JSON] = []
    if which.userid is not None:
        wanted.append({"userid": [which.userid]})
    if which.name:
        wanted.append({"name": [which.name]})
    if which.queue:
        wanted.append({"queue": [which.queue]})
    if which.submitted is not None:
        begin, end = which.submitted
        wanted += [{"t_submit": [f">={begin!r}"]}] if begin > 0 else []
        wanted += [{"t_submit": [f"<{end!r}"]}] if end < math.inf else []
    either: list[JSON] = []
    if which.states is not None:
        either.append({"states": [int(which.states)]})
    if which.results is not None:
        either.append({"results": [int(which.results)]})
    if either:
        wanted.append({"or": either})
    return {"and": wanted}


def events(jobid: int, text: str) -> Iterator[Event]:
    """Each line of an eventlog (RFC 18)."""
    for entry in eventlog.events(text):
        yield event(jobid, entry)


def journal(item: JSON) -> Iterator[Event]:
    """Each event of an item of the journal."""
    return (event(item["id"], entry) for entry in item["events"])


def event(jobid: int, entry: JSON) -> Event:
    """One entry of an eventlog, decoded."""
    return Event(jobid, entry["timestamp"], entry["name"], eventlog.context(entry))


def output(jobid: int, sequence: int, entry: JSON) -> Iterator[OutputChunk]:
    """The chunks of one entry of an output eventlog (RFC 24): one a task; headers and ends have none."""
    context = entry.get("context", {})
    if entry["name"] == "log":
        message: str = context.get("message", "")
        line = message.encode(errors="surrogateescape") + b"\n"
        yield OutputChunk(jobid, sequence, context.get("rank", 0), "log", line)
    elif entry["name"] == "data" and "data" in context:
        data = _data(context)
        tasks = idset.decode(str(context["rank"]))
        for task in tasks:
            yield OutputChunk(jobid, sequence, task, context["stream"], data, last=task == tasks[-1])


def _data(context: JSON) -> bytes:
    text: str = context["data"]
    if context.get("encoding") == "base64":
        return base64.b64decode(text)
    return text.encode(errors="surrogateescape")


def stats(payload: JSON) -> QueueStats:
    """The counts of job-list.job-stats."""
    states = payload["job_states"]
    return QueueStats(
        **{key: states[key] for key in (*STATES, "total")},
        **{key: payload[key] for key in RESULT_COUNTS},
        queues={queue["name"]: stats(queue) for queue in payload.get("queues", ())},
    )


def queue(name: str, payload: JSON) -> QueueStatus:
    """A queue as job-manager.queue-status has it."""
    return QueueStatus(
        name,
        enabled=payload["enable"],
        started=payload["start"],
        disable_reason=payload.get("disable_reason", ""),
        stop_reason=payload.get("stop_reason", ""),
    )
