"""Samples a MiniCluster and its instance at intervals, over two connections."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from minicluster.backends.records import ClusterSample, Watched
from minicluster.kube_client.errors import ApiUnreachableError
from minicluster.remote import clusters, instances, reports

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.instance.port import Instance
    from minicluster.remote.session import NamespaceSession

T = TypeVar("T")
API_TIMEOUT = 10.0
"""Seconds in which the API server must answer with a MiniCluster between two samples of its queue."""


async def watch(session: NamespaceSession, name: str, work: Callable[[Instance, Watched], T]) -> T:
    """Run `work` in a thread; its requests to the API server are sent from this event loop."""
    loop = asyncio.get_running_loop()

    def sample() -> ClusterSample:
        found = asyncio.run_coroutine_threadsafe(clusters.state(session, name), loop)
        try:
            return reports.sample(found.result(API_TIMEOUT))
        except TimeoutError as error:
            raise ApiUnreachableError(f"no answer from the API server within {API_TIMEOUT:g} s") from error

    watched = Watched(sample)
    try:
        return await instances.ask(session, name, lambda instance: work(instance, watched))
    finally:
        watched.over.set()
