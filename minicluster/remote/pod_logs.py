"""The logs of a MiniCluster's pods, read with the user's own rights."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import ApiError, MissingError, RefusalError
from minicluster.kube_client.resources import PODS
from minicluster.lead_client.broker_pods import is_broker
from minicluster.remote import broker_pods, summary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from minicluster.plan.objects.fields import Object
    from minicluster.remote.session import NamespaceSession

    Write = Callable[[bytes], None]

NOT_YET = 1.0
"""Seconds between two tries to read the log of a container that has not started."""


@dataclass(frozen=True, slots=True)
class LogSource:
    """A container's log."""

    pod: str
    container: str
    scheduled: bool
    """Whether the pod has a node."""
    label: str = ""
    """Written before each line; empty: nothing is."""


async def copy(
    session: NamespaceSession, name: str, write: Write, *, rank: int | None = None, follow: bool = False
) -> None:
    """Write whole lines of one broker's log, or of all logs, each line then with its pod's name before it.

    With `follow` it goes on until the pods end. Raises MissingError, RefusalError.
    """
    cluster = summary.of(await session.cluster(name))
    pods = await broker_pods.listing(session, name)
    sources = list(_broker(pods, rank) if rank is not None else _everything(name, pods))
    if not sources:
        what = f"no pod of rank {rank}" if rank is not None and pods else "no pods"
        stage = f" ({cluster.stage})" if cluster.phase else ""
        raise MissingError(f"cluster {name}: there are {what} in namespace {session.namespace}{stage}")
    if follow:
        read = await asyncio.gather(*(_copy(session, source, write, follow=True) for source in sources))
    else:
        read = [await _copy(session, source, write, follow=False) for source in sources]
    if not any(read):
        raise RefusalError(f"cluster {name}: no log could be read")


async def _copy(session: NamespaceSession, source: LogSource, write: Write, *, follow: bool) -> bool:
    """Copy one log; return False, after a notice with the reason, where it cannot be read."""
    reported = ""
    while True:
        try:
            await _need_node(session, source)
            async for line in _lines(session, source, follow=follow):
                write(f"{source.label}: ".encode() + line if source.label else line)
        except ApiError as error:
            waits = follow and error.status == 400
            if error.message != reported:
                reported = error.message
                session.notice(f"{source.pod}: {reported}")
            if not waits:
                return False
            await asyncio.sleep(NOT_YET)
        else:
            return True


async def _need_node(session: NamespaceSession, source: LogSource) -> None:
    """Raise ApiError 400 for a pod without a node, as for a container that has not started.

    Its log is empty to the API server, and ends at once, also when it is followed.
    """
    if source.scheduled:
        return
    found = await session.client.list(
        Selection(PODS, session.namespace, fields=f"metadata.name={source.pod}")
    )
    if not any(each["spec"].get("nodeName") for each in found.items):
        raise ApiError(400, "BadRequest", "has no node yet, so nothing was written")


async def _lines(session: NamespaceSession, source: LogSource, *, follow: bool) -> AsyncIterator[bytes]:
    query = {"container": source.container, "follow": str(follow).lower()}
    pending = b""
    async for chunk in session.client.pods.log(session.namespace, source.pod, query):
        *whole, pending = (pending + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if pending:
        yield pending + b"\n"


def _broker(pods: tuple[Object, ...], rank: int) -> Iterator[LogSource]:
    """Return the runner of a rank."""
    pod = broker_pods.of_rank(pods, rank)
    if pod is not None:
        yield _source(pod, broker_pods.runner(pod))


def _everything(name: str, pods: tuple[Object, ...]) -> Iterator[LogSource]:
    """Return all containers, by rank; the services last."""
    for pod in sorted(pods, key=_sort_key):
        called = f"{name}-{broker_pods.index(pod)}" if is_broker(pod) else pod["metadata"]["name"]
        for number, container in enumerate(pod["spec"]["containers"]):
            own = is_broker(pod) and number == 0
            label = called if own else f"{called}/{container['name']}"
            yield _source(pod, container["name"], label)


def _sort_key(pod: Object) -> tuple[bool, int, str]:
    return not is_broker(pod), broker_pods.index(pod), pod["metadata"]["name"]


def _source(pod: Object, container: str, label: str = "") -> LogSource:
    return LogSource(pod["metadata"]["name"], container, bool(pod["spec"].get("nodeName")), label)
