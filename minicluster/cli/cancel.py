"""`minicluster cancel`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import OptionalClusterArgument, split
from minicluster.cli.job_words import Whose, is_main, written
from minicluster.cli.reporting import PlainReporter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.instance.port import Instance
    from minicluster.instance.records import JobState

app = typer.Typer(add_completion=False)
GROUPS = ("depend", "priority", "sched", "run", "pending", "running", "active")
"""The states, and groups of them, that --states takes."""


@app.command(cls=BackendCommand)
def cancel(
    ctx: typer.Context,
    name: OptionalClusterArgument = None,
    job: Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Ids, as `jobs` prints.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All jobs that have not ended.")] = False,
    states: Annotated[
        str, typer.Option("--states", "-S", metavar="STATES", help="All in these, as in pending,run.")
    ] = "",
    message: Annotated[
        str, typer.Option("--message", "-m", metavar="NOTE", help="Why, for the job's record.")
    ] = "minicluster cancel",
) -> None:
    """Cancel jobs, and print which or how many. --all and --states leave the document's own command running.

    minicluster cancel mc ƒABC123 ƒABC124

    minicluster cancel mc --states pending

    minicluster cancel mc --all --on kubernetes -n research
    """
    backend = chosen(ctx)
    cluster, wanted = split(backend, name, job or ())
    if bool(wanted) == bool(every or states):
        needed = "either ids or --all or --states" if wanted else "is needed, or --all, or --states"
        raise typer.BadParameter(f"{needed}; `minicluster jobs` lists them", param_hint="JOB")
    whose = Whose(cluster, lambda: backend.words)
    if wanted:
        for each in wanted:
            whose.jobid(each)  # what is none is found before anything is done
        backend.ask(cluster, lambda instance: _each(instance, whose, wanted, message))
        return
    which = _parsed(states)
    done = backend.ask(cluster, lambda instance: _all(instance, which, message))
    typer.echo("1 job canceled" if done == 1 else f"{done} jobs canceled")


def _parsed(text: str) -> JobState:
    """Return the states in a list such as `pending,run`; all active ones without any. Raises BadParameter."""
    from minicluster.instance.records import JobState

    found = JobState(0)
    for word in text.split(",") if text else ("active",):
        if word.lower() not in GROUPS:
            message = f"{word!r} is no state of a job; right would be {', '.join(GROUPS)}"
            raise typer.BadParameter(message, param_hint="--states")
        found |= JobState[word.upper()]
    return found


def _each(instance: Instance, whose: Whose, wanted: Sequence[str], message: str) -> None:
    """Cancel jobs by their ids. Raises WrongRequest for all that could not be, once the others are."""
    from minicluster.backends.errors import WrongRequest

    wrong = []
    for text in wanted:
        try:
            typer.echo(f"{_end(instance, whose, text, message)}: canceled")
        except WrongRequest as error:
            wrong.append(str(error))
    if wrong:
        raise WrongRequest("\n".join(wrong))


def _end(instance: Instance, whose: Whose, text: str, message: str) -> str:
    """Cancel a job, and return its id. Raises WrongRequest."""
    from minicluster.backends.errors import WrongRequest
    from minicluster.instance.errors import JobInactive

    found = whose.job(instance, text)
    if found.result is None:
        with contextlib.suppress(JobInactive):
            instance.jobs.cancel(found.id, message)
            return written(found.id)
        found = instance.jobs.wait(found.id)
    result = found.result.name if found.result else "an unknown result"
    raise WrongRequest(f"{text}: has ended already, with {result}; there is nothing to cancel")


def _all(instance: Instance, states: JobState, message: str) -> int:
    """Cancel the jobs in some states, and return how many; the document's own command is left running."""
    from minicluster.instance.errors import JobInactive, JobNotFound
    from minicluster.instance.records import JobFilter, JobState

    active = instance.jobs.find(JobFilter(states=states), limit=0)
    running = [job.id for job in active if job.state in JobState.RUNNING]
    own = {jobid for jobid in running if is_main(instance.jobs.get(jobid))}
    if not own:
        return instance.jobs.cancel_all(states, message)
    count = 0
    for job in active:
        if job.id not in own:
            with contextlib.suppress(JobInactive, JobNotFound):
                instance.jobs.cancel(job.id, message)
                count += 1
    for jobid in own:
        PlainReporter().notice(f"{written(jobid)} is the document's own command, and goes on")
    return count
