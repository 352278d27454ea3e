"""The adapter's serving certificate. It is replaced before its end, and when the authority changes."""

from __future__ import annotations

import asyncio
import logging
import ssl
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from metrics_api.adapter import authority_store, retries
from metrics_api.adapter.errors import AdapterSettingsError
from metrics_api.adapter.retries import CHECK_INTERVAL, PASSING, RETRY_DELAY
from minicluster.kube_client.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from metrics_api.adapter.authority_store import ServingSecrets
    from metrics_api.adapter.certificates import AdapterAuthority, Serving
    from metrics_api.adapter.settings import AdapterSettings

log = logging.getLogger(__name__)


class ServingCertificate:
    """The certificate, and the authority that has signed it.

    `renewed` is called with every new certificate. `distrusted` is called when there is another authority,
    which the API server does not trust yet.
    """

    def __init__(
        self,
        client: ServingSecrets,
        settings: AdapterSettings,
        renewed: Callable[[Serving], None],
        distrusted: Callable[[], None],
    ) -> None:
        self._client = client
        self._service = settings.service
        self._lives = settings.lives
        self._renewed = renewed
        self._distrusted = distrusted
        self._authority: AdapterAuthority | None = None
        self._serving: Serving | None = None

    @property
    def bundle(self) -> str:
        """The authorities that clients have to trust, once there is one."""
        assert self._authority is not None  # noqa: S101
        return self._authority.bundle

    def context(self) -> ssl.SSLContext:
        """Return the TLS context with which to serve, once there is a certificate."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        assert self._serving is not None  # noqa: S101
        self._serving.load(context)
        return context

    async def begin(self, stop: asyncio.Event) -> bool:
        """Wait for the first certificate; return False if `stop` was set before.

        Raises AdapterSettingsError if the authority can neither be read nor made.
        """
        while not stop.is_set():
            try:
                await self._check()
            except PASSING as error:
                if isinstance(error, ApiError) and not error.is_passing:
                    raise AdapterSettingsError(self._denied(error)) from error
                log.warning("the adapter's authority: %s; it is asked for again", error)
                await retries.pause(stop, RETRY_DELAY)
            else:
                return True
        return False

    async def keep(self) -> None:
        """Replace certificate and authority before they expire, for ever."""
        while True:
            await asyncio.sleep(min(CHECK_INTERVAL, self._lives.serving.total_seconds() / 10))
            try:
                await self._check()
            except PASSING as error:
                log.warning("the adapter's authority: %s; it is asked for again", error)

    async def _check(self) -> None:
        """Read the authority; a new one signs only some time after it was published."""
        now = datetime.now(UTC)
        found = await authority_store.authority(self._client, self._service.namespace, now, self._lives)
        if self._authority is not None and found.certificate != self._authority.certificate:
            self._authority = found
            log.info("the authority of the adapter's certificate is another one from now on")
            self._distrusted()
            return
        self._authority = found
        serving = self._serving
        if serving is None or serving.is_due(now) or not found.has_signed(serving):
            self._serving = found.issue([self._service.host], now, self._lives)
            self._renewed(self._serving)
            log.info("a certificate for %s until %s", self._service.host, self._serving.end)

    def _denied(self, error: ApiError) -> str:
        where = f"Secret {self._service.namespace}/{authority_store.SECRET}"
        return (
            f"cannot get or create {where}, where the authority of the adapter's certificate is kept:"
            f" {error}; needed is a Role there, as the shipped manifests grant it"
        )
