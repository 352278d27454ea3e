"""Jobs of a cluster that is up: submit, jobs, attach, cancel, shell."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minicluster.cli.options import ClusterName
from minicluster.cli.tables import Output, age, show

if TYPE_CHECKING:
    from minicluster.instance.records import Job

app = typer.Typer()
JobId = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, as `submit` and `jobs` print it.")]


@app.command()
def submit(  # noqa: PLR0913, PLR0917 - an option each
    name: ClusterName,
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND...", help="The program and its arguments.")
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

    minicluster submit mc -n 4 -- lmp -in in.lj
    """
    from minicluster.instance.records import JobRequest
    from minicluster.local import connection

    request = JobRequest(
        command=tuple(command),
        tasks=max(tasks, nodes),
        nodes=nodes,
        cores_per_task=cores,
        dependencies=tuple(dependency or ()),
        urgency=urgency,
        duration=time_limit,
        environment=connection.environment(name),
    )
    with connection.of(name) as instance:
        typer.echo(connection.written(instance.submit(request)))


@app.command()
def jobs(
    name: ClusterName,
    every: Annotated[bool, typer.Option("--all", "-a", help="Ended ones as well.")] = False,
    output: Output = "table",
) -> None:
    """List a cluster's jobs.

    minicluster jobs mc --all --output json
    """
    from minicluster.instance.records import JobFilter, JobState
    from minicluster.local import connection

    which = JobFilter() if every else JobFilter(states=JobState.ACTIVE)
    with connection.of(name) as instance:
        rows = [_row(job) for job in instance.jobs(which, limit=0)]
    show(rows, ("id", "state", "tasks", "nodes", "time", "ranks", "name"), output, "no jobs")


@app.command()
def attach(name: ClusterName, job: JobId) -> None:
    """Show a job's output until it ends, and end with its exit code.

    minicluster attach mc ƒABC123
    """
    from minicluster.local import connection

    with connection.of(name) as instance:
        found = connection.job(instance, name, job)
        jobid, labelled = found.id, found.ntasks > 1
        connection.copy_output(instance, jobid, labelled=labelled)
        code = connection.exit_code(instance.wait(jobid))
    raise typer.Exit(code)


@app.command()
def cancel(name: ClusterName, job: JobId) -> None:
    """Cancel a job.

    minicluster cancel mc ƒABC123
    """
    from minicluster.local import connection
    from minicluster.local.errors import UsageProblem

    with connection.of(name) as instance:
        found = connection.job(instance, name, job)
        if found.result is not None:
            raise UsageProblem(
                f"{job}: has ended already, with {found.result.name}; there is nothing to cancel"
            )
        instance.cancel(found.id, "minicluster cancel")


@app.command()
def shell(
    name: ClusterName,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="Run this, then leave.")
    ] = None,
) -> None:
    """Open a shell in which `flux` speaks to the cluster.

    minicluster shell mc

    minicluster shell mc -- flux resource list
    """
    import subprocess

    from minicluster.local import connection
    from minicluster.local.run import shell_of_user

    words = tuple(command or shell_of_user())
    try:
        done = subprocess.run(words, env=connection.environment(name), check=False)
    except OSError as error:
        print(f"minicluster: {words[0]}: cannot be started: {error.strerror}", file=sys.stderr)
        raise typer.Exit(127 if isinstance(error, FileNotFoundError) else 126) from error
    raise typer.Exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


def _row(job: Job) -> dict[str, Any]:
    from minicluster.local import connection

    end = job.t_inactive or time.time()
    return {
        "id": connection.written(job.id),
        "name": job.name,
        "state": job.result.name if job.result else job.state.name,
        "tasks": job.ntasks,
        "nodes": job.nnodes or None,  # not known before it runs
        "time": age(end - job.t_run) if job.t_run else "",
        "ranks": job.ranks,
        "exit_code": job.returncode,
        "exception": job.exception.note if job.exception else "",
    }
