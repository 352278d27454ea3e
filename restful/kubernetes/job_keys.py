"""The operator's keys for jobs, from its Secret: read again every minute, and when a lead refuses them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import TYPE_CHECKING, Protocol

from minicluster.kube_client.errors import AccessError, ApiError, ApiUnreachableError
from minicluster.kube_client.resources import SECRETS
from minicluster.lead_client.errors import LeadKeysError
from minicluster.lead_client.purpose_keys import JOBS
from minicluster.lead_client.renewed_keys import CHECK_INTERVAL, RETRY_DELAY, RenewedKeys

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.kube_client.objects import Object
    from minicluster.kube_client.resources import Resource
    from minicluster.lead_client.purpose_keys import PurposeKeys

log = logging.getLogger("restful.kubernetes")


class SecretReader(Protocol):
    """The part of an `Api` that reads the Secret."""

    async def read(self, resource: Resource, namespace: str, name: str) -> Object:
        """Return an object. Raises ApiError, ApiUnreachableError."""
        ...


class JobKeys:
    """The present keys, and for a while the former ones. `renewed` is called when there are others."""

    def __init__(
        self,
        api: SecretReader,
        secret: tuple[str, str],
        renewed: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._api = api
        self._secret = secret
        self._renewed = renewed
        self._keys = RenewedKeys(JOBS, secret, log, clock)
        self._refused = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def trouble(self) -> str:
        """Why there are none, or none that are new; empty: there are."""
        return self._keys.trouble

    @property
    def current(self) -> tuple[PurposeKeys, ...]:
        """The keys to show, the newest first. Threads read it."""
        return self._keys.current

    def refused(self) -> None:
        """Have the Secret read again: a lead did not accept the keys. Threads call it."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._refused.set)

    async def keep(self) -> None:
        """Keep the keys up to date, for ever."""
        while True:
            known = await self._read()
            await asyncio.sleep(RETRY_DELAY)
            if known:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(CHECK_INTERVAL):
                        await self._refused.wait()
            self._refused.clear()

    async def _read(self) -> bool:
        """Read the Secret; return whether that was possible."""
        namespace, name = self._secret
        try:
            if self._keys.take(await self._api.read(SECRETS, namespace, name)):
                self._renewed()
        except (ApiError, ApiUnreachableError, AccessError, LeadKeysError) as error:
            self._keys.miss(error)
            return False
        return True
