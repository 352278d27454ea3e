"""The adapter as a process: its watches, the tasks that keep things up to date, its start and end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
from typing import TYPE_CHECKING, Any

from metrics_api.adapter import front_proxy, registration, retries
from metrics_api.adapter.authorization import Authorization
from metrics_api.adapter.errors import AdapterError, AdapterSettingsError
from metrics_api.adapter.evaluation import Evaluation
from metrics_api.adapter.leads import Leads
from metrics_api.adapter.measurements import Measurements
from metrics_api.adapter.objects import Objects
from metrics_api.adapter.registration import Registration
from metrics_api.adapter.retries import CHECK_INTERVAL, PASSING, RETRY_DELAY
from metrics_api.adapter.server import AdapterServer
from metrics_api.adapter.serving_certificate import ServingCertificate
from metrics_api.adapter.single import Single
from minicluster.kube_client import service_process
from minicluster.kube_client.api import Selection
from minicluster.kube_client.client import ApiClient
from minicluster.kube_client.errors import ApiError, KubernetesError
from minicluster.kube_client.resources import (
    API_SERVICES,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    MINICLUSTERS,
    PODS,
    SECRETS,
    SERVICES,
)
from minicluster.kube_client.watch import OURS, Watch
from minicluster.lead_client.errors import LeadKeysError
from minicluster.lead_client.purpose_keys import METRICS, PurposeKeys, secret_name

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from metrics_api.adapter.settings import AdapterSettings
    from minicluster.kube_client.objects import Object
    from minicluster.lead_server.routes import FrontProxy

log = logging.getLogger(__name__)


def run(settings: AdapterSettings) -> int:
    """Run an adapter until SIGTERM or Ctrl-C; return the exit code: 0, or 1 after an error."""
    service_process.prepare(settings.log_format, settings.log_level)
    known = (AdapterError, KubernetesError)
    return service_process.exit_code("adapter", lambda: asyncio.run(_Adapter(settings).serve()), log, known)


class _Adapter:
    """The parts of one adapter."""

    def __init__(self, settings: AdapterSettings) -> None:
        self._settings = settings
        self._objects = Objects()
        self._measurements = Measurements(lambda: len(self._objects.clusters))
        self._client = ApiClient(
            settings.access, observe=self._measurements.requested, identity=settings.identity
        )
        self._stop = asyncio.Event()
        self._refused = asyncio.Event()  # a lead did not accept the keys
        self._registering = asyncio.Event()  # the APIServices have to be checked
        self._trusting = asyncio.Event()  # the front proxy has changed, or may have
        self._leads = Leads(settings.lead_api_port, self._refused.set, observe=self._measurements.asked)
        self._proxy = Single(self._trusting.set)
        self._services = {name: Single(self._registering.set) for name in registration.NAMES}
        self._watches: dict[str, Watch] = {}
        self._service_watches: dict[str, Watch] = {}
        self._knows_proxy = False
        self._certificate = ServingCertificate(
            self._client, settings, lambda found: self._server.renew(found.load), self._registering.set
        )
        evaluation, authorization = Evaluation(self._objects, self._leads), Authorization(self._client)
        self._server = AdapterServer(
            evaluation, authorization, self._certificate.context, self._not_ready, self._measurements
        )

    async def serve(self) -> None:
        """Watch and serve until a signal, then stop."""
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._stop.set)
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(self._client)
            if not await self._certificate.begin(self._stop):
                return
            where = await stack.enter_async_context(self._server.serving(self._settings.listen))
            log.info("metrics are served on %s", f"{where[0] or '*'}:{where[1]}")
            stack.push_async_callback(self._leads.close)
            async with asyncio.TaskGroup() as tasks:
                begun = [tasks.create_task(each) for each in self._parts()]
                await self._stop.wait()
                for each in begun:
                    each.cancel()

    def _parts(self) -> list[Coroutine[Any, Any, None]]:
        namespaces = self._settings.namespaces or ("",)
        for namespace in namespaces:
            for selection in (
                Selection(MINICLUSTERS, namespace),
                Selection(PODS, namespace, OURS),
                Selection(SERVICES, namespace, OURS, bare=True),
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
        keeping = [self._keep_keys(), self._certificate.keep(), self._keep_trust(), self._keep_services()]
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
        name = f"{self._settings.service.namespace}/{secret_name(METRICS)}"
        return f"Secret {name} is missing: the operator makes it"

    async def _keep_trust(self) -> None:
        """Trust the front proxy that the API server publishes, and follow its changes."""
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
        except AdapterSettingsError as error:
            log.warning("%s; nobody is answered", error)
        return None

    async def _keep_keys(self) -> None:
        """Keep the keys for the lead API up to date with the operator's."""
        reported, name = "", secret_name(METRICS)
        while True:
            try:
                namespace = self._settings.service.namespace
                item = await self._client.read(SECRETS, namespace, name)
                await self._leads.use(PurposeKeys.of_secret(METRICS, item))
            except (*PASSING, LeadKeysError) as error:
                is_missing = isinstance(error, ApiError) and error.status == 404
                what = self._no_keys() if is_missing else f"the keys in Secret {namespace}/{name}: {error}"
                if what != reported:
                    log.warning("%s", what)
                reported = what
                await asyncio.sleep(RETRY_DELAY)
                continue
            reported = ""
            await asyncio.sleep(RETRY_DELAY)  # at least, also if leads refuse them more often
            await retries.pause(self._refused, CHECK_INTERVAL)
            self._refused.clear()

    async def _keep_services(self) -> None:
        """Keep the APIServices up to date, once requests can be answered."""
        watches = (*self._watches.values(), *self._service_watches.values())
        for each in watches:
            await each.listed.wait()
        service, identity = self._settings.service, self._settings.identity
        kept = Registration(self._client, service, await self._owner(), identity)
        self._measurements.conflicting = lambda: len(kept.conflicting)
        while True:
            await self._registering.wait()
            self._registering.clear()
            for name, single in self._services.items():
                try:
                    await kept.keep(name, single.item, self._certificate.bundle)
                except PASSING as error:
                    log.warning("APIService %s: %s; it is tried again", name, error)
                    await asyncio.sleep(RETRY_DELAY)
                    self._registering.set()

    async def _owner(self) -> Object | None:
        name = self._settings.owner
        while name:
            try:
                return await self._client.read(CLUSTER_ROLES, "", name)
            except PASSING as error:
                if isinstance(error, ApiError) and not error.is_passing:
                    log.warning("the APIServices stay when ClusterRole %s goes: %s", name, error)
                    return None
                await asyncio.sleep(RETRY_DELAY)
        return None
