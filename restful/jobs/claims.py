"""The claim to requests: as long as a service process works on them, the other ones leave them alone."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, TypeVar

from minicluster.database import DatabaseError
from restful.store import request_keys

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from restful.clusters.follower import Context
    from restful.store.request_keys import RequestRow

T = TypeVar("T")


async def keeping(context: Context, rows: Sequence[RequestRow], work: Awaitable[T]) -> T:
    """Return what some work on requests returns, and keep the claim until then, however long it takes."""
    if context.alone:
        return await work
    renewing = asyncio.ensure_future(_renew(context, [row.id for row in rows]))
    try:
        return await work
    finally:
        renewing.cancel()


async def _renew(context: Context, ids: Sequence[str]) -> None:
    seconds = context.limits.claim_seconds
    while True:
        await asyncio.sleep(seconds / 3)
        with contextlib.suppress(DatabaseError):
            async with context.database.write() as connection:
                until = await context.common_now(connection) + seconds
                await request_keys.renew(connection, ids, context.process, until)
