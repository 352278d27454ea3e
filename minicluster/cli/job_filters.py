"""Which jobs a command is about: the options of `jobs`, and words for states."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job, JobFilter, JobResult, JobState

ACTIVE = ("depend", "priority", "sched", "run", "pending", "running", "active")
"""States, and groups of them, of jobs that have not ended."""
RESULTS = ("completed", "failed", "canceled", "timeout")
EVERY = (*ACTIVE, "cleanup", "inactive", *RESULTS)
"""All that listings take, as `flux jobs --filter`."""
CODES = {
    "d": "depend",
    "p": "priority",
    "s": "sched",
    "r": "run",
    "c": "cleanup",
    "i": "inactive",
    "cd": "completed",
    "f": "failed",
    "ca": "canceled",
    "to": "timeout",
    "pd": "pending",
    "cg": "cleanup",
    "nf": "failed",
    "oom": "failed",
}
"""The codes of `flux jobs`, then those of Slurm's `squeue` that differ, for the words of EVERY."""
StatesFilter = Annotated[
    str,
    typer.Option(
        "--states", "--state", "-S", metavar="STATES", help="In these, as in pending,failed or PD,F."
    ),
]
UserFilter = Annotated[str, typer.Option("--user", "-u", help="Of this user: a name or a number.")]
QueueFilter = Annotated[str, typer.Option("--queue", "-q", metavar="QUEUE", help="In this queue.")]
NameFilter = Annotated[
    str, typer.Option("--job-name", metavar="PATTERN", help="Of this name, as in 'lmp-*'.")
]
SinceFilter = Annotated[
    str,
    typer.Option(
        metavar="WHEN", help="Ended ones too, if they ended since 2h ago, 9:30, yesterday, 2031-01-02."
    ),
]
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", min=1, metavar="JOBS", help="The first ones alone, and how many are left."),
]


@dataclass(frozen=True, slots=True)
class JobSelection:
    """What a listing is restricted to; what is None, 0 or empty does not restrict it."""

    states: JobState | None
    results: JobResult | None
    user: str
    queue: str
    pattern: str
    """Of names: of the shell, as of fnmatch."""
    since: float
    """In seconds since 1970."""

    def find(self, instance: Instance) -> list[Job]:
        """Return the jobs. Raises WrongRequest for a user or a queue that is not there."""
        from minicluster.backends.errors import WrongRequest

        here = instance.links.inherits_environment
        found = self.named(instance.jobs.find(self.filter(here=here), limit=0))
        if not found and self.queue:
            queues = [each.name for each in instance.queues.all()]
            if self.queue not in queues:
                there = f"there are {', '.join(queues)}" if any(queues) else "no queue has a name"
                raise WrongRequest(f"--queue {self.queue}: is not there; {there}")
        return found

    def filter(self, *, here: bool) -> JobFilter:
        """Return the filter for all but patterns; `here` users have names. Raises WrongRequest."""
        from minicluster.instance.records import JobFilter

        exact = "" if set(self.pattern) & set("*?[") else self.pattern
        userid = _userid(self.user, here=here) if self.user else None
        return JobFilter(self.states, self.results, userid, exact, self.queue, self.since)

    def named(self, jobs: Sequence[Job]) -> list[Job]:
        """Return those whose names fit."""
        from fnmatch import fnmatchcase

        return [job for job in jobs if not self.pattern or fnmatchcase(job.name, self.pattern)]


def first(jobs: Sequence[Job], limit: int | None) -> tuple[Sequence[Job], str]:
    """Return the first jobs, and a line with how many are left, by result or state; empty: none is."""
    if limit is None or len(jobs) <= limit:
        return jobs, ""
    left = jobs[limit:]
    counts = Counter(str((each.result or each.state).name) for each in left)
    words = ", ".join(f"{number} {word}" for word, number in counts.most_common())
    return jobs[:limit], f"and {len(left)} more: {words}"


def selection(states: str, user: str, queue: str, pattern: str, since: str, *, every: bool) -> JobSelection:
    """Return what options ask for. Raises BadParameter."""
    start = _past(since) if since else 0.0
    ended_too = every or start > 0
    wanted, results = states_of(states, EVERY) if states or not ended_too else (None, None)
    return JobSelection(wanted or None, results or None, user, queue, pattern, start)


def states_of(text: str, words: Sequence[str]) -> tuple[JobState, JobResult]:
    """Return the states and results in a list such as `pending,failed` or `PD,F`; the active ones without it.

    Raises BadParameter for a word that is not among `words`.
    """
    from minicluster.instance.records import JobResult, JobState

    states, results = JobState(0), JobResult(0)
    for code in text.lower().split(",") if text else ("active",):
        word = CODES.get(code, code)
        if word not in words:
            message = f"{word!r} is no state of a job; right would be {', '.join(words)}"
            raise typer.BadParameter(message, param_hint="--states")
        if word in RESULTS:
            results |= JobResult[word.upper()]
        else:
            states |= JobState[word.upper()]
    return states, results


def _past(text: str) -> float:
    """Return the time of --since in seconds since 1970: a duration back, or a time. Raises BadParameter."""
    import re
    from datetime import datetime

    from broker_config.formats import durations
    from broker_config.formats.errors import DurationError
    from minicluster.embedded.commands import datetimes

    now = datetime.now().astimezone()
    back = re.fullmatch(r"-?([\d.]+[a-z]+)", text)
    with contextlib.suppress(DurationError):  # 3pm
        if back:
            return now.timestamp() - durations.seconds(back[1])
    try:
        start = datetimes.timestamp(text, now)
    except ValueError as error:
        right = "2h, 30m, 9:30, yesterday, 2031-01-02 18:00"
        raise typer.BadParameter(
            f"{text!r} is no time; right would be {right}", param_hint="--since"
        ) from error
    if start > now.timestamp():
        raise typer.BadParameter(f"{text} is in the future", param_hint="--since")
    return start


def _userid(text: str, *, here: bool) -> int:
    """Return a user's number. Raises WrongRequest."""
    import pwd

    from minicluster.backends.errors import WrongRequest

    if text.isdecimal():
        return int(text)
    if not here and text != "root":
        raise WrongRequest(
            f"--user {text}: users of this cluster are numbers, as `minicluster jobs` shows them"
        )
    try:
        return pwd.getpwnam(text).pw_uid
    except KeyError as error:
        raise WrongRequest(f"--user {text}: there is no such user on this machine") from error
