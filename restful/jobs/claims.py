"""The claim to a request: as long as a service process works on it, the other ones leave it alone."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, TypeVar

from minicluster.database import DatabaseError
from restful.store import request_keys

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from restful.clusters.follower import Context
    from restful.store.request_keys import RequestRow

T = TypeVar("T")


async def keeping(context: Context, row: RequestRow, work: Awaitable[T]) -> T:
    """Return what some work on a request returns, and keep the claim until then, however long it takes."""
    if context.alone:
        return await work
    renewing = asyncio.ensure_future(_renew(context, row))
    try:
        return await work
    finally:
        renewing.cancel()


async def _renew(context: Context, row: RequestRow) -> None:
    seconds = context.limits.claim_seconds
    while True:
        await asyncio.sleep(seconds / 3)
        with contextlib.suppress(DatabaseError):
            async with context.database.write() as connection:
                until = await context.common_now(connection) + seconds
                await request_keys.renew(connection, row.id, context.process, until)
