"""`minicluster jobs`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import OptionalClusterArgument, split
from minicluster.cli.job_words import Whose
from minicluster.cli.tables import OutputOption, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.cli.job_rows import JobRow
    from minicluster.instance.port import Instance

app = typer.Typer(add_completion=False)
COLUMNS = (
    *("id", "user", "queue", "name", "state", "urgency", "tasks", "nodes", "submitted", "time", "info"),
)


@app.command(cls=BackendCommand)
def jobs(
    ctx: typer.Context,
    name: OptionalClusterArgument = None,
    job: Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Only these.")] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="Ended ones as well.")] = False,
    output: OutputOption = "table",
) -> None:
    """List a cluster's jobs: how long ago they were submitted, how long they run, why they wait or failed.

    The JSON output has numbers, and times in seconds since 1970 under the names that Flux has, such as t_run.
    Of jobs that are named it has the command too.

    minicluster jobs mc --all --output json

    minicluster jobs mc --on kubernetes -n research
    """
    from minicluster.cli import job_rows

    backend = chosen(ctx)
    cluster, wanted = split(backend, name, job or ())
    whose = Whose(cluster, lambda: backend.words)

    def find(instance: Instance) -> list[JobRow]:
        return _named(instance, whose, wanted) if wanted else _listed(instance, every=every)

    found = backend.ask(cluster, find)
    if output == "table":
        found = job_rows.with_submitted(found)
    show(found, job_rows.columns(found, COLUMNS), output, "no jobs")


def _listed(instance: Instance, *, every: bool) -> list[JobRow]:
    from minicluster.cli import job_rows
    from minicluster.instance.records import JobFilter, JobState

    which = JobFilter() if every else JobFilter(states=JobState.ACTIVE)
    return job_rows.rows(instance, instance.jobs.find(which, limit=0))


def _named(instance: Instance, whose: Whose, wanted: Sequence[str]) -> list[JobRow]:
    """Return the jobs of these ids, with their commands."""
    from broker_config.formats.jobspec import command_of
    from minicluster.cli import job_rows

    found = [whose.job(instance, each) for each in wanted]
    commands = [command_of(instance.jobs.jobspec(job.id)) for job in found]
    rows = job_rows.rows(instance, found)
    return [{**row, "command": command} for row, command in zip(rows, commands, strict=True)]
