"""When the adapter tries again what an API server has not answered, or has refused for now."""

from __future__ import annotations

import asyncio
import contextlib

from minicluster.kube_client.errors import AccessError, ApiError, ApiUnreachableError

PAUSE = 2.0
"""Seconds before something is tried again."""
CHECK = 60.0
"""Seconds between two looks at the Secrets. A new authority is shown by the second look only: by then the API
server trusts it, and by the first look of every replica."""
PASSING = (ApiError, ApiUnreachableError, AccessError)
"""What may be over when it is tried again."""


async def pause(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but not for longer."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
