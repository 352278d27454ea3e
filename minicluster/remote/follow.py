"""Follows one MiniCluster: yields its state whenever it changes."""

from __future__ import annotations

import asyncio
import contextlib
from http import HTTPStatus
from typing import TYPE_CHECKING, cast

from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import ApiError, ApiUnreachableError
from minicluster.kube_client.resources import MINICLUSTERS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from minicluster.kube_client.api import Listing, WatchEvent
    from minicluster.plan.objects.fields import Object
    from minicluster.remote.session import NamespaceSession

TIMEOUT = 30.0
"""Seconds for which a server may be away before that is an error."""
RETRY_DELAY = 0.5
"""Seconds before a watch that ended, or a list that failed, is asked for again."""


async def states(session: NamespaceSession, name: str) -> AsyncGenerator[Object | None, None]:
    """Yield a MiniCluster as it is now and whenever it changes; None while there is none.

    A watch that ends or breaks off is begun anew. Raises ApiUnreachableError, ApiError.
    """
    selection = Selection(MINICLUSTERS, session.namespace, fields=f"metadata.name={name}")
    while True:
        listing = await _listed(session, selection)
        yield listing.items[0] if listing.items else None
        try:
            watch = cast("AsyncGenerator[WatchEvent, None]", session.client.watch(selection, listing.version))
            async with contextlib.aclosing(watch):
                async for event in watch:
                    if event.type in {"ADDED", "MODIFIED"}:
                        yield event.item
                    elif event.type == "DELETED":
                        yield None
        except (ApiError, ApiUnreachableError) as error:
            if not _passes(error):
                raise
        await asyncio.sleep(RETRY_DELAY)  # also where streams end as soon as they have begun


async def _listed(session: NamespaceSession, selection: Selection) -> Listing:
    """List, also through a restart of the server."""
    end = asyncio.get_running_loop().time() + TIMEOUT
    while True:
        try:
            return await session.client.list(selection)
        except (ApiError, ApiUnreachableError) as error:
            if not _passes(error) or asyncio.get_running_loop().time() > end:
                raise
            await asyncio.sleep(RETRY_DELAY)


def _passes(error: ApiError | ApiUnreachableError) -> bool:
    """Whether it may go by itself; a server that has just started does not know MiniClusters yet (404)."""
    return (
        isinstance(error, ApiUnreachableError)
        or error.is_passing
        or error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}
    )
