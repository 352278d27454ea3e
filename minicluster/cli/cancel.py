"""`minicluster cancel`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import OptionalClusterArgument, split
from minicluster.cli.job_filters import ACTIVE, states_of
from minicluster.cli.job_words import Whose, change_each, main_jobs, written
from minicluster.cli.reporting import PlainReporter

if TYPE_CHECKING:
    from minicluster.instance.port import Instance
    from minicluster.instance.records import JobState

app = typer.Typer(add_completion=False)


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
        change_each(backend, whose, wanted, lambda on, text: _end(on, whose, text, message))
        return
    which, _ = states_of(states, ACTIVE)
    done = backend.ask(cluster, lambda instance: _all(instance, which, message))
    typer.echo("1 job canceled" if done == 1 else f"{done} jobs canceled")


def _end(instance: Instance, whose: Whose, text: str, message: str) -> str:
    """Cancel a job, and return what was done. Raises WrongRequest."""
    from minicluster.backends.errors import WrongRequest
    from minicluster.instance.errors import JobInactive

    found = whose.job(instance, text)
    if found.result is None:
        with contextlib.suppress(JobInactive):
            instance.jobs.cancel(found.id, message)
            return f"{written(found.id)}: canceled"
        found = instance.jobs.wait(found.id)
    result = found.result.name if found.result else "an unknown result"
    raise WrongRequest(f"{text}: has ended already, with {result}; there is nothing to cancel")


def _all(instance: Instance, states: JobState, message: str) -> int:
    """Cancel the jobs in some states, and return how many; the document's own command is left running."""
    from minicluster.instance.errors import JobInactive, JobNotFound
    from minicluster.instance.records import JobFilter

    active = instance.jobs.find(JobFilter(states=states), limit=0)
    own = main_jobs(instance, active)
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
