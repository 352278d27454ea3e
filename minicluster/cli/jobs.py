"""Jobs of a cluster that is up, here or on Kubernetes: submit, jobs, attach, cancel, shell."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from minicluster.cli import kubernetes_jobs
from minicluster.cli.job_words import Whose, copy_output, exit_code, row, written
from minicluster.cli.kubernetes import target
from minicluster.cli.options import ClusterName, Context, Kubeconfig, LongNamespace, Namespace, On
from minicluster.cli.tables import Output, show

if TYPE_CHECKING:
    from minicluster.instance.port import Instance
    from minicluster.kubernetes.session import Target

app = typer.Typer()
JobId = Annotated[str, typer.Argument(metavar="JOB", help="A job's id, as `submit` and `jobs` print it.")]
T = TypeVar("T")


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
    on: On = "local",
    namespace: LongNamespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Send a job to a cluster, and print its id.

    On Kubernetes it has the environment and the working directory of the lead's pod, not yours.

      minicluster submit mc -n 4 -- lmp -in in.lj

      minicluster submit mc --on kubernetes --namespace research -- hostname
    """
    from minicluster.instance.records import JobRequest

    where = target(on, namespace, context, kubeconfig)
    request = JobRequest(
        command=tuple(command),
        tasks=max(tasks, nodes),
        nodes=nodes,
        cores_per_task=cores,
        dependencies=tuple(dependency or ()),
        urgency=urgency,
        duration=time_limit,
        environment=None if where else _local_environment(name),
    )
    typer.echo(written(_ask(where, name, lambda instance: instance.submit(request))))


@app.command()
def jobs(
    name: ClusterName,
    every: Annotated[bool, typer.Option("--all", "-a", help="Ended ones as well.")] = False,
    output: Output = "table",
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """List a cluster's jobs.

    minicluster jobs mc --all --output json

    minicluster jobs mc --on kubernetes -n research
    """
    from minicluster.instance.records import JobFilter, JobState

    where = target(on, namespace, context, kubeconfig)
    which = JobFilter() if every else JobFilter(states=JobState.ACTIVE)
    rows = _ask(where, name, lambda instance: [row(job) for job in instance.jobs(which, limit=0)])
    show(rows, ("id", "state", "tasks", "nodes", "time", "ranks", "name"), output, "no jobs")


@app.command()
def attach(
    name: ClusterName,
    job: Annotated[
        str | None,
        typer.Argument(metavar="[JOB]", help="A job's id; without one, on Kubernetes: the main command."),
    ] = None,
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Show a job's output until it ends, and end with its exit code.

    On Kubernetes without a JOB: the document's own command, also when it has ended, while its pod is there.

      minicluster attach mc ƒABC123

      minicluster attach mc --on kubernetes -n research
    """
    where = target(on, namespace, context, kubeconfig)
    if job is None and where is not None:
        raise typer.Exit(kubernetes_jobs.attach_to_command(where, name))
    if not job:
        what = "needed" if job is None else "empty (did the command fail that was to tell it?)"
        raise typer.BadParameter(f"is {what}; `minicluster jobs` lists them", param_hint="JOB")
    if where is not None:
        raise typer.Exit(kubernetes_jobs.attach_to_job(where, name, job))
    whose = _whose(where, name)

    def follow(instance: Instance) -> int:
        found = whose.job(instance, job)
        copy_output(instance, found)
        return exit_code(instance.wait(found.id))

    raise typer.Exit(_ask(where, name, follow))


@app.command()
def cancel(
    name: ClusterName,
    job: JobId,
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Cancel a job.

    minicluster cancel mc ƒABC123

    minicluster cancel mc ƒABC123 --on kubernetes -n research
    """
    where = target(on, namespace, context, kubeconfig)
    whose = _whose(where, name)
    whose.jobid(job)

    def end(instance: Instance) -> None:
        found = whose.job(instance, job)
        if found.result is not None:
            raise whose.problem(
                f"{job}: has ended already, with {found.result.name}; there is nothing to cancel"
            )
        instance.cancel(found.id, "minicluster cancel")

    _ask(where, name, end)


@app.command()
def shell(
    name: ClusterName,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="Run this, then leave.")
    ] = None,
    on: On = "local",
    namespace: Namespace = "",
    context: Context = "",
    kubeconfig: Kubeconfig = "",
) -> None:
    """Open a shell in which `flux` speaks to the cluster; on Kubernetes it runs in the lead's container.

    minicluster shell mc

    minicluster shell mc -- flux resource list

    minicluster shell mc --on kubernetes -n research
    """
    where = target(on, namespace, context, kubeconfig)
    if where is not None:
        raise typer.Exit(kubernetes_jobs.shell(where, name, command or ()))
    import subprocess

    from minicluster.local.run import shell_of_user

    words = tuple(command or shell_of_user())
    try:
        done = subprocess.run(words, env=_local_environment(name), check=False)
    except OSError as error:
        print(f"minicluster: {words[0]}: cannot be started: {error.strerror}", file=sys.stderr)
        raise typer.Exit(127 if isinstance(error, FileNotFoundError) else 126) from error
    raise typer.Exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


def _ask(where: Target | None, name: str, work: Callable[[Instance], T]) -> T:
    """Do the work with a cluster's instance, wherever it is."""
    if where is not None:
        return kubernetes_jobs.ask(where, name, work)
    from minicluster.local import connection

    with connection.of(name) as instance:
        return work(instance)


def _whose(where: Target | None, name: str) -> Whose:
    if where is not None:
        return kubernetes_jobs.whose(where, name)
    from minicluster.local.errors import UsageProblem

    return Whose(name, "", UsageProblem)


def _local_environment(name: str) -> dict[str, str]:
    from minicluster.local import connection

    return connection.environment(name)
