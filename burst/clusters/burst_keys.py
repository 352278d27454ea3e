"""The operator's keys for bursts, from its Secret: read again every minute, and when a lead refuses them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from minicluster.kube_client.errors import KubernetesError
from minicluster.kube_client.resources import SECRETS
from minicluster.kube_client.user_client import UserClient
from minicluster.lead_client.purpose_keys import BURST
from minicluster.lead_client.renewed_keys import CHECK_INTERVAL, RETRY_DELAY, RenewedKeys

if TYPE_CHECKING:
    from collections.abc import Callable

    from minicluster.kube_client.access import Access
    from minicluster.lead_client.purpose_keys import PurposeKeys

_log = logging.getLogger(__name__)


class BurstKeys:
    """Those in a Secret, named by its namespace and name. Any thread may use them."""

    def __init__(
        self, access: Access, secret: tuple[str, str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._access = access
        self._secret = secret
        self._clock = clock
        self._keys = RenewedKeys(BURST, secret, _log, clock)
        self._lock = threading.Lock()
        self._due = self._earliest = -float("inf")

    @property
    def trouble(self) -> str:
        """Why there are none, or none that are new; empty: there are."""
        return self._keys.trouble

    def current(self) -> tuple[PurposeKeys, ...]:
        """Return the keys to show, the newest first. Reads the Secret if it is time to; that blocks."""
        with self._lock:
            if self._clock() >= self._due:
                self._read()
        return self._keys.current

    def refused(self) -> None:
        """Have the Secret read again: a lead did not accept the keys."""
        self._due = min(self._due, self._earliest)

    def _read(self) -> None:
        async def read() -> dict[str, Any]:
            async with UserClient(self._access) as client:
                return await client.read(SECRETS, *self._secret)

        self._earliest = self._due = self._clock() + RETRY_DELAY
        try:
            self._keys.take(asyncio.run(read()))
        except KubernetesError as error:
            self._keys.miss(error)
        else:
            self._due = self._clock() + CHECK_INTERVAL
