"""`minicluster submit`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from minicluster.cli import submit_options as given
from minicluster.cli.backend_choice import chosen
from minicluster.cli.batch_script import SubmitCommand, text
from minicluster.cli.cluster_choice import named
from minicluster.cli.job_words import Whose, goes_on, written
from minicluster.cli.options import ClusterArgument
from minicluster.cli.program_command import ONLY
from minicluster.cli.reporting import PlainReporter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from minicluster.backends.port import Backend
    from minicluster.instance.port import Instance
    from minicluster.instance.records import JobRequest

TOGETHER = 100
"""Jobs that are submitted before their ids are printed."""
app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class AfterSubmission:
    """What to do once jobs are submitted."""

    wait: bool
    watch: bool
    quiet: bool


@app.command(cls=SubmitCommand)
def submit(  # noqa: PLR0913, PLR0917 - an option each
    ctx: typer.Context,
    name: ClusterArgument,
    command: given.ProgramArgument,
    tasks: given.TasksOption = 1,
    nodes: given.NodesOption = 0,
    cores: given.CoresOption = 1,
    gpus: given.GpusOption = 0,
    exclusive: given.ExclusiveOption = False,
    queue: given.QueueOption = "",
    time_limit: given.TimeLimitOption = "",
    minutes: given.MinutesOption = "",
    urgency: given.UrgencyOption = "16",
    job_name: given.JobNameOption = "",
    dependency: given.DependencyOption = None,
    cwd: given.CwdOption = "",
    env: given.EnvOption = None,
    input_file: given.InputOption = "",
    output: given.OutputFileOption = "",
    error: given.ErrorFileOption = "",
    label_io: given.LabelIoOption = False,
    setopt: given.SetoptOption = None,
    setattr_: given.SetattrOption = None,
    burstable: given.BurstableOption = False,
    burst_to: given.BurstToOption = "",
    results: given.ResultsOption = None,
    cc: given.CcOption = "",
    batch: given.BatchOption = False,
    wait: given.WaitOption = False,
    watch: given.WatchOption = False,
    quiet: given.QuietOption = False,
) -> None:
    """Send a job to a cluster, and print its id.

    On Kubernetes it has environment and working directory of the lead's pod, with --server of the cluster.
    What stands behind the program's name is the program's. The only cluster need not be named before `--`.
    Without --input standard input is empty.

      minicluster submit mc -n 4 lmp -in in.lj

      minicluster submit mc --cc 0-9 --output 'run-{cc}.log' -t 10 ./a.out --seed {cc}

      minicluster submit mc --on kubernetes --namespace research --burstable -t 30 --watch -- hostname
    """
    from minicluster.cli import job_requests as requests
    from minicluster.instance.records import JobRequest

    backend = chosen(ctx)
    name = named(backend, None if name == ONLY else name)
    base = backend.job_environment(name)
    job = JobRequest(tuple(command), max(tasks, nodes), nodes, cores, gpus, exclusive, name=job_name)
    job = requests.queued(job, queue, dependency or (), urgency, requests.time_limit(time_limit, minutes))
    job = requests.with_shell_options(job, (input_file, output, error), setopt or (), label=label_io)
    job = requests.with_attributes(job, setattr_ or (), burst_to or burstable, results or ())
    job = requests.in_directory(job, cwd, here=base is not None)
    job = requests.whole_nodes(ctx, replace(job, script=text(command[0]))) if batch else job
    _warn(requests.notices(job, {"--output": output, "--error": error}, base))
    base = _whole_environment(backend, name) if base is None and (env or cc) else base
    jobs = requests.copies(job, env or (), requests.ids(cc), base)
    raise typer.Exit(_send(backend, name, list(jobs), AfterSubmission(wait or watch, watch, quiet)))


def _warn(notices: Iterable[str]) -> None:
    for notice in notices:
        PlainReporter().notice(notice)


def _whole_environment(backend: Backend, name: str) -> Mapping[str, str]:
    """Return the environment of the lead broker. Raises NotOffered."""
    from minicluster.backends.port import refuse

    found = backend.job_environment(name, whole=True)
    return refuse(backend, "submit with --env or --cc") if found is None else found


def _send(backend: Backend, name: str, requests: Sequence[JobRequest], then: AfterSubmission) -> int:
    """Submit jobs, and follow them where that is asked for; return the greatest exit code."""
    from minicluster.cli.job_requests import bursts

    sent: list[str] = []

    def work(instance: Instance) -> int:
        never = "" if bursts(requests[0]) else instance.jobs.unsatisfiable(requests[0])
        jobids = _submitted(instance, requests, sent, then)
        if never:
            what = f"{sent[0]} can never" if len(sent) == 1 else "none of these jobs can ever"
            PlainReporter().notice(f"{what} run here, even at the cluster's largest size: {never}")
        return _ended(instance, jobids, then, never)

    with goes_on(Whose(name, lambda: backend.words), sent):
        return backend.ask(name, work)


def _submitted(
    instance: Instance, requests: Sequence[JobRequest], sent: list[str], then: AfterSubmission
) -> list[int]:
    """Submit jobs, print their ids, add them to those that were sent, and return them."""
    found: list[int] = []
    for start in range(0, len(requests), TOGETHER):
        some = requests[start : start + TOGETHER]
        outcomes = instance.bulk.submit(some) if len(requests) > 1 else [instance.jobs.submit(some[0])]
        for jobid in (each for each in outcomes if isinstance(each, int)):
            found.append(jobid)
            sent.append(written(jobid))
            if not then.quiet:
                typer.echo(sent[-1])
        for each in outcomes:
            if isinstance(each, Exception):
                raise each
    return found


def _ended(instance: Instance, jobids: Sequence[int], then: AfterSubmission, known: str) -> int:
    from minicluster.cli import job_follow

    if not (then.watch or then.wait):
        return 0
    code = (job_follow.follow_all if then.watch else job_follow.wait_for_all)(instance, jobids, known)
    if code and len(jobids) > 1:
        job_follow.name_failed(instance, jobids)
    return code
