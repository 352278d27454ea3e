"""`minicluster jobs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli import job_filters as filters
from minicluster.cli.backend_choice import BackendCommand, chosen, refuse
from minicluster.cli.cluster_choice import OptionalClusterArgument, split
from minicluster.cli.job_words import Whose
from minicluster.cli.tables import OutputOption, echo, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.cli.job_rows import JobRow
    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job

app = typer.Typer(add_completion=False)
MAX_COMMANDS = 100
"""Jobs of a listing whose commands are asked for: each is a request."""
COLUMNS = (
    *("id", "user", "queue", "name", "state", "urgency", "tasks", "nodes", "submitted", "time", "info"),
)

NONE, NONE_ACTIVE = "no jobs", "no jobs wait or run; --all lists those that have ended as well"


@app.command(cls=BackendCommand)
def jobs(  # noqa: PLR0913, PLR0917 - an option each
    ctx: typer.Context,
    name: OptionalClusterArgument = None,
    job: Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Only these.")] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="Ended ones as well.")] = False,
    states: filters.StatesFilter = "",
    user: filters.UserFilter = "",
    queue: filters.QueueFilter = "",
    job_name: filters.NameFilter = "",
    since: filters.SinceFilter = "",
    source: Annotated[
        str,
        typer.Option("--from", metavar="DUMP", help="Those in a file of `down --dump`; all of them."),
    ] = "",
    limit: filters.LimitOption = None,
    output: OutputOption = "table",
) -> None:
    """List a cluster's jobs: how long ago they were submitted, how long they run, why they wait or failed.

    The JSON output has numbers, and times in seconds since 1970 under the names that Flux has, such as t_run.
    It has the command too, of jobs that are named, and where it lists at most 100.

    minicluster jobs mc --all --output json

    minicluster jobs mc --states failed,timeout --since 2h --job-name 'lmp-*'

    minicluster jobs mc --on kubernetes -n research
    """
    from minicluster.cli import cluster_bursts, job_rows

    left = ""
    selection = filters.selection(
        states, user, queue, job_name, since, every=every or (bool(source) and not states)
    )
    if source:
        found, left = _dumped(ctx, source, name, selection, limit)
    else:
        backend = chosen(ctx)
        cluster, wanted = split(backend, name, job or ())
        if wanted and any((states, user, queue, job_name, since)):
            raise typer.BadParameter("either ids or options that restrict a listing", param_hint="JOB")
        whose = Whose(cluster, lambda: backend.words)
        bursts = cluster_bursts.reader(backend, cluster)

        def find(instance: Instance) -> list[JobRow]:
            nonlocal left
            if wanted:
                named = [whose.job(instance, each) for each in wanted]
                return _with_commands(instance, named, job_rows.rows(instance, named, bursts))
            listed, left = filters.first(selection.find(instance), limit)
            rows = job_rows.rows(instance, listed, bursts)
            return _with_commands(instance, listed, rows) if output == "json" else rows

        found = backend.ask(cluster, find)
    if output == "table":
        found = job_rows.with_submitted(found)
    given = any((every, source, job, states, user, queue, job_name, since))
    show(found, job_rows.columns(found, COLUMNS), output, NONE if given else NONE_ACTIVE)
    if left and output == "table":
        echo(left)


def _dumped(
    ctx: typer.Context, source: str, name: str | None, selection: filters.JobSelection, limit: int | None
) -> tuple[list[JobRow], str]:
    """Return the first jobs of a dump, and what is left; raises BadParameter for what is of a cluster."""
    from minicluster.cli import dumped_jobs, job_rows

    if name is not None:
        raise typer.BadParameter("has a meaning only without --from", param_hint="NAME")
    refuse(ctx, needed="a cluster that is up, not with --from")
    found, left = filters.first(dumped_jobs.find(source, selection), limit)
    return job_rows.dumped_rows(found), left


def _with_commands(instance: Instance, found: Sequence[Job], rows: list[JobRow]) -> list[JobRow]:
    """Return the rows of jobs with their commands, as long as they are not too many."""
    if len(found) > MAX_COMMANDS:
        return rows
    return [{**row, "command": _command(instance, job.id)} for row, job in zip(rows, found, strict=True)]


def _command(instance: Instance, jobid: int) -> Sequence[str] | None:
    """Return a job's command; None where it is gone by now, or another user's."""
    from broker_config.formats.jobspec import command_of
    from minicluster.instance.errors import JobNotFound, RequestRefused

    try:
        return command_of(instance.jobs.jobspec(jobid))
    except (JobNotFound, RequestRefused):
        return None
