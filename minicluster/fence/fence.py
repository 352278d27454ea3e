"""`fence SCRIPT RUN URI FENCE LEAVE`: watches over one broker of the start script, as `limits` has it.

It reads the broker's process id from RUN/broker, which the script writes once RUN/watching is there.
RUN/before has which children the script had before, of a broker's second watcher as well.
RUN/answered has when the lead last answered, in hundredths of a second since the machine was started: it
outlives this process. It ends with 0 when the broker has ended and nothing is left of what it had started,
whatever ended it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from minicluster.fence.broker_processes import BrokerProcesses, adopted_before
from minicluster.fence.lead_requests import LeadRequests
from minicluster.fence.limits import FenceLimits, FenceVerdict, LeadContact, verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from minicluster.fence.lead_requests import LeadRequester

TICK = 0.1
"""Seconds."""
REMEMBER_INTERVAL = 0.5
"""Seconds between two times at which what runs below the broker is remembered."""


class FenceFiles(NamedTuple):
    """The files by which the start script and this process know of each other."""

    run: Path

    @property
    def broker(self) -> Path:
        """The broker's process id; the script writes it."""
        return self.run / "broker"

    @property
    def before(self) -> Path:
        """The children of the script from before its broker; null where it gets no orphans."""
        return self.run / "before"

    @property
    def watching(self) -> Path:
        """Whether this process is ready."""
        return self.run / "watching"

    @property
    def answered(self) -> Path:
        """When the lead last answered, or the follower was started."""
        return self.run / "answered"


def main(arguments: Sequence[str], connect: Callable[[str], LeadRequester]) -> int:
    """Watch until the broker has ended; return the exit code."""
    script, run, uri, fence, leave = arguments
    limits, files = FenceLimits(float(fence or 0), float(leave or 0)), FenceFiles(Path(run))
    processes = BrokerProcesses(int(script), uri, report, _before(files, int(script)))
    return Fence(files, limits, processes).watch(lambda: connect(uri))


def _before(files: FenceFiles, script: int) -> dict[int, int] | None:
    """Return which children of the script are not the broker's; None where it gets no orphans."""
    if files.broker.exists():  # another watcher was killed: meanwhile there may be orphans
        noted = json.loads(files.before.read_text())
        return noted and {int(pid): started for pid, started in noted.items()}
    found = adopted_before(script)
    files.before.write_text(json.dumps(found))
    return found


class Fence:
    """One broker's watcher."""

    def __init__(self, files: FenceFiles, limits: FenceLimits, processes: BrokerProcesses) -> None:
        self._files = files
        self._limits = limits
        self._processes = processes
        self._remember_at = 0.0

    def watch(self, connect: Callable[[], LeadRequester]) -> int:
        """Watch until the broker has ended, and nothing is left of it. Raises OSError for a lost file."""
        self._files.watching.touch()
        self._processes.begin(self._pid())
        requests = LeadRequests(connect, self._limits, _failed)
        requests.start()
        contact = self._first_contact()
        while self._processes.broker_lives:
            contact = self._updated(contact, requests.answered)
            found = verdict(self._limits, contact, time.monotonic())
            if found is not FenceVerdict.WAIT:
                self._end(found)
                return 0
            time.sleep(TICK)
        self._processes.remember()
        if left := self._processes.kill():
            report(f"the broker has ended, and what it had left of its jobs was killed ({_counted(left)})")
        return 0

    def _pid(self) -> int:
        """Return the broker's process id, once the script has started it."""
        while True:
            with contextlib.suppress(OSError, ValueError):
                return int(self._files.broker.read_text())
            time.sleep(TICK / 10)

    def _first_contact(self) -> LeadContact:
        """Return what is known at first; this may be a second watcher of this broker."""
        now, age = time.monotonic(), self._processes.broker_age
        alone = max(0.0, _uptime() - int(self._files.answered.read_text()) / 100)
        return LeadContact(now - min(alone, age), now - alone, joined=alone < age)

    def _updated(self, contact: LeadContact, answered: float | None) -> LeadContact:
        if answered is not None and answered > contact.lead:
            hundredths = int((_uptime() - (time.monotonic() - answered)) * 100)
            fresh = self._files.answered.with_suffix(".new")
            with contextlib.suppress(OSError):  # a full disk: who reads the older time is the more careful
                fresh.write_text(f"{hundredths}\n")
                fresh.replace(self._files.answered)
            contact = LeadContact(answered, answered, joined=True)
        if time.monotonic() >= self._remember_at:
            self._remember_at = time.monotonic() + REMEMBER_INTERVAL
            if self._processes.remember():
                contact = contact._replace(joined=True)
        return contact

    def _end(self, found: FenceVerdict) -> None:
        limit = self._limits.fence if found is FenceVerdict.FENCE else self._limits.leave
        report(f"no answer of the lead for {limit:g} s: the broker is killed, with all that its jobs started")
        report(f"killed: {_counted(self._processes.kill())}")


def report(text: str) -> None:
    """Print a line as the start script does, if anybody reads it."""
    index = os.environ.get("JOB_COMPLETION_INDEX", "")
    with contextlib.suppress(OSError):  # who reads it may be gone: then more than ever there is work to do
        print(f"minicluster[{index}]: fence: {text}", file=sys.stderr, flush=True)


def _counted(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"


def _failed(error: Exception) -> None:
    """End this process, which the script then starts again."""
    traceback.print_exception(type(error), error, error.__traceback__)
    os._exit(1)


def _uptime() -> float:
    """Return the seconds since the machine started, by the clock of the start script."""
    return float(Path("/proc/uptime").read_text().split()[0])
