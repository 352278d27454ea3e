"""`flux watch` and `flux submit --wait`, `--watch`, `--wait-event`: many jobs followed on one connection."""

from __future__ import annotations

import errno
import json
import math
import sys
from collections import deque
from typing import TYPE_CHECKING

from broker_config.formats import eventlog, jobid
from broker_config.formats.job_states import JobState
from minicluster.embedded.commands.console import note
from minicluster.embedded.commands.output import OutputWriter, exit_code

if TYPE_CHECKING:
    import argparse

    from minicluster.embedded.client import JSON, BrokerClient, RpcError

_OUTPUTS = 64  # jobs whose output is read at the same time: bounds the memory of their buffers
_ATTRIBUTES = ["state", "t_submit", "t_cleanup", "waitstatus"]
_ATTRIBUTES += ["exception_severity", "exception_type", "exception_note"]


class JobWatcher:
    """Follows jobs; `code` is the largest exit code so far."""

    def __init__(self, client: BrokerClient, options: argparse.Namespace) -> None:
        self._client = client
        self._options = options
        self._events = options.watch or options.verbose > 1 or options.wait_event
        self._reading = 0
        self._unread: deque[tuple[int, float]] = deque()
        self._zero = math.inf  # when the first of the jobs was submitted
        self.code = 0

    def follow(self, number: int) -> None:
        """Begin to follow job `number`."""
        if self._events:
            _Followed(self, self._client, self._options, number)
            return
        payload = {"id": number, "state": int(JobState.INACTIVE), "attrs": _ATTRIBUTES}
        self._client.call("job-list.list-id", payload, lambda *answer: self._inactive(number, *answer))

    def _inactive(self, number: int, answer: JSON | None, refusal: RpcError | None) -> None:
        """Process the answer for a job that is only waited for."""
        if answer is None:
            note(f"{jobid.f58(number)}: {refusal}")
            self.count(1)
            return
        job = answer["job"]
        status, fatal = job.get("waitstatus"), job.get("exception_severity") == 0
        if status is None or fatal:
            self.exception(job.get("exception_type", ""), 0, job.get("exception_note", ""))
        if status is not None:
            self.submitted(job.get("t_submit", 0.0))
            self.finished(number, status, job.get("t_cleanup", 0.0))
        if status is None or (fatal and status == 0):
            self.count(1)

    def submitted(self, when: float) -> None:
        """Count times from the submission of the first job."""
        self._zero = min(self._zero, when)

    def finished(self, number: int, status: int, when: float) -> None:
        """Process the wait status of a job that ended."""
        self.count(exit_code(status))
        if self._options.verbose:
            self.note(number, when, f"{'failed' if status else 'complete'}: status={status}")

    def note(self, number: int, when: float, text: str) -> None:
        """Write a line about a job, with the seconds so far."""
        note(f"{jobid.f58(number)}: {when - self._zero:.3f}s: {text}")

    def exception(self, kind: str, severity: int, text: str) -> None:
        """Show an exception that ends a job."""
        if severity == 0:
            note(f"job.exception: type={kind} severity={severity} {text}".rstrip())

    def count(self, code: int) -> None:
        """Keep an exit code, if it is the largest."""
        self.code = max(self.code, code)

    def read(self, number: int, zero: float) -> None:
        """Show the output of a job, once the output of fewer jobs than the limit is read."""
        if self._reading >= _OUTPUTS:
            self._unread.append((number, zero))
            return
        self._reading += 1
        name = f"{jobid.f58(number)}: " if self._options.label_io else ""
        writer = OutputWriter(label=self._options.label_io, prefix=name, quiet=self._options.quiet)

        def callback(response: JSON | None, refusal: RpcError | None) -> None:
            if response is not None:
                writer.take(eventlog.decode(response["event"]))
                return
            self._reading -= 1
            if refusal is not None and refusal.errnum not in (errno.ENODATA, errno.ENOENT):
                note(f"{jobid.f58(number)}: {refusal}")
            if self._unread:
                self.read(*self._unread.popleft())

        payload = {"id": number, "path": "guest.output", "flags": 0}
        self._client.call("job-info.eventlog-watch", payload, callback, streaming=True)


class _Followed:
    """One job followed event by event."""

    __slots__ = ("_client", "_id", "_options", "_request", "_watcher", "_zero")

    def __init__(
        self, watcher: JobWatcher, client: BrokerClient, options: argparse.Namespace, number: int
    ) -> None:
        self._watcher = watcher
        self._client = client
        self._options = options
        self._id = number
        self._zero = 0.0
        payload = {"id": number, "path": "eventlog", "flags": 0}
        self._request = client.call("job-info.eventlog-watch", payload, self._take, streaming=True)

    def _take(self, response: JSON | None, refusal: RpcError | None) -> None:
        if response is not None:
            self._event(eventlog.decode(response["event"]))
        elif refusal is not None and refusal.errnum != errno.ENODATA:
            note(f"{jobid.f58(self._id)}: {refusal}")
            self._watcher.count(1)

    def _event(self, event: JSON) -> None:
        name, context = event["name"], eventlog.context(event)
        if name == "submit":
            self._zero = event["timestamp"]
            self._watcher.submitted(self._zero)
        if self._options.verbose > 1:
            text = json.dumps(context, separators=(",", ":"), sort_keys=True) if context else ""
            self._watcher.note(self._id, event["timestamp"], f"{name} {text}")
        if name == "start" and self._options.watch:
            sys.stdout.flush()
            self._watcher.read(self._id, self._zero)
        elif name == "finish":
            self._watcher.finished(self._id, context["status"], event["timestamp"])
        elif name == "exception":
            self._watcher.exception(context["type"], context["severity"], context.get("note", ""))
            if context["severity"] == 0:
                self._watcher.count(1)
        if name == self._options.wait_event:
            self._client.cancel(self._request)
