"""`minicluster attach`."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import EMPTY, OptionalClusterArgument, split
from minicluster.cli.job_words import Whose, goes_on, is_main
from minicluster.cli.reporting import write_line

if TYPE_CHECKING:
    from minicluster.backends.port import Backend
    from minicluster.backends.records import Following
    from minicluster.instance.port import Instance

app = typer.Typer(add_completion=False)


@app.command(cls=BackendCommand)
def attach(
    ctx: typer.Context,
    name: OptionalClusterArgument = None,
    job: Annotated[
        str | None,
        typer.Argument(metavar="JOB", help="A job's id; without one, on Kubernetes: the main command."),
    ] = None,
) -> None:
    """Show a job's output until it ends, and end with its exit code. After Ctrl-C the job goes on.

    On Kubernetes without a JOB: the document's own command, also when it has ended, while its pod is there.

      minicluster attach mc ƒABC123

      minicluster attach mc --on kubernetes -n research
    """
    backend = chosen(ctx)
    cluster, jobs = split(backend, name, () if job is None else (job,))
    if not jobs:
        _main_command(backend, cluster)
    if not jobs or not jobs[0]:
        what = EMPTY if jobs else "is needed"
        raise typer.BadParameter(f"{what}; `minicluster jobs` lists them", param_hint="JOB")
    whose = Whose(cluster, lambda: backend.words)
    whose.jobid(jobs[0])

    def follow(instance: Instance, following: Following) -> int:
        from minicluster.cli import job_follow

        found = whose.job(instance, jobs[0])
        following.is_main = is_main(found)
        with job_follow.reported(instance, found):
            job_follow.copy_output(instance, found)
        following.is_shown = True
        return job_follow.exit_code(instance.jobs.wait(found.id))

    with goes_on(whose, jobs):
        raise typer.Exit(backend.attach(cluster, write_line, follow))


def _main_command(backend: Backend, cluster: str) -> None:
    """Show the document's own command to its end; return where the back end does not offer that."""
    from minicluster.backends.errors import NotOffered

    with contextlib.suppress(NotOffered), goes_on(Whose(cluster, lambda: backend.words)):
        raise typer.Exit(backend.attach(cluster, write_line, None))
