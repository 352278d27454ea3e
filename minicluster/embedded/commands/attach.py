"""`flux job attach`, and the waiting half of `flux run` and `flux alloc`: follow one job to its end."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Self

from broker_config.formats import eventlog, jobid
from minicluster.embedded.client import JSON, BrokerClient, RpcError, readable
from minicluster.embedded.commands.console import Parser, fail, note, parsed_id
from minicluster.embedded.commands.output import OutputWriter, ending, exit_code

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_FORWARDED = (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2)
_INPUT_CHUNK = 65536


def attach(client: BrokerClient, number: int, options: argparse.Namespace, shown: str | None = None) -> int:
    """Follow job `number` to its end; return its exit code. `shown` is the id as the user wrote it."""
    attached = _Attached(client, number, options, shown or jobid.f58(number))
    with _Signals() as signals:
        return attached.follow(signals)


class _Signals:
    """Collects signals that would end or stop this command, so that the job can get them."""

    def __enter__(self) -> Self:
        self.pipe, self._written = os.pipe()
        os.set_blocking(self._written, False)
        os.set_blocking(self.pipe, False)
        self._before = {one: signal.signal(one, _ignore) for one in (signal.SIGINT, *_FORWARDED)}
        # In the background, reading the terminal fails instead of stopping this command.
        self._before[signal.SIGTTIN] = signal.signal(signal.SIGTTIN, signal.SIG_IGN)
        self._wakeup = signal.set_wakeup_fd(self._written, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_raised: object) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for one, before in self._before.items():
            signal.signal(one, before)
        os.close(self.pipe)
        os.close(self._written)

    def arrived(self) -> bytes:
        """Return the numbers of the signals since the last call."""
        try:
            return os.read(self.pipe, 64)
        except BlockingIOError:
            return b""


def _ignore(_signum: int, _frame: object) -> None:
    """Signals arrive through the wakeup descriptor."""


class _Attached:
    def __init__(self, client: BrokerClient, number: int, options: argparse.Namespace, shown: str) -> None:
        self._client = client
        self._id = number
        self._options = options
        self._shown = shown
        self._writer = OutputWriter(label=options.label_io, quiet=options.quiet)
        self._watches: set[str] = set()
        self._zero = 0.0
        self._code = 1
        self._fatal = False
        self._input: int | None = None  # the descriptor to read when the job takes more
        self._interrupted = -10.0

    def follow(self, signals: _Signals) -> int:
        self._watch("eventlog", self._event)
        while self._watches:
            sources = [self._client.fileno(), signals.pipe]
            if self._input is not None:
                sources.append(self._input)
            ready = readable(sources, None)
            if self._input in ready:
                self._feed(self._input)
            for signum in signals.arrived():
                self._signalled(signum)
            if self._client.fileno() in ready:
                self._client.dispatch()
        return 1 if self._fatal and self._code == 0 else self._code

    def _watch(self, path: str, show: Callable[[JSON], None]) -> None:
        def callback(response: JSON | None, refusal: RpcError | None) -> None:
            if response is not None:
                show(eventlog.decode(response["event"]))
            elif refusal is not None:
                self._watches.discard(path)
                self._watch_ended(path, refusal)

        payload = {"id": self._id, "path": path, "flags": 0}
        self._watches.add(path)
        self._client.call("job-info.eventlog-watch", payload, callback, streaming=True)

    def _watch_ended(self, path: str, refusal: RpcError) -> None:
        if refusal.errnum == errno.ENODATA:
            return
        if refusal.errnum == errno.ENOENT and path == "eventlog":
            fail(f"Failed to attach to {self._shown}: No such job")
        fail(f"flux_job_event_watch_get: {refusal}")

    def _event(self, event: JSON) -> None:
        name, context = event["name"], event.get("context") or {}
        if name == "submit":
            self._zero = event["timestamp"]
            self._writer.zero = self._zero
        elif name == "start":
            self._watch("guest.output", self._writer.take)
            self._input = 0
        elif name == "exception":
            self._exception(event["timestamp"], context)
        elif name == "finish":
            self._input = None
            self._code = exit_code(context["status"])
            if self._code and not self._options.quiet:
                note(f"flux-job: {ending(context['status'])}")
        if self._options.show_events and name != "exception":
            text = json.dumps(context, separators=(",", ":")) if context else ""
            note(f"{event['timestamp'] - self._zero:.3f}s: job.{name} {text}".rstrip())

    def _exception(self, timestamp: float, context: JSON) -> None:
        severity = context["severity"]
        self._fatal = self._fatal or severity == 0
        text = f"type={context['type']} severity={severity} {context.get('note', '')}"
        note(f"{timestamp - self._zero:.3f}s: job.exception {jobid.f58(self._id)} {text}")

    def _feed(self, descriptor: int | None) -> None:
        """Send data of standard input to the job, and read no more until the job took it."""
        assert descriptor is not None  # noqa: S101 - for the type checker
        try:
            data = os.read(descriptor, _INPUT_CHUNK)
        except OSError:  # the terminal belongs to someone else
            self._input = None
            return
        self._input = None

        def taken(_answer: JSON | None, refusal: RpcError | None) -> None:
            if refusal is None and data:
                self._input = descriptor

        text = data.decode("utf-8", "surrogateescape")
        payload = {"id": self._id, "task": "all", "data": text, "eof": not data}
        self._client.call("job-exec.stdin", payload, taken)

    def _signalled(self, signum: int) -> None:
        if signum == signal.SIGINT:
            self._interrupt()
        elif signum == signal.SIGTSTP and time.monotonic() - self._interrupted <= 2:
            note("flux-job: detaching...")
            self._watches.clear()
        elif signum == signal.SIGTSTP:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            note("flux-job: one more ctrl-Z to suspend")
        elif signum in _FORWARDED:
            self._order("job-manager.kill", {"id": self._id, "signum": signum}, "kill")

    def _interrupt(self) -> None:
        """Print a hint at the first ctrl-C. Within two seconds a second one cancels, and ctrl-Z detaches."""
        now = time.monotonic()
        if now - self._interrupted > 2:
            self._interrupted = now
            signal.signal(signal.SIGTSTP, _ignore)
            note("flux-job: one more ctrl-C within 2s to cancel or ctrl-Z to detach")
            return
        cancel = {"id": self._id, "type": "cancel", "severity": 0, "note": "interrupted by ctrl-C"}
        self._order("job-manager.raise", cancel, "cancel")

    def _order(self, topic: str, payload: JSON, verb: str) -> None:
        def answered(_answer: JSON | None, refusal: RpcError | None) -> None:
            if refusal is not None:
                note(f"flux-job: {verb}: {refusal}")

        self._client.call(topic, payload, answered)


def main(argv: list[str]) -> int:
    """`flux job attach [OPTIONS] id`."""
    parser = Parser("flux job attach")
    parser.flag("-E", "--show-events", help="show job events")
    parser.flag("-l", "--label-io", help="label output by rank")
    parser.flag("-q", "--quiet", help="no warnings")
    parser.add_argument("-v", "--verbose", action="count", help="accepted, as Flux does")
    parser.add_argument("id", help="job id")
    options = parser.parse_args(argv)
    number = parsed_id(options.id)
    with BrokerClient() as client:
        try:
            return attach(client, number, options, options.id)
        finally:
            sys.stdout.flush()
