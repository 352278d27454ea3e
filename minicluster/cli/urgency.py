"""`minicluster urgency`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import OptionalClusterArgument, split
from minicluster.cli.job_words import Whose, change_each, written

if TYPE_CHECKING:
    from minicluster.instance.port import Instance

app = typer.Typer(add_completion=False)
_MEANING = {0: " (held)", 31: " (expedited)"}


@app.command(cls=BackendCommand)
def urgency(
    ctx: typer.Context,
    name: OptionalClusterArgument = None,
    job: Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Ids, as `jobs` prints.")] = None,
    *,
    value: Annotated[
        str, typer.Argument(metavar="URGENCY", help="0 to 31, or hold (0), default (16), expedite (31).")
    ],
) -> None:
    """Change the urgency of jobs that wait, and print what it was and is: hold, release or expedite them.

    minicluster urgency mc ƒABC123 ƒABC124 hold

    minicluster urgency mc ƒABC123 default

    minicluster urgency mc ƒABC123 expedite --on kubernetes -n research
    """
    from minicluster.cli.job_requests import urgency_of

    number = urgency_of(value, "URGENCY")
    backend = chosen(ctx)
    cluster, wanted = split(backend, name, job or ())
    if not wanted:
        raise typer.BadParameter("is needed; `minicluster jobs` lists them", param_hint="JOB")
    whose = Whose(cluster, lambda: backend.words)
    change_each(backend, whose, wanted, lambda on, text: _changed(on, whose, text, number))


def _changed(instance: Instance, whose: Whose, text: str, number: int) -> str:
    """Change the urgency of a job, and return what it was and is. Raises WrongRequest."""
    from minicluster.backends.errors import WrongRequest
    from minicluster.instance.errors import JobInactive, RequestRefused
    from minicluster.instance.records import JobState

    found = whose.job(instance, text)
    try:
        before = instance.jobs.set_urgency(found.id, number)
        return f"{written(found.id)}: urgency {_worded(before)} → {_worded(number)}"
    except (JobInactive, RequestRefused):
        found = instance.jobs.get(found.id)
        if found.state in JobState.PENDING:
            raise
    state = f"has ended already, with {found.result.name}" if found.result else "runs already"
    raise WrongRequest(f"{text}: {state}; only the urgency of a job that waits can be changed")


def _worded(number: int) -> str:
    return f"{number}{_MEANING.get(number, '')}"
