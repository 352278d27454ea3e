"""`minicluster acme`: what a policy decides in a small case, as its author checks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

import minicluster
from queue_policies.counting import CountingCluster, Units
from queue_policies.decision import decide
from queue_policies.decision_log import differences, encode
from queue_policies.errors import PolicyError
from queue_policies.plugins import load, policies
from queue_policies.queue import IndexedQueue
from queue_policies.records import Change, Elastic, Happened, QueuedJob, RunningJob, State
from queue_policies.running import RunningJobs

app = typer.Typer()


@dataclass(frozen=True)
class Linear:
    """A job that is as fast as it is large."""

    work: float

    def seconds(self, size: int) -> float:
        """Its run time."""
        return self.work / size


def case() -> State:
    """Return a cluster of eight units: one job runs and can give four, another waits for two."""
    cluster = CountingCluster(8)
    cluster.hold(1, 8)
    waits = QueuedJob(id=2, priority=16, request=Units(2), submitted=90.0, limit=600.0)
    runs = RunningJob(
        id=1,
        request=Units(8),
        started=0.0,
        elastic=Elastic(4, 8, malleable=True),
        acted=0.0,
        remaining=0.5,
        measured=100.0,
        estimate=Linear(1600.0),
    )
    return State(IndexedQueue([waits]), RunningJobs([runs]), cluster, [Change(Happened.ARRIVED, 2)])


@app.command()
def acme(
    policy: Annotated[str, typer.Option(help="Which policy.")] = "acme-share",
    gap: Annotated[float, typer.Option(help="Its gap.")] = 30.0,
) -> None:
    """Show what a policy decides.

    minicluster acme --policy acme-share
    """
    try:
        chosen = load(policy, {"gap": gap} if policy in {"acme-share", "water-filling"} else {})
    except PolicyError as error:
        typer.echo(f"no policy: {error}", err=True)
        raise typer.Exit(2) from error
    answer = decide(chosen, case(), 100.0)
    line = encode(policy, case(), 100.0, answer)
    typer.echo(f"minicluster {minicluster.__version__.split('.')[0]}: {policy in policies()}")
    for action in answer:
        typer.echo(repr(action))
    typer.echo(f"decided again: {len(list(differences(chosen, [line])))} differences")
