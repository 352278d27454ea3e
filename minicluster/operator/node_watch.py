"""The watch of nodes. The operator works without them, too: where it may not read them it says so, once."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from minicluster.kube_client import watch
from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import NODES

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from minicluster.kube_client.api import Api
    from minicluster.operator.node_index import NodeIndex

log = logging.getLogger(__name__)


async def begin(
    api: Api,
    nodes: NodeIndex,
    task: Callable[[Coroutine[Any, Any, Any]], None],
    restarted: Callable[[str], None],
) -> None:
    """Follow the nodes in a task, and wait until they are listed, or the API server has refused them."""
    answered = asyncio.Event()
    refusals: list[ApiError] = []

    def failed(error: Exception) -> None:
        if isinstance(error, ApiError):
            refusals.append(error)
            answered.set()

    async def listed() -> None:
        await follower.listed.wait()
        answered.set()

    follower = watch.Watch(api, nodes, Selection(NODES), lambda _: None, restarted, failed)
    task(follower.run())
    waiting = asyncio.create_task(listed())
    await answered.wait()
    waiting.cancel()
    if nodes.reports() is None:
        log.warning(
            "nodes cannot be read: brokers are spread over maxSize, else size of them (%s)", refusals[-1]
        )
