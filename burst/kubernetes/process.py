"""The service in a cluster as a process: it stands by until it holds the Lease, works, and ends cleanly."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from burst import provider_checks, workplace
from burst.advance.advance import is_stuck
from burst.costs.budgets import of_service
from burst.errors import BurstError
from burst.kubernetes import figures, readiness, sources
from burst.kubernetes.measurements import BurstMeasurements
from burst.kubernetes.readiness import ServiceStanding
from burst.loop import BurstLoop
from burst.planning.plan import ALL
from burst.planning.records import EACH_USER
from burst.provider_checks import ProviderNeeds
from burst.workplace import BurstObservers
from minicluster.backends.errors import BackendError
from minicluster.database import DatabaseError, state_directory
from minicluster.kube_client import probe_server, service_process
from minicluster.kube_client.client import ApiClient
from minicluster.kube_client.errors import KubernetesError
from minicluster.kube_client.leadership import Leadership

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from burst.kubernetes.settings import BurstServiceSettings
    from burst.workplace import Workplace

FIGURES_INTERVAL = 5.0
"""Seconds between two reads of the ledger for measurements."""

log = logging.getLogger("burst.kubernetes")


def run(settings: BurstServiceSettings) -> int:
    """Serve until SIGTERM or Ctrl-C; return the exit code: 0, or 1 after an error.

    It also ends when another process holds the Lease: the kubelet starts it again, and it stands by.
    """
    service_process.prepare(settings.log_format, settings.log_level)
    logging.getLogger("alembic").setLevel(logging.WARNING)  # its tables are no administrator's business

    def serve() -> None:
        state_directory.opened(settings.workplace.state, "what bursts cost")
        asyncio.run(_BurstReplica(settings).serve())

    known = (BackendError, BurstError, DatabaseError, KubernetesError)
    return service_process.exit_code("service", serve, log, known)


class _BurstReplica:
    """The parts of one process, put together."""

    def __init__(self, settings: BurstServiceSettings) -> None:
        self._settings = settings
        self._measurements = BurstMeasurements(settings.workplace.settings.settings, time.time)
        self._stop = asyncio.Event()
        self._leadership: Leadership | None = None
        self._loop: BurstLoop | None = None
        self._begun = time.time()
        self._ledger_read: float | None = None

    async def serve(self) -> None:
        """Stand by, work, and stop. Raises what makes it end."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._stop.set)
        settings = self._settings
        observe, identity = self._measurements.requested, settings.identity
        async with (
            ApiClient(settings.workplace.access, observe=observe, identity=identity) as client,
            probe_server.serving(settings.listen, self._measurements, self._live, self._ready),
        ):
            namespace, name = settings.lease
            leadership = Leadership(client, namespace, identity, name=name)
            self._leadership, self._measurements.leads = leadership, lambda: leadership.leads
            try:
                await self._first(leadership.acquire(), self._stop.wait())
                if not self._stop.is_set():
                    await self._first(leadership.keep(), self._work())
            finally:
                await leadership.release()

    async def _work(self) -> None:
        """Look after bursts until it is to stop."""
        observers = BurstObservers(self._measurements.counted, self._measurements.left)
        served = self._settings.workplace
        parts = await asyncio.to_thread(sources.parts, served, observers)
        async with workplace.opened(parts) as found:
            names = ", ".join(found.providers) or "none"
            where, installation = found.source.location, found.installation
            log.info("bursts of %s are served; providers: %s; installation %s", where, names, installation)
            self._begun, self._loop = time.time(), BurstLoop(found)
            service = self._loop.service
            self._measurements.swept = lambda: service.swept
            self._measurements.listed = lambda: service.listed
            always = ProviderNeeds(tunnels=served.tunnel_pods is not None)
            loop = self._loop
            warning = asyncio.create_task(provider_checks.warn(found, lambda: loop.clusters, always))
            try:
                await self._first(self._loop.run(self._stop), self._observe(found, self._loop))
            finally:
                warning.cancel()
        log.info("the service has ended; bursts that are open stay as they are, and end at their times")

    async def _observe(self, found: Workplace, loop: BurstLoop) -> None:
        """Read the ledger for measurements, for ever."""
        settings = self._settings.workplace.settings.settings
        scopes = (ALL, *(each.scope for each in settings.budgets))
        while True:
            try:
                now = found.ledger.now()
                watched = [each for each in of_service(settings, now) if each.scope != EACH_USER]
                read = await found.ledger.read(partial(figures.read, budgets=watched))
            except DatabaseError as error:
                log.warning("the ledger cannot be read, tried again: %s", error)
            else:
                self._measurements.figures = figures.figures(
                    read, found.providers, scopes, lambda burst: is_stuck(found.context, burst), now
                )
                self._measurements.swept_up(loop.service.report)
                self._ledger_read = time.time()
            await asyncio.sleep(FIGURES_INTERVAL)

    async def _first(self, *work: Coroutine[Any, Any, Any]) -> None:
        """Wait until the first one ends, cancel the others, and raise what made any of them fail."""
        begun = [asyncio.ensure_future(each) for each in work]
        try:
            await asyncio.wait(begun, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in begun:
                each.cancel()
            ended = await asyncio.gather(*begun, return_exceptions=True)
        for outcome in ended:
            if isinstance(outcome, Exception):
                raise outcome

    def _standing(self) -> ServiceStanding:
        leadership, loop = self._leadership, self._loop
        found = ServiceStanding(self._begun, leads=leadership is not None and leadership.leads)
        if leadership is not None:
            found = found._replace(holder=leadership.holder, lease_trouble=leadership.trouble)
        if loop is not None:
            found = found._replace(ended=loop.ended, done=loop.done, trouble=loop.trouble)
        return found._replace(ledger_read=self._ledger_read)

    def _live(self) -> str:
        return readiness.not_live(self._standing(), time.time())

    def _ready(self) -> str:
        return readiness.not_ready(self._standing(), time.time())
