"""The operator as a process: it stands by until it leads, reconciles MiniClusters, and stops cleanly."""

from __future__ import annotations

import asyncio
import logging
import signal
import time
from typing import TYPE_CHECKING, Any

from broker_config import curve
from minicluster.kube_client import probe_server, service_process, watch
from minicluster.kube_client.client import ApiClient
from minicluster.kube_client.errors import KubernetesError
from minicluster.kube_client.leadership import Leadership
from minicluster.kube_client.resources import LEASES
from minicluster.lead_client import key_store, purpose_key_store
from minicluster.lead_client.purpose_keys import PUBLISHED
from minicluster.operator import crd_check, handlers, node_watch
from minicluster.operator.cache import Cache
from minicluster.operator.controller import Controller
from minicluster.operator.debounce import Debounce
from minicluster.operator.errors import WatchLostError
from minicluster.operator.kopf_alone import kopf
from minicluster.operator.lead_watch import LeadWatch
from minicluster.operator.metrics import OperatorMetrics
from minicluster.operator.node_index import NodeIndex
from minicluster.operator.plan_worker import PlanWorker
from minicluster.operator.planner import Planner
from minicluster.operator.pod_events import PodEvents
from minicluster.operator.queue import WorkQueue
from minicluster.operator.reconciler import Reconciler, ReconcilerOptions
from minicluster.operator.settings import INSTALLED, LEASE
from minicluster.operator.site import site
from minicluster.plan import FreshKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable

    from minicluster.kube_client.access import Access
    from minicluster.kube_client.objects import Name
    from minicluster.operator.planned import Subject
    from minicluster.operator.settings import OperatorSettings

LAST_SECONDS = 0.5
LAST_WRITES = 3.0
"""Seconds for the answers to the last writes: less than a Lease outlasts its holder's right to write."""
CRD_POLL_INTERVAL = 2.0
"""Seconds between two checks that the API server knows MiniClusters."""

log = logging.getLogger(__name__)


def run(settings: OperatorSettings) -> int:
    """Run an operator until SIGTERM or Ctrl-C; return the exit code: 0, or 1 after an error.

    It also ends when it does not lead any more: the kubelet starts it again, and it stands by.
    """
    service_process.prepare(settings.log_format, settings.log_level)
    code = 0
    try:
        asyncio.run(_Operator(settings).serve())
    except* KubernetesError as errors:
        for error in errors.exceptions:
            log.error("the operator ends: %s", error)  # noqa: TRY400  # the reason is the message
        code = 1
    except* Exception:
        log.exception("the operator ends: a defect of it")
        code = 1
    return code


def installed_lease(access: Access) -> tuple[str, str] | None:
    """Return the Lease of an operator that is installed in the cluster, None where none holds it.

    An operator that a user starts beside it stands by, and does not write to the same objects.
    """

    async def check() -> bool:
        async with ApiClient(access) as client:
            found = await client.read(LEASES, INSTALLED, LEASE)
        return bool((found.get("spec") or {}).get("holderIdentity"))

    try:
        return (INSTALLED, LEASE) if asyncio.run(check()) else None
    except KubernetesError:
        return None


class _Operator:
    """Starts and ends the parts of one operator in order."""

    def __init__(self, settings: OperatorSettings) -> None:
        self._settings = settings
        self._cache = Cache()
        self._nodes = NodeIndex()
        self._queue = WorkQueue(time.monotonic)
        self._worker = PlanWorker()
        self._metrics = OperatorMetrics(self._cache, self._queue)
        self._stop = asyncio.Event()
        self._ended = asyncio.Event()  # set once one of the parts has ended
        self._kopf_ready = asyncio.Event()
        self._unwatched = "MiniClusters are not watched yet"  # why kopf does not watch them yet
        self._leadership: Leadership | None = None
        self._watches: list[watch.Watch] = []
        self._begun: list[asyncio.Task[Any]] = []

    async def serve(self) -> None:
        """Stand by, lead, and stop."""
        self._watch_signals()
        async with (
            self._client() as ungated,
            probe_server.serving(self._settings.listen, self._metrics, self._live, self._ready),
        ):
            if self._settings.lease is None:
                await self._lead(ungated)
                return
            namespace, name = self._settings.lease
            self._leadership = Leadership(ungated, namespace, self._settings.identity, name=name)
            await self._stand_by(self._leadership)

    async def _stand_by(self, leadership: Leadership) -> None:
        self._metrics.leads = lambda: leadership.leads
        try:
            if not await self._before_the_end(leadership.acquire()):
                return
            async with self._client(leadership.may_write) as gated:
                await self._lead(gated, leadership.keep())
        finally:
            await leadership.release()

    def _client(self, gate: Callable[[], None] = lambda: None) -> ApiClient:
        identity = self._settings.identity
        return ApiClient(self._settings.access, gate, observe=self._metrics.requested, identity=identity)

    def _watch_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, self._stop.set)

    async def _before_the_end(self, work: Coroutine[Any, Any, None]) -> bool:
        """Wait for some work; return whether it was done before the operator was to stop."""
        doing, stopping = asyncio.create_task(work), asyncio.create_task(self._stop.wait())
        await asyncio.wait((doing, stopping), return_when=asyncio.FIRST_COMPLETED)
        await _cancel((stopping, *(() if doing.done() else (doing,))))
        if doing.done() and not doing.cancelled():
            doing.result()
            return True
        return False

    async def _lead(self, client: ApiClient, *also: Coroutine[Any, Any, Any]) -> None:
        """Reconcile MiniClusters until the operator is to stop; raise the exception of a part that fails.

        The next leader must not meet writes of this one, so those under way are waited for. That comes first:
        when kopf ends, it cancels every task that began after it.
        """
        self._begin(*also, self._stop.wait(), self._manage(client))
        await self._ended.wait()
        ended = [each for each in self._begun if each.done()]
        await client.finish(LAST_WRITES)
        await _cancel(each for each in self._begun if each not in ended)
        for each in ended:
            each.result()  # raises what made it end

    async def _manage(self, client: ApiClient) -> None:
        """Watch, and once all objects are listed, reconcile the MiniClusters that kopf reports."""
        leads, pod_events, controller = await self._parts(client)
        self._watches = [
            watch.Watch(client, self._cache, selection, controller.changed, self._metrics.watch_restarted)
            for selection in watch.selections(self._settings.namespaces)
        ]
        self._begin(*(each.run() for each in self._watches))
        if self._settings.granularity != "none":
            await node_watch.begin(client, self._nodes, self._begin, self._metrics.watch_restarted)
        for each in self._watches:
            await each.listed.wait()
        await self._known(client)
        self._begin(self._listen(), controller.work())
        try:
            await self._follow(controller)
        finally:
            await leads.close()
            await pod_events.close()
            await self._worker.close()

    async def _parts(self, client: ApiClient) -> tuple[LeadWatch, PodEvents, Controller]:
        """Return the watches of leads and of pods' Events, and the controller."""
        own_namespace = self._settings.own_namespace
        authority = await key_store.authority(client, own_namespace)
        generations = self._settings.generations
        for each in PUBLISHED:
            keys = authority.purpose(each, generations.of(each))
            await purpose_key_store.publish(client, own_namespace, keys)
        cluster_site = await site(
            client,
            operator_namespace=own_namespace,
            generations=generations,
            granularity=self._settings.granularity,
            granularity_override=self._settings.granularity_override,
        )

        def changed(name: Name) -> None:
            controller.changed(name)

        def fresh_keys(subject: Subject) -> FreshKeys:
            lead_keys = authority.issue(subject.uid, subject.lead_hosts, generations)
            return FreshKeys(curve.generate(), lead_keys)

        leads = LeadWatch(self._cache, authority, changed, cluster_site.lead_api_port)
        pod_events = PodEvents(client, self._cache, changed)
        options = ReconcilerOptions(
            cluster_site,
            self._settings.identity,
            fresh_keys,
            Planner(self._worker),
            nodes=self._nodes.reports,
        )
        reconciler = Reconciler(client, self._cache, options, self._metrics, leads)
        notice = Debounce(leads.follow, pod_events.follow)
        controller = Controller(self._cache, self._queue, reconciler, self._metrics, notice)
        return leads, pod_events, controller

    async def _known(self, client: ApiClient) -> None:
        """Wait until the API server knows MiniClusters: kopf checks that once, and then never again."""
        while missing := await crd_check.trouble(client):
            if self._unwatched != missing:
                log.warning(missing)
            self._unwatched = missing
            await asyncio.sleep(CRD_POLL_INTERVAL)

    async def _follow(self, controller: Controller) -> None:
        """Have kopf report MiniClusters to the controller. Raises WatchLostError where kopf gives up."""
        namespaces = self._settings.namespaces
        log.info("looking after MiniClusters in %s", ", ".join(namespaces) or "all namespaces")
        try:
            await kopf.operator(
                registry=handlers.registry(self._settings.access, controller),
                settings=handlers.settings(),
                standalone=True,
                # Without it kopf looks the user's name up, and a pod's user may have none.
                identity=self._settings.identity,  # type: ignore[arg-type]  # a str type that kopf does not export
                clusterwide=not namespaces,
                namespaces=namespaces,
                ready_flag=self._kopf_ready,
            )
        except Exception as error:
            raise WatchLostError(f"MiniClusters cannot be followed any more: {error}") from error

    async def _listen(self) -> None:
        """Handle signals again once kopf has begun: it replaces the handlers, and stops later."""
        await self._kopf_ready.wait()
        self._watch_signals()
        await self._stop.wait()

    def _live(self) -> str:
        """Return why this process is not live: a part of it has ended, and it is not stopping."""
        return "a part of the operator has ended" if self._ended.is_set() and not self._stop.is_set() else ""

    def _ready(self) -> str:
        """Return why it cannot reconcile MiniClusters, or take over, yet."""
        if self._leadership is not None and not self._leadership.leads:
            return self._leadership.trouble or ("" if self._leadership.holder else "no Lease was seen yet")
        waiting = [str(each) for each in self._watches if not each.listed.is_set()]
        if not self._watches or waiting:
            return f"not listed yet: {', '.join(waiting) or 'anything'}"
        return "" if self._kopf_ready.is_set() else self._unwatched

    def _begin(self, *work: Coroutine[Any, Any, Any]) -> None:
        for each in work:
            task = asyncio.create_task(each)
            task.add_done_callback(lambda _: self._ended.set())
            self._begun.append(task)


async def _cancel(tasks: Iterable[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait LAST_SECONDS for them: kopf's task waits for others and may take longer."""
    ending = list(tasks)
    for each in ending:
        each.cancel()
    if ending:
        await asyncio.wait(ending, timeout=LAST_SECONDS)
