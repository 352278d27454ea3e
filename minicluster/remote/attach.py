"""Follows jobs, and a MiniCluster's main command, to their ends: output and exit code."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_config.formats import broker_log
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

POLL_INTERVAL = 0.5
"""Seconds between two polls for the end of a MiniCluster, or for another pod of its lead."""


async def main_command(session: NamespaceSession, name: str, write: Callable[[bytes], None]) -> int:
    """Write the output of the main command from its beginning, and return its exit code.

    Where the lead is lost, the log of its next pod follows. Raises MissingError, RefusalError.
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

    With the main job the instance ends, maybe before it has reported how that ended: then the exit code comes
    from the MiniCluster's status. Where the lead is lost, the log of its next pod follows, as in
    `main_command`. Raises what `instances.ask` raises.
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
    """What the user was shown already."""

    starts: set[tuple[str, int]] = field(default_factory=set)
    """The starts of the lead with their output."""
    stage: str = ""
    """The last stage."""
    is_patient: bool = True
    """Whether to wait also where nothing goes on until the document is changed."""


async def _known(session: NamespaceSession, name: str) -> _Known:
    """Return what counts as shown where a job of the present instance is followed."""
    cluster = summary.of(await session.cluster(name))
    pod = broker_pods.of_rank(await broker_pods.listing(session, name), 0)
    return _Known({_start(pod)} if pod is not None else set(), cluster.stage, is_patient=False)


async def _to_the_end(
    session: NamespaceSession, name: str, write: Callable[[bytes], None], known: _Known
) -> Summary:
    """Write the log of each further start of the lead, and report each further stage, until all has ended.

    The log has what brokers wrote as well; what is no warning of theirs is left out.
    """

    def write_command(line: bytes) -> None:
        if not broker_log.is_quiet(line):
            write(line)

    unattended = asyncio.get_running_loop().time() + clusters.UNATTENDED
    while True:
        cluster = summary.of(await session.cluster(name))
        pod = broker_pods.of_rank(await broker_pods.listing(session, name), 0)
        if pod is not None and lead.has_begun(pod) and (started := _start(pod)) not in known.starts:
            if known.starts:
                session.notice(
                    f"{name}: its lead was lost; from here on its next start in pod {pod['metadata']['name']}"
                )
            known.starts.add(started)
            await pod_logs.copy(session, name, write_command, rank=0, follow=True)
        elif lead.ended(cluster):
            return cluster
        else:
            if not known.is_patient and (cluster.is_suspended_by_document or cluster.phase == Phase.INVALID):
                await lead.container(session, name)  # raises NotRunningError as soon as the pod is gone
            is_unattended = not cluster.phase and asyncio.get_running_loop().time() > unattended
            stage = clusters.NO_OPERATOR if is_unattended else cluster.stage
            if stage != known.stage:
                known.stage = stage
                session.notice(f"{name}: {stage}")
            await asyncio.sleep(POLL_INTERVAL)


def _start(pod: Object) -> tuple[str, int]:
    """Return the present start of a pod's broker: the pod's UID and its restarts. Each start has a log."""
    return pod["metadata"]["uid"], sum(each["restartCount"] for each in lead.runner_statuses(pod))


def _exit_code(session: NamespaceSession, cluster: Summary) -> int:
    if cluster.exit_code is None:
        session.notice(f"{cluster.name}: {cluster.stage}")
        return clusters.CLUSTER_FAILED
    return cluster.exit_code
