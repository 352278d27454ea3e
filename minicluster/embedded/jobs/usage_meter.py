"""What running jobs use, by the ranks' reports, and what programs used in earlier runs."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from queue_policies import degradation
from queue_policies.sharing import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.embedded.jobs.job import ActiveJob
    from queue_policies.records import RunningJob
    from queue_policies.sharing import JobEnd

WINDOW_SAMPLES = 10
"""Usage is that of the latest reports of each rank: about as many seconds."""
MAX_PROGRAMS = 200
"""Of so many programs, those that ran last, it is kept what they used."""
_LEAST_SECONDS = 2.0  # of less nothing is known
_LEAST_WINDOW = 5.0  # seconds beside a guest: of less it is not known whether that slows the host down
_NEW = 0.5  # the weight of the latest run among the earlier ones
_BUSY = 0.25  # of a core's time: with more it counts as busy


class UsageSample(NamedTuple):
    """A report of one rank about one job."""

    rank: int
    seconds: float
    cpu: float
    """Seconds of CPU time."""
    memory: float
    """The fraction of the rank's memory."""


@dataclass(slots=True)
class JobMeter:
    """Adds up the reports about one job."""

    cores: Mapping[int, float]
    """How many cores it has on each rank."""
    fractions: Mapping[int, float]
    """Which fraction of the rank's cores these are."""
    since: float
    """When its quota and its neighbours were as they are now."""
    cpu_seconds: float = 0.0
    """All that it has used."""
    alone: bool = True
    """Whether it has had its cores alone since its start."""
    slowdown: float = 0.0
    """How much slower than its quota explains it was beside guests."""
    reported: bool = False
    """Whether that was reported, since quota and neighbours are as they are."""
    _window: dict[int, deque[UsageSample]] = field(default_factory=dict)

    def add(self, sample: UsageSample) -> None:
        """Take in a report."""
        if sample.rank in self.cores:
            self.cpu_seconds += sample.cpu
            self._window.setdefault(sample.rank, deque(maxlen=WINDOW_SAMPLES)).append(sample)

    def begin_anew(self, now: float) -> None:
        """Forget what was used while quota or neighbours were others."""
        self.since = now
        self.reported = False
        self._window.clear()

    def degraded(self, job: RunningJob, alone: Usage, used: Usage) -> bool:
        """Return whether guests slow a host down by much, once: it does less than it could by its quota."""
        seconds = min(sum(each.seconds for each in samples) for samples in self._window.values())
        if not job.guests or seconds < _LEAST_WINDOW:
            return False
        found = degradation.while_running(alone.cpu, job.quota, used.cpu)
        self.slowdown = max(self.slowdown, found)
        before, self.reported = self.reported, self.reported or found >= degradation.MUCH
        return self.reported and not before

    def usage(self) -> Usage | None:
        """Return what it uses; None: not known yet."""
        if self._window.keys() != self.cores.keys():
            return None
        used = sum(
            sum(each.cpu for each in samples) / sum(each.seconds for each in samples)
            for samples in self._window.values()
        )
        latest = [samples[-1].memory for samples in self._window.values()]
        size = sum(self.cores.values())
        busy = min(int(size), int(used) + (used % 1 > _BUSY))
        memory = sum(latest) / sum(self.fractions.values())
        return Usage(min(1.0, used / size), min(1.0, memory), busy, self.since)


class ProgramRuns(NamedTuple):
    """What a program used in earlier runs of one size, the latest ones the most."""

    cpu: float
    memory: float
    busy: int
    cpu_seconds: float
    """In all."""
    seconds: float | None
    """From start to end, with its cores alone; None: it never had."""
    slowdown: float = 0.0
    """How much slower than quotas explain it was as a host."""

    def usage(self) -> Usage:
        """Return it as policies read it."""
        return Usage(self.cpu, self.memory, self.busy, slowdown=self.slowdown)


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """The run time of a rigid job, by earlier runs of its program."""

    known: float

    def seconds(self, _size: int) -> float:
        """Return the seconds from its start to its end."""
        return self.known


class Programs:
    """Programs by user, name and size of the job."""

    def __init__(self, text: str | None = None) -> None:
        self._runs: dict[tuple[int, str, int], ProgramRuns] = {}
        for user, name, size, *runs in json.loads(text or "[]"):
            self._runs[user, name, size] = ProgramRuns(*runs)

    def text(self) -> str:
        """Return all of it as JSON."""
        return json.dumps([[*key, *runs] for key, runs in self._runs.items()], separators=(",", ":"))

    def find(self, job: ActiveJob, size: int) -> ProgramRuns | None:
        """Return earlier runs of a job's program; of another size they tell its usage alone."""
        found = self._runs.get((job.userid, job.name, size))
        if found is not None:
            return found
        others = (
            runs for (user, name, _), runs in self._runs.items() if (user, name) == (job.userid, job.name)
        )
        other = next(others, None)
        return None if other is None else other._replace(cpu_seconds=0.0, seconds=None)

    def add(self, job: ActiveJob, size: int, meter: JobMeter, usage: Usage, end: JobEnd) -> None:
        """Take in a run that ended well, which was measured alone."""
        seconds = end.ended - end.started
        if seconds < _LEAST_SECONDS or meter.cpu_seconds <= 0:
            return
        now = ProgramRuns(
            usage.cpu, usage.memory, usage.busy, meter.cpu_seconds, seconds if meter.alone else None
        )
        key = (job.userid, job.name, size)
        before = self._runs.pop(key, now)
        shown = None if before.seconds is None else degradation.of_run(end, before.seconds, before.cpu)
        self._runs[key] = ProgramRuns(
            _mixed(before.cpu, now.cpu),
            _mixed(before.memory, now.memory),
            now.busy,
            _mixed(before.cpu_seconds, now.cpu_seconds),
            before.seconds if now.seconds is None else _mixed(before.seconds or now.seconds, now.seconds),
            degradation.after_run(before.slowdown, shown),
        )
        while len(self._runs) > MAX_PROGRAMS:
            del self._runs[next(iter(self._runs))]


def _mixed(before: float, now: float) -> float:
    return before + _NEW * (now - before)
