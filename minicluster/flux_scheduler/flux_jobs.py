"""The requests about companions to Flux, within the reactor of the scheduler's module."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from flux.job import cancel_async, submit_async, submit_get_id

from broker_config.formats import signed_jobspec
from broker_config.formats.jobspec import system_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.flux_scheduler.listener import ReactorListener

AHEAD = 31
"""The urgency of companions: their resources are reserved for them."""


class FluxJobs:
    """Implements `flux_port.Flux`. `guarded` calls a function and catches what it raises."""

    listener: ReactorListener

    def __init__(
        self,
        handle: Any,
        guarded: Callable[[Callable[[], None]], None],
        schedule_decision: Callable[[], None],
        log: Callable[[str], None],
    ) -> None:
        self._handle = handle
        self._guarded = guarded
        self._log = log
        self._timers: set[Any] = set()
        self.schedule_decision = schedule_decision

    def clock(self) -> float:
        """Return the time, in seconds since 1970."""
        return time.time()

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call back after these seconds."""

        def due(_handle: object, timer: Any, *_: object) -> None:
            timer.stop()
            self._timers.discard(timer)
            self._guarded(call)

        timer = self._handle.timer_watcher_create(seconds, due)
        self._timers.add(timer)
        timer.start()

    def fetch_jobspec(self, job: int, then: Callable[[dict[str, Any] | None], None]) -> None:
        """Read a job's jobspec with its environment; pass on None if that fails."""

        def answered(future: Any) -> None:
            try:
                found = future.get()
                jobspec = json.loads(found["jobspec"])
                submitted = system_of(signed_jobspec.decode(found["J"]))
                system_of(jobspec)["environment"] = submitted.get("environment", {})
            except (OSError, KeyError, ValueError):
                jobspec = None
            self._guarded(lambda: then(jobspec))

        question = {"id": job, "keys": ["jobspec", "J"], "flags": 0}
        self._handle.rpc("job-info.lookup", question).then(answered)

    def submit(self, jobspec: dict[str, Any], then: Callable[[int | str], None]) -> None:
        """Submit a job without validation: it was made from a jobspec that was validated."""

        def answered(future: Any) -> None:
            try:
                answer: int | str = int(submit_get_id(future))
            except OSError as error:
                answer = str(error)
            self._guarded(lambda: then(answer))

        submit_async(self._handle, json.dumps(jobspec), urgency=AHEAD, novalidate=True).then(answered)

    def cancel(self, job: int, reason: str) -> None:
        """Cancel a job, if it has not ended."""
        cancel_async(self._handle, job, reason).then(self._done)

    def annotate(self, job: int, note: dict[str, Any], *, logged: bool = True) -> None:
        """Write a note to a job's annotations (`user`), and to its eventlog (`memo`) if it is `logged`."""
        payload = {"id": job, "volatile": not logged, "memo": note}
        self._handle.rpc("job-manager.memo", payload).then(self._done)

    def _done(self, future: Any) -> None:
        try:
            future.get()
        except OSError as error:
            self._log(f"malleable: {error}")  # most often: it has ended meanwhile

    def address(self) -> str:
        """Return the address for programs, host:port. Raises OSError."""
        return self.listener.address

    def send(self, connection: object, data: bytes) -> None:
        """Send to a program."""
        self.listener.send(connection, data)

    def hang_up(self, connection: object) -> None:
        """Close a connection once all is sent."""
        self.listener.hang_up(connection)
