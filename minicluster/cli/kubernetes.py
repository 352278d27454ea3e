"""The commands `--on kubernetes`: what is asked of `minicluster.kubernetes`, and how that is printed."""

from __future__ import annotations

import dataclasses
import sys
import time
from typing import TYPE_CHECKING, Any

import typer

from minicluster.cli.tables import Format, age, show, show_fields

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.cli.queue_view import QueueView
    from minicluster.instance.port import Instance
    from minicluster.kubernetes.clusters import Report
    from minicluster.kubernetes.ending import Saved
    from minicluster.kubernetes.session import Target
    from minicluster.kubernetes.summary import Condition, Scaler, Summary, Told
    from minicluster.local.documents import Text
    from minicluster.plan import Site
    from minicluster.spec import Problem

QUEUE_SECONDS = 20.0
"""Seconds that a MiniCluster's lead has for telling what waits, before `status` goes without that."""
COLUMNS = ("name", "phase", "size", "max_size", "brokers_online", "exit_code", "age")


@dataclasses.dataclass(frozen=True, slots=True)
class Waiting:
    """Whether a command waits, at most how many seconds, and whether until the main command has ended."""

    wait: bool = True
    timeout: float | None = None
    to_the_end: bool = False


def target(on: str, namespace: str, context: str, kubeconfig: str) -> Target | None:
    """Return the Kubernetes cluster that is meant, None for this machine. Raises BadParameter."""
    given = {"--namespace": namespace, "--context": context, "--kubeconfig": kubeconfig}
    if on == "local":
        refuse(given, "--on kubernetes")
        return None
    from minicluster.kubernetes.access import Access
    from minicluster.kubernetes.session import Target

    return Target(Access(kubeconfig, context), namespace)


def refuse(given: dict[str, Any], needed: str) -> None:
    """Raise BadParameter for the first option that was given and has no meaning there."""
    for option, value in given.items():
        if value not in {None, "", False}:
            raise typer.BadParameter(f"has a meaning only with {needed}", param_hint=option)


def up(
    where: Target, text: Text, name: str, size: int | None, policy: str, force: bool, waiting: Waiting
) -> None:
    """Apply a file's documents, and wait until the MiniClusters run, or have ended."""
    from minicluster.kubernetes import documents, session, submission
    from minicluster.local.documents import policy_of
    from minicluster.spec import loading

    for other in loading.parse(text.text, source=text.place).skipped:
        if other.kind not in documents.DATA_KINDS:
            say(f"{other} (kubectl apply -f takes it)")
    found, _ = documents.read(text.text, text.place)
    usual = where.namespace or where.access.namespace()
    chosen = documents.choose(found, name, size, policy_of(policy) if policy else None)
    wanted = [documents.placed(each, where.namespace, usual) for each in chosen]
    how = {"force": force, "wait": waiting.wait, "to_the_end": waiting.to_the_end}
    settled = session.carry_out(
        where,
        lambda asked: submission.up(asked, wanted, **how),
        notice=say,
        timeout=waiting.timeout,
    )
    for each in settled:
        typer.echo(f"cluster {each.name} is {each.phase} in namespace {each.namespace}")
    for one in wanted if not waiting.wait else ():
        if one.is_cluster:
            typer.echo(f"cluster {one.name} is accepted in namespace {one.namespace}")


def list_(where: Target, output: Format, *, every_namespace: bool) -> None:
    """List MiniClusters."""
    from minicluster.kubernetes import clusters, session

    found = session.carry_out(
        where, lambda asked: clusters.listing(asked, every_namespace=every_namespace), notice=say
    )
    columns = ("namespace", *COLUMNS) if every_namespace else COLUMNS
    place = "" if every_namespace else f" in namespace {where.namespace or where.access.namespace()}"
    show([_row(each) for each in found], columns, output, f"no cluster is up{place}")


def status(where: Target, name: str, output: Format) -> None:
    """Show how a MiniCluster is."""
    from minicluster.cli import queue_view
    from minicluster.kubernetes import clusters, session

    found: Report = session.carry_out(where, lambda asked: clusters.report(asked, name), notice=say)
    queue = _queue(where, found.summary)
    row = _row(found.summary) | (queue.row if queue else {})
    conditions = [_condition(each) for each in found.summary.conditions]
    events = [_event(each) for each in found.events or ()]
    scalers = [scaler_row(each) for each in found.scalers or ()]
    if output == "json":
        waiting = list(queue.waiting) if queue else None
        more = {"conditions": conditions, "events": events, "autoscalers": scalers, "waiting": waiting}
        show([{**row, "last_dump": found.summary.last_dump, **more}], (), output)
        return
    told = {key: value for key, value in row.items() if key != "created"}  # the age says it
    show_fields(told | scaler_fields(found.scalers or ()) | _dump_fields(found.summary))
    typer.echo("")
    show(conditions, ("type", "status", "reason", "age", "message"), output, clusters.NO_OPERATOR)
    if queue:
        queue_view.show_waiting(queue)
    if events:
        typer.echo("\nlatest Events:")
        show(events, ("age", "type", "reason", "count", "message"), output)


def _queue(where: Target, found: Summary) -> QueueView | None:
    """Return what waits, where there is a queue that may be asked; else say why not."""
    from minicluster.cli import queue_view
    from minicluster.instance.errors import InstanceError
    from minicluster.kubernetes import instances, session
    from minicluster.kubernetes.errors import KubernetesError

    if found.phase not in {"Running", "Resizing"}:
        return None

    def work(instance: Instance) -> QueueView:
        return queue_view.once(instance, found.min_size)

    try:
        return session.carry_out(
            where, lambda asked: instances.ask(asked, found.name, work), timeout=QUEUE_SECONDS
        )
    except (KubernetesError, InstanceError) as error:
        say(f"its queue cannot be shown: {error}")
        return None


def scaler_row(found: Scaler) -> dict[str, Any]:
    """Return an autoscaler for programs."""
    return {**dataclasses.asdict(found), "troubles": list(found.troubles)}


def scaler_fields(found: Iterable[Scaler]) -> dict[str, str]:
    """Return autoscalers for people: what they ask for, and what keeps them from it."""
    lines = []
    for each in found:
        asks = "has not looked yet" if each.desired is None else f"asks for {each.desired}"
        troubles = "".join(f"; {trouble}" for trouble in each.troubles)
        lines.append(f"{each.name} {asks}, of {each.least} to {each.most}{troubles}")
    return {"autoscaler": " | ".join(lines)} if lines else {}


def _dump_fields(found: Summary) -> dict[str, str]:
    dump = found.last_dump
    if not dump:
        return {}
    jobs = dump.get("jobs", 0)
    return {"last_dump": f"{dump['path']}, {dump.get('time', '')}, {jobs} {'job' if jobs == 1 else 'jobs'}"}


def scale(where: Target, name: str, size: int, waiting: Waiting) -> None:
    """Change the number of brokers."""
    from minicluster.kubernetes import clusters, session

    done = session.carry_out(
        where,
        lambda asked: clusters.scale(asked, name, size, wait=waiting.wait),
        notice=say,
        timeout=waiting.timeout,
    )
    if done.before == done.after:
        typer.echo(f"cluster {name}: has {done.after} brokers already")
    else:
        asked = "" if waiting.wait else " asked for"
        typer.echo(f"cluster {name}: {done.before} → {done.after} brokers{asked}")


def down(where: Target, name: str, dump: str, waiting: Waiting) -> None:
    """Delete a MiniCluster; with `dump` only once it was saved there."""
    from minicluster.kubernetes import ending, session

    async def end(asked: session.Session) -> ending.Saved | None:
        saved = await ending.save(asked, name, dump) if dump else None
        await ending.delete(asked, name, wait=waiting.wait)
        return saved

    saved = session.carry_out(where, end, notice=say, timeout=waiting.timeout)
    typer.echo(f"cluster {name} is down" if waiting.wait else f"cluster {name} is being deleted")
    if saved is not None:
        typer.echo(f"saved to {saved.path}: {_counted(saved)}")
    elif dump:
        typer.echo("there was nothing to save")


def write(line: bytes) -> None:
    """Write a line of a log as it is."""
    sys.stdout.buffer.write(line)
    sys.stdout.flush()


def logs(where: Target, name: str, rank: int | None, *, follow: bool) -> None:
    """Show what the pods wrote."""
    from minicluster.kubernetes import pod_logs as kept
    from minicluster.kubernetes import session

    session.carry_out(
        where, lambda asked: kept.copy(asked, name, write, rank=rank, follow=follow), notice=say
    )


def trial(where: Target, texts: list[Text], known: list[Problem]) -> list[Problem]:
    """Return what the API server would refuse in documents, beyond the problems that are known."""
    from minicluster.kubernetes import documents, session, submission

    usual = where.namespace or where.access.namespace()
    wanted = [
        documents.placed(each, where.namespace, usual)
        for text in texts
        for each in documents.read(text.text, text.place)[0]
        if each.is_cluster
    ]

    async def ask(asked: session.Session) -> list[Problem]:
        return [problem for each in wanted for problem in await submission.trial(asked, each)]

    return submission.news(session.carry_out(where, ask), known)


def site_of(where: Target) -> Site:
    """Return what a cluster offers."""
    from minicluster.kubernetes import session
    from minicluster.kubernetes.site import site

    return session.carry_out(where, lambda asked: site(asked.client, asked.namespace))


def say(text: str) -> None:
    """Tell a person how it goes."""
    print(f"minicluster: {text}", file=sys.stderr, flush=True)


def _counted(saved: Saved) -> str:
    """Return how many jobs there are, and what became of those that could not finish."""
    jobs = f"{saved.jobs} {'job' if saved.jobs == 1 else 'jobs'} that had not ended"
    more = ((saved.restarted, "to be started again"), (saved.lost, "lost"))
    return ", ".join((jobs, *(f"{count} {what}" for count, what in more if count)))


def _row(found: Summary) -> dict[str, Any]:
    return {
        "name": found.name,
        "namespace": found.namespace,
        "phase": found.phase,
        "size": found.size,
        "max_size": found.max_size,
        "brokers_online": found.ready_brokers,
        "exit_code": found.exit_code,
        "queue_policy": found.queue_policy,
        "created": found.created,
        "age": age(time.time() - found.created),
    }


def _condition(found: Condition) -> dict[str, Any]:
    return {**dataclasses.asdict(found), "age": _age(found.since)}


def _event(found: Told) -> dict[str, Any]:
    return {**dataclasses.asdict(found), "age": _age(found.last)}


def _age(since: float | None) -> str:
    return "" if since is None else age(time.time() - since)
