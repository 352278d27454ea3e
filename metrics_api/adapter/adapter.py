"""The adapter as a process: what it follows, what it keeps up to date, and how it begins and ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import ssl
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from metrics_api.adapter import authority_store, front_proxy, registration
from metrics_api.adapter.authorization import Authorization
from metrics_api.adapter.errors import AdapterError, ConfigurationError
from metrics_api.adapter.evaluation import Evaluation
from metrics_api.adapter.leads import Leads
from metrics_api.adapter.measurements import Measurements
from metrics_api.adapter.objects import Objects
from metrics_api.adapter.registration import Registration
from metrics_api.adapter.server import Server
from metrics_api.adapter.single import Single
from minicluster.kubernetes import service_process
from minicluster.kubernetes.api import Selection
from minicluster.kubernetes.client import Client
from minicluster.kubernetes.errors import (
    AccessError,
    ApiError,
    DoorKeysError,
    KubernetesError,
    UnreachableError,
)
from minicluster.kubernetes.metrics_keys import SECRET, MetricsKeys
from minicluster.kubernetes.resources import (
    API_SERVICES,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    MINICLUSTERS,
    PODS,
    SECRETS,
    SERVICES,
)
from minicluster.kubernetes.watching import OURS, Watch

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from metrics_api.adapter.certificates import Authority, Serving
    from metrics_api.adapter.settings import Settings
    from minicluster.flux_modules.door.front_proxy import FrontProxy
    from minicluster.plan.fields import Object

PAUSE = 2.0
"""Seconds before something is tried again."""
CHECK = 60.0
"""Seconds between two looks at the Secrets. A new authority is shown by the second look only: by then the API
server trusts it, and by the first look of every replica."""

_PASSING = (ApiError, UnreachableError, AccessError)

log = logging.getLogger(__name__)


def run(settings: Settings) -> int:
    """Run an adapter until SIGTERM or Ctrl-C; return the exit code: 0, or 1 where it could not go on."""
    service_process.prepare(settings.log_format, settings.log_level)
    try:
        asyncio.run(_Adapter(settings).serve())
    except (AdapterError, KubernetesError) as error:
        log.error("the adapter ends: %s", error)  # noqa: TRY400  # the reason is the message
        return 1
    except Exception:
        log.exception("the adapter ends: a defect of it")
        return 1
    return 0


class _Adapter:
    """The parts of one adapter."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._objects = Objects()
        self._measurements = Measurements(lambda: len(self._objects.clusters))
        self._client = Client(
            settings.access, observe=self._measurements.requested, identity=settings.identity
        )
        self._stop = asyncio.Event()
        self._refused = asyncio.Event()  # a lead did not take the keys
        self._registering = asyncio.Event()  # something about the APIServices is to be looked at
        self._trusting = asyncio.Event()  # the front proxy is, or may be, another one
        self._leads = Leads(settings.door_port, self._refused.set, observe=self._measurements.asked)
        self._proxy = Single(self._trusting.set)
        self._services = {name: Single(self._registering.set) for name in registration.NAMES}
        self._watches: dict[str, Watch] = {}
        self._service_watches: dict[str, Watch] = {}
        self._knows_proxy = False
        self._authority: Authority | None = None
        self._serving: Serving | None = None
        evaluation = Evaluation(self._objects, self._leads)
        authorization = Authorization(self._client)
        self._server = Server(evaluation, authorization, self._context, self._not_ready, self._measurements)

    async def serve(self) -> None:
        """Follow, serve, and stop in good order."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._stop.set)
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(self._client)
            if not await self._begin():
                return
            where = await stack.enter_async_context(self._server.serving(self._settings.listen))
            log.info("metrics are served on %s", f"{where[0] or '*'}:{where[1]}")
            stack.push_async_callback(self._leads.close)
            async with asyncio.TaskGroup() as tasks:
                begun = [tasks.create_task(each) for each in self._parts()]
                await self._stop.wait()
                for each in begun:
                    each.cancel()

    async def _begin(self) -> bool:
        """Have a certificate before anything is served; return False where that was not waited for."""
        while not self._stop.is_set():
            try:
                await self._look_at_authority()
            except _PASSING as error:
                if isinstance(error, ApiError) and not error.is_passing:
                    raise ConfigurationError(self._denied(error)) from error
                log.warning("the adapter's authority: %s; it is asked for again", error)
                await self._pause(self._stop, PAUSE)
            else:
                return True
        return False

    def _parts(self) -> list[Coroutine[Any, Any, None]]:
        places = self._settings.namespaces or ("",)
        for place in places:
            for selection in (
                Selection(MINICLUSTERS, place),
                Selection(PODS, place, OURS),
                Selection(SERVICES, place, OURS, bare=True),
            ):
                watch = Watch(self._client, self._objects, selection, lambda _: None)
                self._watches[str(watch)] = watch
        named = f"metadata.name={front_proxy.CONFIG_MAP}"
        proxy = Selection(CONFIG_MAPS, front_proxy.NAMESPACE, fields=named)
        self._watches["the front proxy"] = Watch(self._client, self._proxy, proxy, lambda _: None)
        for name, single in self._services.items():
            selection = Selection(API_SERVICES, fields=f"metadata.name={name}")
            self._service_watches[name] = Watch(self._client, single, selection, lambda _: None)
        following = [each.run() for each in (*self._watches.values(), *self._service_watches.values())]
        keeping = [self._keep_keys(), self._keep_certificate(), self._keep_trust(), self._keep_services()]
        return [*following, *keeping, self._leads.sweep()]

    def _not_ready(self) -> str:
        """Return why queries cannot be answered yet."""
        missing = [name for name, watch in self._watches.items() if not watch.listed.is_set()]
        if not self._watches or missing:
            return f"not listed yet: {', '.join(missing) or 'anything'}"
        if not self._knows_proxy:
            return "the API server's front proxy is not known"
        return "" if self._leads.has_keys else self._no_keys()

    def _no_keys(self) -> str:
        return f"Secret {self._settings.place.namespace}/{SECRET} is missing: the operator makes it"

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        assert self._serving is not None  # noqa: S101
        self._serving.load(context)
        return context

    async def _keep_trust(self) -> None:
        """Believe the front proxy that the API server names."""
        while True:
            await self._trusting.wait()
            self._trusting.clear()
            proxy = self._front_proxy(self._proxy.item)
            self._knows_proxy = proxy is not None
            self._server.trust(proxy)

    def _front_proxy(self, item: Object | None) -> FrontProxy | None:
        where = f"ConfigMap {front_proxy.NAMESPACE}/{front_proxy.CONFIG_MAP}"
        try:
            if item is not None:
                return front_proxy.of_config_map(item)
            log.warning("%s is missing: nobody is answered", where)
        except ConfigurationError as error:
            log.warning("%s; nobody is answered", error)
        return None

    async def _keep_keys(self) -> None:
        """Have the keys for doors that the operator has."""
        told = ""
        while True:
            try:
                namespace = self._settings.place.namespace
                item = await self._client.read(SECRETS, namespace, SECRET)
                await self._leads.use(MetricsKeys.of_secret(item))
            except (*_PASSING, DoorKeysError) as error:
                is_missing = isinstance(error, ApiError) and error.status == 404
                what = self._no_keys() if is_missing else f"the keys in Secret {namespace}/{SECRET}: {error}"
                if what != told:
                    log.warning("%s", what)
                told = what
                await asyncio.sleep(PAUSE)
                continue
            told = ""
            await asyncio.sleep(PAUSE)  # not more often, however often leads refuse them
            await self._pause(self._refused, CHECK)
            self._refused.clear()

    async def _keep_certificate(self) -> None:
        """Have a certificate, and an authority, that are good for some time."""
        while True:
            await asyncio.sleep(min(CHECK, self._settings.lives.serving.total_seconds() / 10))
            try:
                await self._look_at_authority()
            except _PASSING as error:
                log.warning("the adapter's authority: %s; it is asked for again", error)

    async def _look_at_authority(self) -> None:
        """Take over the authority that there is; a new one signs only when it is known for a while."""
        namespace, lives = self._settings.place.namespace, self._settings.lives
        now = datetime.now(UTC)
        found = await authority_store.authority(self._client, namespace, now, lives)
        if self._authority is not None and found.certificate != self._authority.certificate:
            self._authority = found
            log.info("the authority of the adapter's certificate is another one from now on")
            self._registering.set()
            return
        self._authority = found
        serving = self._serving
        if serving is None or serving.is_due(now) or not found.has_signed(serving):
            self._serving = found.issue([self._settings.place.host], now, lives)
            self._server.renew(self._serving.load)
            log.info("a certificate for %s until %s", self._settings.place.host, self._serving.end)

    async def _keep_services(self) -> None:
        """Have the API server pass requests on, once they can be answered."""
        watches = (*self._watches.values(), *self._service_watches.values())
        for each in watches:
            await each.listed.wait()
        place, identity = self._settings.place, self._settings.identity
        kept = Registration(self._client, place, await self._owner(), identity)
        self._measurements.foreign = lambda: len(kept.foreign)
        while True:
            await self._registering.wait()
            self._registering.clear()
            assert self._authority is not None  # noqa: S101
            for name, single in self._services.items():
                try:
                    await kept.keep(name, single.item, self._authority.bundle)
                except _PASSING as error:
                    log.warning("APIService %s: %s; it is tried again", name, error)
                    await asyncio.sleep(PAUSE)
                    self._registering.set()

    async def _owner(self) -> Object | None:
        name = self._settings.owner
        while name:
            try:
                return await self._client.read(CLUSTER_ROLES, "", name)
            except _PASSING as error:
                if isinstance(error, ApiError) and not error.is_passing:
                    log.warning("the APIServices stay when ClusterRole %s goes: %s", name, error)
                    return None
                await asyncio.sleep(PAUSE)
        return None

    def _denied(self, error: ApiError) -> str:
        where = f"Secret {self._settings.place.namespace}/{authority_store.SECRET}"
        return (
            f"cannot get or create {where}, where the authority of the adapter's certificate is kept:"
            f" {error}; needed is a Role there, as the shipped manifests grant it"
        )

    async def _pause(self, event: asyncio.Event, seconds: float) -> None:
        """Wait for an event, but not for longer."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
