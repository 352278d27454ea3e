"""What tasks of jobs write outside of clusters, again and again: which of them was alive where, and when."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINE = 'echo "$NAME $FLUX_JOB_ID $FLUX_TASK_RANK $(hostname) $(date +%s.%N)"'
ALIVE = f"until test -e /ledger/released; do {LINE} >>/ledger/alive; sleep 0.2; done; {LINE} >>/ledger/done"


class TaskLine(NamedTuple):
    """That a task was alive."""

    name: str
    """Of the job, as the test calls it: a job that begins anew keeps it."""
    job: str
    """Its id."""
    rank: int
    host: str
    time: float
    """In seconds since 1970."""


class TaskRun(NamedTuple):
    """One run of a job: by its tasks, from the first sign of life to the last one."""

    job: str
    hosts: frozenset[str]
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class TaskLedger:
    """A folder that all pods have as /ledger."""

    folder: Path

    @classmethod
    def empty(cls, folder: Path) -> TaskLedger:
        """Make the folder."""
        folder.mkdir()
        folder.chmod(0o777)
        return cls(folder)

    @property
    def volume(self) -> dict[str, str]:
        """The volume of a container that has the folder."""
        return {"hostPath": str(self.folder), "path": "/ledger"}

    def script(self, name: str) -> str:
        """Return what the tasks of a job run: they end when they are released."""
        return f"NAME={name}; {ALIVE}"

    def brief(self, name: str, seconds: float) -> str:
        """The same; they end after so many seconds."""
        return f"NAME={name}; {LINE} >>/ledger/alive; sleep {seconds}; {LINE} >>/ledger/done"

    def release(self) -> None:
        """Let all tasks end."""
        (self.folder / "released").touch()

    def runs(self, name: str) -> list[TaskRun]:
        """Return the runs of a job, the first one first."""
        found: defaultdict[str, list[TaskLine]] = defaultdict(list)
        for line in self._lines("alive"):
            if line.name == name:
                found[line.job].append(line)
        made = [
            TaskRun(job, frozenset(each.host for each in lines), lines[0].time, lines[-1].time)
            for job, lines in found.items()
        ]
        return sorted(made, key=lambda run: run.first)

    def tasks(self, name: str) -> int:
        """Return how many tasks of a job's last run have begun."""
        runs = self.runs(name)
        return len({each.rank for each in self._lines("alive") if each.job == runs[-1].job}) if runs else 0

    def seen_since(self, name: str, when: float) -> int:
        """Return how many tasks of a job have been alive after a time."""
        return len({each.rank for each in self._lines("alive") if each.name == name and each.time > when})

    def overlaps(self, name: str) -> bool:
        """Return whether a job ran twice at once."""
        return any(one.last >= other.first for one, other in pairwise(self.runs(name)))

    def ended(self, name: str) -> Counter[int]:
        """Return how often each task of a job came to its end."""
        return Counter(each.rank for each in self._lines("done") if each.name == name)

    def _lines(self, file: str) -> Iterator[TaskLine]:
        path = self.folder / file
        lines = path.read_text().splitlines() if path.exists() else []
        yield from sorted(map(_line, lines), key=lambda line: line.time)


def _line(text: str) -> TaskLine:
    name, job, rank, host, when = text.split()
    return TaskLine(name, job, int(rank), host, float(when))
