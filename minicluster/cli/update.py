"""`minicluster update`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import OptionalClusterArgument, split
from minicluster.cli.job_words import Whose, change_each, written

if TYPE_CHECKING:
    from minicluster.instance.port import Instance

app = typer.Typer(add_completion=False)


@app.command(cls=BackendCommand)
def update(
    ctx: typer.Context,
    name: OptionalClusterArgument = None,
    job: Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Ids, as `jobs` prints.")] = None,
    *,
    queue: Annotated[str, typer.Option("--queue", metavar="QUEUE", help="Another queue.")] = "",
    time_limit: Annotated[
        str, typer.Option("--time-limit", metavar="TIME", help="Another time limit: 90s, 30m, 2h, or none.")
    ] = "",
) -> None:
    """Move jobs that wait to another queue, or change the time limit of jobs, also of those that run.

    Each keeps its id.

    minicluster update mc ƒABC123 --queue debug

    minicluster update mc ƒABC123 ƒABC124 --time-limit 2h --on kubernetes -n research
    """
    from minicluster.cli.job_requests import seconds

    duration = (0.0 if time_limit == "none" else seconds(time_limit, "--time-limit")) if time_limit else None
    if not queue and duration is None:
        raise typer.BadParameter("at least one is needed", param_hint="--queue or --time-limit")
    backend = chosen(ctx)
    cluster, wanted = split(backend, name, job or ())
    if not wanted:
        raise typer.BadParameter("is needed; `minicluster jobs` lists them", param_hint="JOB")
    whose = Whose(cluster, lambda: backend.words)
    change_each(backend, whose, wanted, lambda on, text: _updated(on, whose, text, queue, duration))


def _updated(instance: Instance, whose: Whose, text: str, queue: str, duration: float | None) -> str:
    """Update a job, and return what it has now. Raises WrongRequest."""
    from broker_config.formats import durations
    from minicluster.backends.errors import WrongRequest
    from minicluster.instance.errors import JobInactive

    found = whose.job(instance, text)
    try:
        instance.queues.update(found.id, queue=queue, duration=duration)
    except JobInactive:
        raise WrongRequest(f"{text}: has ended already; only what waits or runs can be changed") from None
    changes = [f"queue {queue}"] if queue else []
    if duration is not None:
        changes.append(f"time limit {durations.encode(duration) if duration else 'none'}")
    return f"{written(found.id)}: {', '.join(changes)}"
