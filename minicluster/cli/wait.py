"""`minicluster wait`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import OptionalClusterArgument, split
from minicluster.cli.job_words import Whose, goes_on, going_on, is_main, main_jobs, written
from minicluster.cli.reporting import PlainReporter, write_line

if TYPE_CHECKING:
    from minicluster.backends.records import Following
    from minicluster.instance.port import Instance
    from minicluster.instance.records import Job

app = typer.Typer(add_completion=False)


@app.command(cls=BackendCommand)
def wait(
    ctx: typer.Context,
    name: OptionalClusterArgument = None,
    job: Annotated[list[str] | None, typer.Argument(metavar="JOB", help="Ids, as `jobs` prints.")] = None,
    every: Annotated[bool, typer.Option("--all", help="For all jobs that have not ended.")] = False,
    timeout: Annotated[
        str, typer.Option(metavar="FSD", help="For 30s, 5m, 1.5h at most; without a unit seconds.")
    ] = "",
) -> None:
    """Wait until jobs have ended, print how each of them did, and end with the greatest exit code.

    After Ctrl-C, or when the time is over (exit code 124), the jobs go on. --all leaves the document's own
    command out.

      minicluster wait mc ƒABC123 ƒABC124

      minicluster wait mc --all --timeout 10m

      minicluster wait mc ƒABC123 --on kubernetes -n research
    """
    from minicluster.cli.job_requests import seconds

    limit = seconds(timeout, "--timeout") if timeout else None
    backend = chosen(ctx)
    cluster, wanted = split(backend, name, job or ())
    if bool(wanted) == every:
        needed = "either ids or --all" if wanted else "is needed, or --all"
        raise typer.BadParameter(f"{needed}; `minicluster jobs` lists them", param_hint="JOB")
    whose = Whose(cluster, lambda: backend.words)
    for each in wanted:
        whose.jobid(each)
    left: list[str] = []

    def follow(instance: Instance, following: Following) -> int:
        named = (whose.job(instance, each) for each in wanted)
        jobs = _active(instance) if every else list({job.id: job for job in named}.values())
        following.is_main = len(jobs) == 1 and is_main(jobs[0])
        following.is_shown = True  # nothing of its output is
        return _ended(instance, whose, jobs, left, limit)

    with goes_on(whose, left):
        raise typer.Exit(backend.attach(cluster, write_line, follow))


def _ended(instance: Instance, whose: Whose, jobs: list[Job], left: list[str], limit: float | None) -> int:
    """Return the greatest exit code of jobs once all have ended. Raises OutOfTime."""
    from broker_config.formats import durations
    from minicluster.backends.errors import OutOfTime
    from minicluster.cli import job_follow

    if not jobs:
        typer.echo("no jobs")
    code = job_follow.report_ends(instance, jobs, left, limit)
    if left and limit is not None:
        raise OutOfTime(f"the time of {durations.encode(limit)} is over; {going_on(whose, left)}")
    return code


def _active(instance: Instance) -> list[Job]:
    """Return the jobs that have not ended, by their ids, without the document's own command."""
    from minicluster.instance.records import JobFilter, JobState

    found = sorted(instance.jobs.find(JobFilter(states=JobState.ACTIVE), limit=0), key=lambda job: job.id)
    own = main_jobs(instance, found)
    for jobid in sorted(own):
        PlainReporter().notice(f"{written(jobid)} is the document's own command, and is not waited for")
    return [job for job in found if job.id not in own]
