"""Jobs on the command line, for every back end: their ids, and the document's own command among them."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from minicluster.cli.reporting import PlainReporter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from minicluster.backends.port import Backend
    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job

MAIN = ("minicluster", "main")
"""The group and key of a job's user attributes that mark the document's own command."""


@dataclass(frozen=True, slots=True)
class Whose:
    """The cluster whose jobs a command works with."""

    name: str
    options: Callable[[], str]
    """Returns the options with which a command finds it."""

    def jobid(self, text: str) -> int:
        """Return the id that the user gave, in any form of RFC 19. Raises WrongRequest."""
        from broker_config.formats.jobid import parse
        from minicluster.backends.errors import WrongRequest

        try:
            return parse(text)
        except ValueError as error:
            raise WrongRequest(
                f"{text}: is no job id; `minicluster jobs {self.name}{self.options()}` lists them"
            ) from error

    def job(self, instance: Instance, text: str) -> Job:
        """Return the job whose id the user gave. Raises WrongRequest."""
        from minicluster.backends.errors import WrongRequest
        from minicluster.instance.errors import JobNotFound

        jobid = self.jobid(text)
        try:
            return instance.jobs.get(jobid)
        except JobNotFound as error:
            raise WrongRequest(
                f"{text}: cluster {self.name} has no such job;"
                f" `minicluster jobs {self.name} --all{self.options()}` lists what it has"
            ) from error


def written(jobid: int) -> str:
    """Return a job id as users write it (F58, RFC 19); in ASCII where the terminal has no UTF-8."""
    from broker_config.formats.jobid import f58, f58plain

    wide = "utf" in (sys.stdout.encoding or "").lower()
    return f58(jobid) if wide else f58plain(jobid)


@contextlib.contextmanager
def goes_on(whose: Whose, jobs: Sequence[str] | None = None) -> Iterator[None]:
    """After Ctrl-C in the block, tell the user that jobs go on; without a list the document's own command."""
    try:
        yield
    except KeyboardInterrupt:
        if jobs is None or jobs:
            PlainReporter().notice(going_on(whose, jobs or ()))
        raise


def going_on(whose: Whose, jobs: Sequence[str]) -> str:
    """Return that jobs go on, and what shows them; without any the document's own command."""
    if len(jobs) > 1:
        return f"{len(jobs)} jobs go on: `minicluster jobs {whose.name}{whose.options()}` lists them"
    where = " ".join((whose.name, *jobs)) + whose.options()
    ends = f", `minicluster cancel {where}` ends it" if jobs else ""
    what = jobs[0] if jobs else f"the command of {whose.name}"
    return f"{what} goes on: `minicluster attach {where}` shows it again{ends}"


def each_of(wanted: Iterable[str], work: Callable[[str], str]) -> None:
    """Print what `work` returns of each id. Raises WrongRequest for all that it refuses, in the end."""
    from minicluster.backends.errors import WrongRequest

    wrong = []
    for text in wanted:
        try:
            typer.echo(work(text))
        except WrongRequest as error:
            wrong.append(str(error))
    if wrong:
        raise WrongRequest("\n".join(wrong))


def change_each(
    backend: Backend, whose: Whose, wanted: Sequence[str], change: Callable[[Instance, str], str]
) -> None:
    """Print what `change` returns of each id; what is no id is found before anything is done.

    Raises WrongRequest.
    """
    for each in wanted:
        whose.jobid(each)
    backend.ask(whose.name, lambda instance: each_of(wanted, lambda text: change(instance, text)))


def main_jobs(instance: Instance, jobs: Iterable[Job]) -> set[int]:
    """Return the ids of running jobs that are the document's own command."""
    from minicluster.instance.records import JobState

    running = [job.id for job in jobs if job.state in JobState.RUNNING]
    return {jobid for jobid in running if is_main(instance.jobs.get(jobid))}


def is_main(job: Job) -> bool:
    """Whether the job is the document's own command."""
    group, key = MAIN
    ours = (job.attributes or {}).get(group)
    return isinstance(ours, dict) and ours.get(key) is True
