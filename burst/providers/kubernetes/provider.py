"""The provider: each call is one visit to the API server."""

from __future__ import annotations

import asyncio
import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from burst.errors import CallInvalid, LeadAway, ProviderError
from burst.joining import broker_logs, tunnel
from burst.joining.instances import instance_objects
from burst.joining.worker_document import WorkerSettings
from burst.joining.workers import LABEL_OWNER, name_of, worker_objects
from burst.lifecycle.records import ResourceKey, ResourcePhase
from burst.providers.kubernetes import instances, made_nodes, objects, preflight, reports
from burst.providers.kubernetes.access import CheckedAccess, server
from burst.providers.kubernetes.api_errors import translated
from burst.providers.kubernetes.settings import offer
from burst.providers.kubernetes.tunnel.pods import ReachPods
from burst.providers.kubernetes.tunnel.processes import ReachProcesses
from burst.providers.kubernetes.tunnel.records import ReachTask
from minicluster.kube_client import discovery
from minicluster.kube_client.client import ApiClient
from minicluster.kube_client.errors import AccessError, KubernetesError
from minicluster.kube_client.user_client import UserClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence

    from burst.joining.records import JoinSettings
    from burst.joining.tunnel_pods import TunnelPods
    from burst.lifecycle.records import ResourceReport
    from burst.planning.records import Offer
    from burst.providers.kubernetes.made_nodes import MadeNodes
    from burst.providers.kubernetes.reports import FoundObjects
    from burst.providers.kubernetes.settings import KubernetesSettings, MachineOffer
    from burst.providers.kubernetes.tunnel.processes import ReachKeeper
    from burst.providers.provider import WantedBurst
    from minicluster.instance.port import Instance
    from minicluster.kube_client.access import Access

T = TypeVar("T")

NO_TUNNELS = (
    "spec.bursting.expose is tunnel, and nothing here would outlive this service: set it to nodePort or"
    " loadBalancer, or to none where the lead's pod is reached by its own address"
)
MANAGER = "minicluster-burst"
"""The field manager of what bursts have."""
TAIL = {"tailLines": str(broker_logs.TAIL_LINES), "limitBytes": "65536"}
"""Of a pod's log."""
IMAGE_VOLUMES_SINCE = (1, 35)
"""The version from which images can be mounted as volumes without a feature gate (KEP-4639)."""


class KubernetesProvider:
    """Runs bursts in one namespace of one cluster.

    A burst is one resource: an anchor and what hangs on it, and for one with a tunnel the lead's side of it.
    It is absent only when no object of any kind that we, or its Jobs, have made is left, and no such process.
    """

    def __init__(
        self,
        name: str,
        settings: KubernetesSettings,
        join: Callable[[WantedBurst], JoinSettings],
        now: Callable[[], float] = time.time,
        *,
        tunnels: Path | TunnelPods | None = None,
        made: MadeNodes | None = None,
    ) -> None:
        """`tunnels` is where their lead's side runs: as processes with a directory, or in pods.

        `made` is the cluster where each burst has nodes of its own; None: they run on nodes that are there.
        """
        self.name = name
        self._settings = settings
        self._join = join
        self._now = now
        kubeconfig = str(settings.kubeconfig) if settings.kubeconfig is not None else ""
        self._made = made
        self._access: Access = CheckedAccess(kubeconfig, settings.context)
        self._kubeconfig = str(Path(kubeconfig).absolute()) if kubeconfig else ""
        self._no_tunnels = NO_TUNNELS
        if made is not None and made.access is not None:
            self._access, self._no_tunnels, tunnels = made.access, made.no_tunnels, None
        if made is not None:
            self.location = made.location
        else:
            self.location = f"{_address(self._access)}/{settings.namespace}"
        own = hashlib.sha256(self.location.encode()).hexdigest()[:12]
        self._reaches = _reaches(tunnels, own)
        self._reach_task = _reach_task(self._access, self._kubeconfig, settings.namespace)

    def offers(self) -> Sequence[Offer]:
        """Return the machines of the settings."""
        return tuple(offer(self.name, each) for each in self._settings.offers)

    def resources(self, wanted: WantedBurst) -> Sequence[ResourceKey]:
        """Return the one resource that a burst is."""
        return (ResourceKey(reports.KIND, name_of(wanted.label), wanted.nodes),)

    def create(self, _key: ResourceKey, _token: str, wanted: WantedBurst) -> None:
        """Make a burst's objects, unless they are there; what cannot be is refused before the first one."""
        pods = _pods(self.name, self._settings, wanted, own=self._made is not None)
        join = self._join(wanted)
        if join.route is not None and not wanted.isolated:
            if self._reaches is None:
                raise CallInvalid(self._no_tunnels)
            self._reaches.check(self._reach_task(join, wanted))
        namespace, now = self._settings.namespace, self._now()

        async def work(client: ApiClient) -> None:
            has_volumes = await discovery.version(client) >= IMAGE_VOLUMES_SINCE
            settings = pods(has_volumes)
            made = (
                instance_objects(join.cluster, wanted, settings, now)
                if wanted.isolated
                else worker_objects(join, wanted, settings, now)
            )
            await objects.make(client, wanted, namespace, made)

        self._visit(work)
        if join.route is not None and self._reaches is not None and not wanted.isolated:
            self._reaches.ensure(wanted, lambda: self._reach_task(join, wanted))

    def get(self, key: ResourceKey, wanted: WantedBurst) -> ResourceReport:
        """Return a burst's status; the lead's side of its tunnel is begun anew if it has ended."""
        found = self._visit(lambda client: objects.of_burst(client, self._settings.namespace, wanted))
        status = reports.report(key, found, wanted)
        if self._reaches is None:
            return status
        if not found.all:
            left = (each for each in self._reaches.left(wanted.installation) if each.label == wanted.label)
            return next(map(reports.reach_left, left), status)
        if found.relay is None or status.phase not in (ResourcePhase.COMING, ResourcePhase.READY):
            return status
        return self._tunnelled(self._reaches, status, found, wanted)

    def _tunnelled(
        self, reaches: ReachKeeper, status: ResourceReport, found: FoundObjects, wanted: WantedBurst
    ) -> ResourceReport:
        try:
            reach = reaches.ensure(wanted, lambda: self._reach_task(self._join(wanted), wanted))
        except (LeadAway, ProviderError) as error:  # a deletion does not need its tunnel
            return status._replace(phase=ResourcePhase.COMING, reason=f"its tunnel: {error}")
        return reports.tunnelled(status, found, reach)

    def delete(self, _key: ResourceKey, wanted: WantedBurst) -> None:
        """Begin to delete a burst's objects, and end the lead's side of its tunnel."""
        self._visit(lambda client: objects.remove(client, self._settings.namespace, wanted))
        if self._reaches is not None:
            self._reaches.stop(wanted)

    def broker_problem(self, wanted: WantedBurst) -> str:
        """Return what a pod's log has about why its broker has not joined; nothing without the right."""
        try:
            return asyncio.run(_broker_problem(self._access, self._settings.namespace, wanted))
        except KubernetesError:
            return ""

    def problems(self) -> Iterable[str]:
        """Return what is wrong with the way there, the rights, the namespace and its quotas."""
        return _in_words(
            self.location, self._with_client(lambda client: preflight.problems(client, self._settings))
        )

    def tunnel_problems(self) -> Iterable[str]:
        """Return the rights for tunnels that are missing, there and beside this service."""
        found = _in_words(
            self.location, self._with_client(lambda client: preflight.tunnel_problems(client, self._settings))
        )
        if self._reaches is None:
            return found if self._no_tunnels is NO_TUNNELS else [*found, self._no_tunnels]
        try:
            return [*found, *self._reaches.problems(self._kubeconfig)]
        except ProviderError as error:
            return [*found, str(error)]

    def instance(self, wanted: WantedBurst) -> Instance:
        """Connect to the instance of an isolated burst. Raises RetryLater while none answers."""
        return instances.connect(self._access, self._settings.namespace, wanted)

    def isolation_problems(self) -> Iterable[str]:
        """Return the rights for instances of single jobs that are missing."""
        work = self._with_client(lambda client: preflight.isolation_problems(client, self._settings))
        return _in_words(self.location, work)

    def owned(self, installation: str) -> Iterable[ResourceReport]:
        """List the bursts of which anything is there."""

        async def work(client: ApiClient) -> list[ResourceReport]:
            labels = f"{LABEL_OWNER}={installation}"
            items = await objects.listed(client, self._settings.namespace, labels)
            found = objects.grouped(items)
            return [reports.listed(label, installation, each) for label, each in found.items()]

        there = self._visit(work)
        known = {each.burst for each in there}
        left = self._reaches.left(installation) if self._reaches is not None else ()
        return [*there, *(reports.reach_left(each) for each in left if each.label not in known)]

    def _visit(self, work: Callable[[ApiClient], Awaitable[T]]) -> T:
        """Return what comes of requests. Raises ProviderError."""
        try:
            return asyncio.run(self._with_client(work))
        except KubernetesError as error:
            raise translated(error, self.location) from error

    async def _with_client(self, work: Callable[[ApiClient], Awaitable[T]]) -> T:
        async with ApiClient(self._access, manager=MANAGER) as client:
            return await work(client)


def _reach_task(access: Access, kubeconfig: str, namespace: str) -> Callable[..., ReachTask]:
    """Return what makes the task of a lead's side of a tunnel."""

    def task(join: JoinSettings, wanted: WantedBurst) -> ReachTask:
        if join.route is None:
            raise CallInvalid("its MiniCluster has no tunnels any more")
        return ReachTask(
            label=wanted.label,
            installation=wanted.installation,
            nodes=wanted.nodes,
            created=time.time(),
            until=wanted.until,
            kubeconfig=kubeconfig,
            context=access.context,
            namespace=namespace,
            port=tunnel.reach_port(join.port),
            lead=join.route,
        )

    return task


def _pods(
    name: str, settings: KubernetesSettings, wanted: WantedBurst, *, own: bool
) -> Callable[[bool], WorkerSettings]:
    """Return what makes the settings of a burst's pods. Raises CallInvalid for an unknown machine."""
    machine = settings.machine(wanted.machine)
    if machine is None:
        names = ", ".join(each.machine for each in settings.offers)
        raise CallInvalid(f"provider {name} has no machine {wanted.machine!r}, but {names}")
    if wanted.nodes > machine.most:
        raise CallInvalid(f"{wanted.nodes} nodes of {machine.machine}: at most {machine.most} are offered")
    tolerations = [each.model_dump(by_alias=True, exclude_unset=True) for each in machine.tolerations]
    return lambda has_volumes: WorkerSettings(
        namespace=settings.namespace,
        image=settings.image,
        node_selector={**machine.node_selector, **(made_nodes.selector(wanted) if own else {})},
        tolerations=(*tolerations, *([made_nodes.toleration(wanted)] if own else ())),
        requests=_requests(machine, wanted),
        runtime_class=settings.runtime_class,
        priority_class=settings.priority_class,
        service_account=settings.service_account,
        image_pull_secrets=settings.image_pull_secrets,
        job_labels=settings.job_labels,
        volumes=settings.volumes,
        existing=frozenset(settings.existing),
        image_volumes=has_volumes,
    )


def _requests(machine: MachineOffer, wanted: WantedBurst) -> Mapping[str, str]:
    """Return what a broker requests: the lead elsewhere offers by it what was planned with."""
    if not wanted.isolated or "cpu" in machine.requests:
        return machine.requests
    return {**machine.requests, "cpu": str(machine.cores)}


def _address(access: Access) -> str:
    try:
        return server(access)
    except AccessError:
        return "unknown"  # its problems have the reason


async def _broker_problem(access: Access, namespace: str, wanted: WantedBurst) -> str:
    async with UserClient(access) as client:
        found = await objects.of_burst(client, namespace, wanted)
        for pod in found.pods:
            chunks = client.pods.log(namespace, pod["metadata"]["name"], TAIL)
            text = b"".join([chunk async for chunk in chunks]).decode(errors="replace")
            if message := broker_logs.problem(text.splitlines()):
                return message
    return ""


def _in_words(location: str, work: Coroutine[None, None, list[str]]) -> list[str]:
    """Return the problems that are found; that the server cannot be asked is one."""
    try:
        return asyncio.run(work)
    except KubernetesError as error:
        return [f"{location}: {error}"]


def _reaches(tunnels: Path | TunnelPods | None, location: str) -> ReachKeeper | None:
    """Return where the lead's side of tunnels runs. `location` distinguishes it from other providers'."""
    if tunnels is None:
        return None
    return ReachProcesses(tunnels / location) if isinstance(tunnels, Path) else ReachPods(tunnels, location)
