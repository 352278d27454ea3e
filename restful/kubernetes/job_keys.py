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
from minicluster.lead_client.purpose_keys import JOBS, PurposeKeys

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.kube_client.objects import Object
    from minicluster.kube_client.resources import Resource

RETRY_DELAY = 2.0
"""Seconds before the Secret is read again: at least, also if leads refuse the keys more often."""
CHECK_INTERVAL = 60.0
"""Seconds between two reads where nothing happens."""
FORMER_LIFE = 300.0
"""Seconds for which the former keys are shown as well: kubelets renew the leads' files within two minutes."""

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
        self._clock = clock
        self._present: PurposeKeys | None = None
        self._former: tuple[PurposeKeys, float] | None = None
        self._refused = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.trouble = "the keys for leads have not been read yet"
        """Why there are none, or none that are new; empty: there are."""

    @property
    def current(self) -> tuple[PurposeKeys, ...]:
        """The keys to show, the newest first. Threads read it."""
        present, former = self._present, self._former
        if present is None:
            return ()
        return (present,) if former is None or self._clock() > former[1] else (present, former[0])

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
            found = PurposeKeys.of_secret(JOBS, await self._api.read(SECRETS, namespace, name))
        except (ApiError, ApiUnreachableError, AccessError, LeadKeysError) as error:
            missing = isinstance(error, ApiError) and error.status == 404
            why = "is missing: the operator makes it" if missing else f"cannot be used: {error}"
            self._report(f"Secret {namespace}/{name} with the keys for leads {why}")
            return False
        self.trouble = ""
        if found != self._present:
            if self._present is not None:
                self._former = (self._present, self._clock() + FORMER_LIFE)
            self._present = found
            log.info("the keys for leads were read from Secret %s/%s", namespace, name)
            self._renewed()
        return True

    def _report(self, trouble: str) -> None:
        if trouble != self.trouble:
            log.warning("%s", trouble)
        self.trouble = trouble
