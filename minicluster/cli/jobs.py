"""Jobs of a cluster that is up: submit, jobs, attach, cancel."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import MaybeName, split
from minicluster.cli.job_words import Whose, copy_output, exit_code, is_main, written
from minicluster.cli.options import ClusterName
from minicluster.cli.program_command import BackendProgramCommand
from minicluster.cli.reporting import write_line
from minicluster.cli.tables import Output, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.backends.port import Backend
    from minicluster.backends.records import Following
    from minicluster.cli.job_rows import Row
    from minicluster.instance.port import Instance

app = typer.Typer(add_completion=False)
COLUMNS = (
    *("id", "user", "queue", "name", "state", "urgency", "tasks", "nodes", "submitted", "time", "info"),
)
JobId = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, as `submit` and `jobs` print it.")]


@app.command(cls=BackendProgramCommand)
def submit(  # noqa: PLR0913, PLR0917 - an option each
    ctx: typer.Context,
    name: ClusterName,
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND...", help="The program and its arguments; options go before it."),
    ],
    tasks: Annotated[int, typer.Option("--tasks", "-n", min=1, help="Number of tasks.")] = 1,
    nodes: Annotated[
        int, typer.Option("--nodes", "-N", min=0, help="On so many brokers; 0: wherever they fit.")
    ] = 0,
    cores: Annotated[int, typer.Option("--cores-per-task", "-c", min=1, help="Cores of each task.")] = 1,
    dependency: Annotated[list[str] | None, typer.Option(help="As in afterok:JOB; may be repeated.")] = None,
    urgency: Annotated[int, typer.Option(min=0, max=31, help="31 first, 0 held.")] = 16,
    time_limit: Annotated[
        float, typer.Option(min=0, help="Seconds after which the job is ended; 0: none.")
    ] = 0.0,
) -> None:
    """Send a job to a cluster, and print its id.

    On Kubernetes it has the environment and the working directory of the lead's pod, not yours.
    What stands behind the program's name is the program's; `--` before it is allowed.

      minicluster submit mc -n 4 lmp -in in.lj

      minicluster submit mc --on kubernetes --namespace research -- hostname
    """
    from minicluster.instance.records import JobRequest

    backend = chosen(ctx)
    request = JobRequest(
        command=tuple(command),
        tasks=max(tasks, nodes),
        nodes=nodes,
        cores_per_task=cores,
        dependencies=tuple(dependency or ()),
        urgency=urgency,
        duration=time_limit,
        environment=backend.job_environment(name),
    )
    typer.echo(written(backend.ask(name, lambda instance: instance.jobs.submit(request))))


@app.command(cls=BackendCommand)
def jobs(
    ctx: typer.Context,
    name: MaybeName = None,
    job: Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Only these.")] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="Ended ones as well.")] = False,
    output: Output = "table",
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

    def find(instance: Instance) -> list[Row]:
        return _named(instance, whose, wanted) if wanted else _listed(instance, every=every)

    found = backend.ask(cluster, find)
    if output == "table":
        found = job_rows.with_submitted(found)
    show(found, job_rows.columns(found, COLUMNS), output, "no jobs")


@app.command(cls=BackendCommand)
def attach(
    ctx: typer.Context,
    name: ClusterName,
    job: Annotated[
        str | None,
        typer.Argument(metavar="[JOB]", help="A job's id; without one, on Kubernetes: the main command."),
    ] = None,
) -> None:
    """Show a job's output until it ends, and end with its exit code.

    On Kubernetes without a JOB: the document's own command, also when it has ended, while its pod is there.

      minicluster attach mc ƒABC123

      minicluster attach mc --on kubernetes -n research
    """
    backend = chosen(ctx)
    if job is None:
        from minicluster.backends.errors import NotOffered

        with contextlib.suppress(NotOffered):
            raise typer.Exit(backend.attach(name, write_line, None))
    if not job:
        what = "needed" if job is None else "empty (did the command fail that was to tell it?)"
        raise typer.BadParameter(f"is {what}; `minicluster jobs` lists them", param_hint="JOB")
    whose = _whose(backend, name)
    whose.jobid(job)

    def follow(instance: Instance, following: Following) -> int:
        found = whose.job(instance, job)
        following.is_main = is_main(found)
        copy_output(instance, found)
        following.is_shown = True
        return exit_code(instance.jobs.wait(found.id))

    raise typer.Exit(backend.attach(name, write_line, follow))


@app.command(cls=BackendCommand)
def cancel(ctx: typer.Context, name: ClusterName, job: JobId) -> None:
    """Cancel a job.

    minicluster cancel mc ƒABC123

    minicluster cancel mc ƒABC123 --on kubernetes -n research
    """
    from minicluster.backends.errors import WrongRequest

    backend = chosen(ctx)
    whose = _whose(backend, name)
    whose.jobid(job)

    def end(instance: Instance) -> None:
        found = whose.job(instance, job)
        if found.result is not None:
            raise WrongRequest(
                f"{job}: has ended already, with {found.result.name}; there is nothing to cancel"
            )
        instance.jobs.cancel(found.id, "minicluster cancel")

    backend.ask(name, end)


def _whose(backend: Backend, name: str) -> Whose:
    return Whose(name, lambda: backend.words)


def _listed(instance: Instance, *, every: bool) -> list[Row]:
    from minicluster.cli import job_rows
    from minicluster.instance.records import JobFilter, JobState

    which = JobFilter() if every else JobFilter(states=JobState.ACTIVE)
    return job_rows.rows(instance, instance.jobs.find(which, limit=0))


def _named(instance: Instance, whose: Whose, wanted: Sequence[str]) -> list[Row]:
    """Return the jobs of these ids, with their commands."""
    from minicluster.cli import job_rows

    found = [whose.job(instance, each) for each in wanted]
    commands = [instance.jobs.jobspec(job.id)["tasks"][0]["command"] for job in found]
    rows = job_rows.rows(instance, found)
    return [{**row, "command": command} for row, command in zip(rows, commands, strict=True)]
