"""When the adapter repeats a request that the API server has not answered, or has refused for now."""

from __future__ import annotations

import asyncio
import contextlib

from minicluster.kube_client.errors import AccessError, ApiError, ApiUnreachableError

RETRY_DELAY = 2.0
"""Seconds before a request is repeated."""
CHECK_INTERVAL = 60.0
"""Seconds between two reads of the Secrets.

A new authority is used after the second one only. By then the API server trusts it, and every replica has
read it once.
"""
PASSING = (ApiError, ApiUnreachableError, AccessError)
"""Errors that may be over when a request is repeated."""


async def pause(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, for `seconds` at most."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
