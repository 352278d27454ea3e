"""The port over any transport that carries Flux's topics: one implementation for both engines."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Self

from broker_config import hostlist
from minicluster.instance import jobspec as jobspecs
from minicluster.instance import resource_sets, wire
from minicluster.instance.errors import (
    InstanceGone,
    JobInactive,
    JobNotFound,
    RequestRefused,
    SubmitRefused,
    WaitTimeout,
)
from minicluster.instance.output_watch import OutputWatch
from minicluster.instance.port import EVERY_JOB, Stream
from minicluster.instance.records import (
    Broker,
    Event,
    Job,
    JobFilter,
    JobRequest,
    JobState,
    OutputChunk,
    Queue,
    QueueStats,
    Resources,
)
from minicluster.instance.transport import Collected, Decoded, Transport

if TYPE_CHECKING:
    from types import TracebackType

JSON = Mapping[str, Any]

WAITABLE = 4
"""FLUX_JOB_WAITABLE"""
LOG_INFO = 6


class RpcInstance:
    """A running instance, by its topics; what each method does is said in `minicluster.instance.port`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def engine(self) -> str:
        """Either "flux" or "embedded"."""
        return self._transport.engine

    @property
    def uri(self) -> str:
        """The broker's address."""
        return self._transport.uri

    @property
    def transport(self) -> Transport:
        """The way to the broker, for what the port has no word for."""
        return self._transport

    # Jobs
    def submit(self, request: JobRequest) -> int:
        """Submit a job."""
        spec = jobspecs.jobspec(request, surroundings=self._transport.shares_surroundings)
        return self.resubmit(spec, urgency=request.urgency, waitable=request.waitable)

    def resubmit(self, jobspec: JSON, *, urgency: int = 16, waitable: bool = False) -> int:
        """Submit a jobspec as it is."""
        try:
            return self._transport.submit(jobspec, urgency, WAITABLE if waitable else 0)
        except RequestRefused as refusal:
            raise SubmitRefused(refusal.text) from refusal

    def jobspec(self, jobid: int) -> JSON:
        """The whole jobspec of a job."""
        try:
            signed = self._lookup(jobid, "J")  # the `jobspec` key has no environment
        except RequestRefused as refusal:
            self._refused(jobid, refusal)
        return wire.signed_jobspec(signed)

    def jobs(self, which: JobFilter = EVERY_JOB, limit: int = 1000) -> list[Job]:
        """List jobs."""
        wanted = {
            "max_entries": limit,
            "attrs": ["all"],
            "since": which.since,
            "constraint": wire.constraint(which),
        }
        with self._transport.stream("job-list.list", wanted) as answers:
            return [wire.job(entry) for answer in answers for entry in answer["jobs"]]

    def job(self, jobid: int) -> Job:
        """Return one job."""
        return self._job({"id": jobid, "attrs": ["all"]}, None)

    def wait(self, jobid: int, timeout: float | None = None) -> Job:
        """Wait until the job is inactive."""
        inactive = {"id": jobid, "attrs": ["all"], "state": int(JobState.INACTIVE)}
        try:
            return self._job(inactive, timeout)
        except WaitTimeout:
            raise WaitTimeout(f"job {jobid} has not ended within {timeout:g} s") from None

    def _job(self, wanted: JSON, timeout: float | None) -> Job:
        try:
            entry = self._transport.call("job-list.list-id", wanted, timeout=timeout)["job"]
        except RequestRefused as refusal:
            self._refused(wanted["id"], refusal)
        spec = json.loads(self._lookup(wanted["id"], "jobspec"))
        return wire.job(entry, spec.get("attributes", {}).get("user", {}))

    def _lookup(self, jobid: int, key: str) -> str:
        text: str = self._transport.call("job-info.lookup", {"id": jobid, "keys": [key], "flags": 0})[key]
        return text

    def _refused(self, jobid: int, refusal: RequestRefused) -> NoReturn:
        if "inactive" in refusal.text:
            raise JobInactive(jobid) from refusal
        if "unknown job" in refusal.text or (
            refusal.errnum == errno.ENOENT and refusal.topic.startswith(("job-list.", "job-info."))
        ):
            raise JobNotFound(jobid) from refusal
        raise refusal

    def _steer(self, topic: str, jobid: int, **payload: Any) -> JSON:
        try:
            return self._transport.call(topic, {"id": jobid, **payload})
        except RequestRefused as refusal:
            self._refused(jobid, refusal)

    def cancel(self, jobid: int, reason: str = "") -> None:
        """Cancel a job."""
        self.raise_exception(jobid, "cancel", 0, reason)

    def raise_exception(self, jobid: int, kind: str, severity: int = 0, note: str = "") -> None:
        """Raise an exception on a job."""
        words = {"note": note} if note else {}
        self._steer("job-manager.raise", jobid, type=kind, severity=severity, **words)

    def kill(self, jobid: int, signum: int) -> None:
        """Send a signal to every task."""
        self._steer("job-manager.kill", jobid, signum=signum)

    def urgency(self, jobid: int, urgency: int) -> int:
        """Set a pending job's urgency."""
        return int(self._steer("job-manager.urgency", jobid, urgency=urgency)["old_urgency"])

    def events(self, jobid: int | None = None, *, follow: bool = False) -> Stream[Event]:
        """The eventlog of one job or of all."""
        if jobid is None:
            return self._journal(follow)
        if not follow:
            return Collected(wire.events(jobid, self._eventlog(jobid)))
        self._eventlog(jobid)  # an unknown job is told of here, not at the first item
        watch = self._watch(jobid, "eventlog")
        return Decoded(watch, lambda item: wire.events(jobid, item["event"]))

    def _eventlog(self, jobid: int) -> str:
        try:
            return self._lookup(jobid, "eventlog")
        except RequestRefused as refusal:
            self._refused(jobid, refusal)

    def _watch(self, jobid: int, path: str) -> Stream[JSON]:
        return self._transport.stream("job-info.eventlog-watch", {"id": jobid, "path": path, "flags": 0})

    def _journal(self, follow: bool) -> Stream[Event]:
        answers = self._transport.stream("job-manager.events-journal", {"full": True})
        history = list(_before_sentinel(answers))
        history.sort(key=lambda event: event.timestamp)
        if follow:
            stream = Decoded(answers, _journal_events)
            stream.prepend(history)
            return stream
        answers.close()
        return Collected(history)

    def output(self, jobid: int, *, follow: bool = False, after: int = -1) -> Stream[OutputChunk]:
        """A job's output."""
        self._eventlog(jobid)
        decode = _OutputDecoder(jobid, after)
        if follow:
            return Decoded(OutputWatch(lambda path: self._watch(jobid, path)), decode)
        try:
            text = self._lookup(jobid, "guest.output")
        except RequestRefused as refusal:
            if refusal.errnum != errno.ENOENT:
                raise
            text = ""
        return Collected(decode({"event": text}))

    # The instance
    def stats(self) -> QueueStats:
        """How many jobs are in which state."""
        return wire.stats(self._transport.call("job-list.job-stats", {}))

    def resources(self) -> Resources:
        """What is there, used and free."""
        sched = self._transport.call("resource.sched-status", {})
        return resource_sets.resources(sched, self._transport.call("resource.status", {}))

    def drain(self, targets: str, reason: str = "") -> None:
        """Give no new work to these brokers."""
        self._transport.call("resource.drain", {"targets": targets, **({"reason": reason} if reason else {})})

    def undrain(self, targets: str) -> None:
        """Give work to drained brokers again."""
        self._transport.call("resource.undrain", {"targets": targets})

    def queues(self) -> list[Queue]:
        """The queues."""
        names = [str(name) for name in self._transport.call("job-manager.queue-list", {})["queues"]]
        return [self._queue(name) for name in names or [""]]

    def _queue(self, name: str) -> Queue:
        named = {"name": name} if name else {}
        return wire.queue(name, self._transport.call("job-manager.queue-status", named))

    def queue_stop(self, name: str = "", reason: str = "") -> None:
        """Start no more jobs."""
        self._start_queue(name, start=False, **({"reason": reason} if reason else {}))

    def queue_start(self, name: str = "") -> None:
        """Start jobs again."""
        self._start_queue(name, start=True)

    def _start_queue(self, name: str, **payload: Any) -> None:
        which = {"name": name, "all": False} if name else {"all": True}
        self._transport.call("job-manager.queue-start", {**payload, **which})

    def queue_idle(self, timeout: float | None = None) -> int:
        """Wait until no job holds resources."""
        try:
            return int(self._transport.call("job-manager.idle", {}, timeout=timeout)["pending"])
        except WaitTimeout:
            raise WaitTimeout(f"jobs still hold resources after {timeout:g} s") from None

    def brokers(self) -> list[Broker]:
        """Every configured broker."""
        health = self._transport.call("overlay.health", {})
        states = {child["rank"]: child["status"] for child in health.get("children", ())}
        states[health["rank"]] = health["status"]
        hosts = hostlist.decode(self._attribute("hostlist"))
        return [Broker(rank, host, states.get(rank, "offline")) for rank, host in enumerate(hosts)]

    def dump(self, path: str) -> None:
        """Save the instance's data."""
        self._transport.dump(path)

    def _attribute(self, name: str) -> str:
        value: str = self._transport.call("attr.get", {"name": name})["value"]
        return value

    def attributes(self) -> Mapping[str, str]:
        """The broker attributes."""
        values: dict[str, str] = {}
        for name in sorted(self._transport.call("attr.list", {})["names"]):
            with contextlib.suppress(RequestRefused):  # real Flux lists some that have no value
                values[name] = self._attribute(name)
        return values

    def shutdown(self, dump: str = "") -> None:
        """End the instance."""
        if dump:
            self._transport.call("attr.set", {"name": "content.dump", "value": dump})
        with (
            contextlib.suppress(InstanceGone),
            self._transport.stream("shutdown.start", {"loglevel": LOG_INFO}) as log,
        ):
            for _line in log:
                pass
        self.close()  # the lead waits for that

    def close(self) -> None:
        """Hang up."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _OutputDecoder:
    """Counts the entries of an output eventlog and leaves out those up to `after`."""

    def __init__(self, jobid: int, after: int) -> None:
        self._jobid = jobid
        self._after = after
        self._numbers = itertools.count()

    def __call__(self, item: JSON) -> Iterable[OutputChunk]:
        chunks: list[OutputChunk] = []
        for line in item["event"].splitlines():
            sequence = next(self._numbers)
            if sequence > self._after:
                chunks.extend(wire.output(self._jobid, sequence, json.loads(line)))
        return chunks


def _before_sentinel(answers: Iterable[JSON]) -> Iterator[Event]:
    for answer in answers:
        if answer["id"] == -1:
            return
        yield from _journal_events(answer)


def _journal_events(answer: JSON) -> Iterator[Event]:
    return (wire.event(answer["id"], entry) for entry in answer["events"])
