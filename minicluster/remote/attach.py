"""Jobs and a MiniCluster's main command, followed to their ends: output and true exit code."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from minicluster.backends.records import Following
from minicluster.kube_client.errors import NotRunningError
from minicluster.plan.constants import Phase
from minicluster.remote import broker_pods, clusters, instances, lead, pod_logs, summary

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.instance.port import Instance
    from minicluster.plan.objects.fields import Object
    from minicluster.remote.session import NamespaceSession
    from minicluster.remote.summary import Summary

PAUSE = 0.5
"""Seconds between two looks for the end of a MiniCluster, or for another pod of its lead."""


async def main_command(session: NamespaceSession, name: str, write: Callable[[bytes], None]) -> int:
    """Write what the main command wrote and writes, and return its exit code.

    A lead that was lost is followed to its next pod. Raises MissingError, RefusalError.
    """
    known = _Known()
    cluster = await _to_the_end(session, name, write, known)
    if not known.starts:
        session.notice(f"{name}: its lead's pod is gone, and with it what the command wrote")
    return _exit_code(session, cluster)


async def job(
    session: NamespaceSession,
    name: str,
    write: Callable[[bytes], None],
    follow: Callable[[Instance, Following], int],
) -> int:
    """Follow a job with `follow`, and return the exit code that it returns.

    With the main job the instance ends, maybe before it has told us how that ended: then the MiniCluster's
    status says it. Where its lead was lost, what the next one writes is written, as by `main_command`.
    Raises what `instances.ask` raises.
    """
    following = Following()
    known = await _known(session, name)
    try:
        return await instances.ask(session, name, lambda instance: follow(instance, following))
    except NotRunningError:
        if not following.is_main:
            raise
    before = len(known.starts)
    cluster = await _to_the_end(session, name, write, known)
    if not following.is_shown and len(known.starts) == before:
        logs = f"`minicluster logs {name} --rank 0 --on kubernetes -n {session.namespace}`"
        session.notice(f"{name}: the instance has ended before all output was read here; {logs} has it")
    return _exit_code(session, cluster)


@dataclass(slots=True)
class _Known:
    """What a person knows: the starts of the lead whose output was shown, and the last stage."""

    starts: set[tuple[str, int]] = field(default_factory=set)
    stage: str = ""
    is_patient: bool = True
    """Whether to wait also where nothing goes on until somebody changes the document."""


async def _known(session: NamespaceSession, name: str) -> _Known:
    """Return what somebody knows who works with the instance as it is now."""
    cluster = summary.of(await session.cluster(name))
    pod = broker_pods.of_rank(await broker_pods.listing(session, name), 0)
    return _Known({_start(pod)} if pod is not None else set(), cluster.stage, is_patient=False)


async def _to_the_end(
    session: NamespaceSession, name: str, write: Callable[[bytes], None], known: _Known
) -> Summary:
    """Write what each further start of the lead writes and tell each further stage, until all has ended."""
    while True:
        cluster = summary.of(await session.cluster(name))
        pod = broker_pods.of_rank(await broker_pods.listing(session, name), 0)
        if pod is not None and (started := _start(pod)) not in known.starts:
            if known.starts:
                session.notice(
                    f"{name}: its lead was lost; from here on its next start in pod {pod['metadata']['name']}"
                )
            known.starts.add(started)
            await pod_logs.copy(session, name, write, rank=0, follow=True)
        elif lead.ended(cluster):
            return cluster
        else:
            if not known.is_patient and (cluster.is_suspended_by_document or cluster.phase == Phase.INVALID):
                await lead.container(session, name)  # says so, as soon as the pod is gone
            if cluster.stage != known.stage:
                known.stage = cluster.stage
                session.notice(f"{name}: {known.stage}")
            await asyncio.sleep(PAUSE)


def _start(pod: Object) -> tuple[str, int]:
    """Return which start of a broker a pod is at: it has a log for each."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    name = broker_pods.runner(pod)
    return pod["metadata"]["uid"], sum(each["restartCount"] for each in statuses if each["name"] == name)


def _exit_code(session: NamespaceSession, cluster: Summary) -> int:
    if cluster.exit_code is None:
        session.notice(f"{cluster.name}: {cluster.stage}")
        return clusters.CLUSTER_FAILED
    return cluster.exit_code
