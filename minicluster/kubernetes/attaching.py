"""Jobs and a MiniCluster's main command, followed to their ends: output and true exit code."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.kubernetes import broker_pods, clusters, instances, lead, pod_logs, summary
from minicluster.kubernetes.errors import NotRunningError

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.instance.port import Instance
    from minicluster.kubernetes.session import Session
    from minicluster.kubernetes.summary import Summary
    from minicluster.plan.fields import Object

PAUSE = 0.5
"""Seconds between two looks for the end of a MiniCluster, or for another pod of its lead."""


async def main_command(session: Session, name: str, write: Callable[[bytes], None]) -> int:
    """Write what the main command wrote and writes, and return its exit code.

    A lead that was lost is followed to its next pod. Raises MissingError, RefusalError.
    """
    followed: set[tuple[str, int]] = set()
    told = ""
    while True:
        cluster = summary.of(await session.cluster(name))
        pod = broker_pods.of_rank(await broker_pods.listing(session, name), 0)
        if pod is not None and (started := _start(pod)) not in followed:
            followed.add(started)
            await pod_logs.copy(session, name, write, rank=0, follow=True)
        elif lead.ended(cluster):
            if not followed:
                session.notice(f"{name}: its lead's pod is gone, and with it what the command wrote")
            return _exit_code(session, cluster)
        else:
            if cluster.stage != told:
                told = cluster.stage
                session.notice(f"{name}: {told}")
            await asyncio.sleep(PAUSE)


@dataclass(slots=True)
class Following:
    """How far a job was followed: whether it is the main job, and whether all its output was shown."""

    is_main: bool = False
    is_shown: bool = False


async def job(session: Session, name: str, follow: Callable[[Instance, Following], int]) -> int:
    """Follow a job with `follow`, and return the exit code that it returns.

    With the main job the instance ends, maybe before it has told us how that ended: then the MiniCluster's
    status says it. Raises what `instances.ask` raises.
    """
    following = Following()
    try:
        return await instances.ask(session, name, lambda instance: follow(instance, following))
    except NotRunningError:
        if not following.is_main:
            raise
    if not following.is_shown:
        logs = f"`minicluster logs {name} --rank 0 --on kubernetes -n {session.namespace}`"
        session.notice(f"{name}: the instance has ended before all output was read here; {logs} has it")
    return await _outcome(session, name)


def _start(pod: Object) -> tuple[str, int]:
    """Return which start of a broker a pod is at: it has a log for each."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    name = broker_pods.runner(pod)
    return pod["metadata"]["uid"], sum(each["restartCount"] for each in statuses if each["name"] == name)


async def _outcome(session: Session, name: str) -> int:
    """Wait until a MiniCluster has ended, and return its main command's exit code."""
    while not lead.ended(cluster := summary.of(await session.cluster(name))):
        await asyncio.sleep(PAUSE)
    return _exit_code(session, cluster)


def _exit_code(session: Session, cluster: Summary) -> int:
    if cluster.exit_code is None:
        session.notice(f"{cluster.name}: {cluster.stage}")
        return clusters.CLUSTER_FAILED
    return cluster.exit_code
