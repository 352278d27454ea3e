"""`minicluster resize`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.job_words import Whose, written
from minicluster.cli.options import ClusterArgument

if TYPE_CHECKING:
    from minicluster.instance.port import Instance

app = typer.Typer(add_completion=False)


@app.command(cls=BackendCommand)
def resize(
    ctx: typer.Context,
    name: ClusterArgument,
    job: Annotated[str, typer.Argument(metavar="JOB", help="Its id, as `jobs` prints.")],
    workers: Annotated[int, typer.Argument(min=1, help="How many it shall have: tasks, or nodes with -N.")],
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until it has them.")] = True,
) -> None:
    """Have a malleable job grow or shrink while it runs, as a queue policy would.

    Its program answers, and may refuse. For a minute the cluster's policy then leaves the job as it is.

      minicluster resize mc ƒABC123 2

      minicluster resize mc ƒABC123 8 --on kubernetes -n research
    """
    backend = chosen(ctx)
    whose = Whose(name, lambda: backend.words)
    whose.jobid(job)
    typer.echo(backend.ask(name, lambda instance: _resized(instance, whose, job, workers, wait=wait)))


def _resized(instance: Instance, whose: Whose, text: str, workers: int, *, wait: bool) -> str:
    """Resize a job, and return what became of it. Raises WrongRequest, BackendError."""
    from minicluster.backends.errors import BackendError, WrongRequest
    from minicluster.instance.errors import JobInactive, NotResized

    jobid = whose.job(instance, text).id
    try:
        before = instance.jobs.resize(jobid, workers, wait=wait)
    except JobInactive as error:
        raise WrongRequest(f"{text}: has ended; there is nothing to resize") from error
    except NotResized as error:
        raise BackendError(f"{text}: {error.reason}") from error
    if before == workers:
        return f"{written(jobid)}: has {_count(workers)} already"
    asked = "" if wait else " asked for"
    return f"{written(jobid)}: {before} → {_count(workers)}{asked}"


def _count(workers: int) -> str:
    return "1 worker" if workers == 1 else f"{workers} workers"
