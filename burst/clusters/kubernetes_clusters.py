"""The MiniClusters of a Kubernetes cluster whose bursts are managed, by default with a user's rights."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from burst.clusters.cluster_marks import ClusterMarks
from burst.clusters.records import MACHINE_KINDS, BurstingCluster
from burst.errors import AccessDenied, LeadAway
from burst.joining import exposure
from burst.joining.exposure import ExposureSettings, ExposureWay, LeadAddress
from burst.joining.records import JoinSettings, LeadHost, LeadRoute, MachineRoute
from burst.joining.tunnel_pods import admitted
from minicluster import document
from minicluster.backends import kept_instance
from minicluster.backends.errors import BackendError
from minicluster.backends.quiet_reporter import QuietReporter
from minicluster.document import DocumentError
from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import AccessDeniedError, ApiError, KubernetesError
from minicluster.kube_client.resources import MINICLUSTERS, SECRETS
from minicluster.lead_client.machine_access import MachineAccess, fingerprint
from minicluster.lead_client.purpose_keys import BURST
from minicluster.plan.constants import LEAD_CERTIFICATE
from minicluster.plan.objects import names
from minicluster.plan.objects.keys import lead_dns_name
from minicluster.plan.objects.labels import lead_pod
from minicluster.remote import session
from minicluster.remote.backend import KubernetesBackend, translated
from minicluster.remote.session import Target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from minicluster.backends.kept_instance import KeptInstance
    from minicluster.document import BurstStatus, MiniCluster
    from minicluster.instance.port import Instance
    from minicluster.kube_client.access import Access
    from minicluster.remote.session import NamespaceSession

KubeObject = dict[str, Any]

UNFIT = {
    "local": "no lead in a pod is reached from this machine; right would be a provider of another kind, such"
    " as kubernetes, in the settings"
}
"""Kinds of providers whose brokers cannot join MiniClusters there, and why."""
UNFIT_TUNNELED = UNFIT | dict.fromkeys(
    MACHINE_KINDS,
    "its spec.bursting.expose is tunnel, which ends at an API server, and machines have none; right would be"
    " nodePort or loadBalancer",
)
TUNNEL = "tunnel"
NO_TUNNELS = (
    "spec.bursting.expose is tunnel, and this service makes none: an administrator sets tunnels.enabled=true"
    " in the values of its chart (--tunnels); or set it to nodePort or loadBalancer, or to none where the"
    " lead's pod is reached by its own address"
)
ENDING = "it is being deleted: its bursts end, and it gets no others"
_CERTIFICATE = "curve.cert"
_log = logging.getLogger(__name__)
_WAYS = {each.value: each for each in ExposureWay}


@dataclass(frozen=True, slots=True)
class NamespaceChoice:
    """A namespace of a Kubernetes cluster, or all of them."""

    access: Access
    namespace: str = ""
    """Empty: the context's."""
    everywhere: bool = False
    """Whether those of every namespace are meant."""
    namespaces: tuple[str, ...] = ()
    """Several, in place of one."""


class LeadReach(Protocol):
    """How leads are reached. Methods block."""

    def connect(self, found: MiniCluster) -> Instance:
        """Connect to its instance. Raises InstanceError and BackendError."""
        ...

    def certificate(self, found: MiniCluster) -> str:
        """Return the text of the CURVE certificate. Raises LeadAway while there is none, KubernetesError."""
        ...

    def route(self, found: MiniCluster) -> LeadRoute | LeadHost | None:
        """Return how the lead's side of a tunnel reaches its broker; None: there are no tunnels."""
        ...

    def machines(self, found: MiniCluster) -> MachineAccess:
        """Return how machines that are no pods get the certificate. Raises LeadAway, KubernetesError."""
        ...


class KubernetesClusters:
    """Those that there are in namespaces; see `ClusterSource`.

    One that is being deleted is gone, unless it stays for its bursts.
    """

    def __init__(self, choice: NamespaceChoice, reach: LeadReach | None = None) -> None:
        """Read the kubeconfig. Without `reach` a user's own rights are taken. Raises BackendError."""
        self._access = choice.access
        with translated():
            self._namespace = choice.namespace or choice.access.namespace()
            server = choice.access.connect().server
        self._scopes = ("",) if choice.everywhere else choice.namespaces or (self._namespace,)
        named = f"namespace{'s' * (len(self._scopes) > 1)} {', '.join(self._scopes)}"
        self.location = f"{'every namespace' if choice.everywhere else named} of {server}"
        self.key = hashlib.sha256(self.location.encode()).hexdigest()[:12]
        self._is_user = reach is None
        self._reach = reach or UserReach(choice.access)
        self._listed: dict[str, tuple[KubeObject, ...]] = {}
        """What each namespace had."""
        self._marks: dict[str, ClusterMarks] = {}
        self._present: dict[str, MiniCluster] = {}
        self._denied: set[str] = set()
        """Namespaces in which this user may not write what MiniClusters show."""
        self._closed: set[str] = set()
        """Uids of those that are known to be exposed no more."""

    def clusters(self) -> list[BurstingCluster]:
        """Return those that there are now, by name. Raises BackendError."""
        items = [item for each in self._scopes for item in self._listing(each)]
        self._marks = {each.uid: each for each in map(ClusterMarks, items)}
        found = [each for each in map(self._managed, items) if each is not None]
        self._present = {each.metadata.uid: each for each in found}
        return sorted(map(self._cluster, found), key=lambda each: each.name)

    def _listing(self, scope: str) -> tuple[KubeObject, ...]:
        """Return the MiniClusters of a namespace. Raises BackendError.

        Of several namespaces one that cannot be listed is as it was: the others go on.
        """

        async def read(asked: NamespaceSession) -> tuple[KubeObject, ...]:
            return (await asked.client.list(Selection(MINICLUSTERS, scope))).items

        try:
            with translated():
                self._listed[scope] = session.run(Target(self._access, self._namespace), read)
        except BackendError as error:
            if len(self._scopes) == 1 or scope not in self._listed:
                raise
            _log.warning("namespace %s is as it was when it was listed last: %s", scope, error)
        return self._listed[scope]

    def _managed(self, item: KubeObject) -> MiniCluster | None:
        """Return the document of a MiniCluster with managed bursts that stays; of an invalid one the last.

        Its brokers run on as they were begun, and so do its bursts.
        """
        marks = ClusterMarks(item)
        if item["spec"].get("bursting") is None or (marks.is_ending and not marks.is_guarded):
            return None
        try:
            return document.validate(item)
        except DocumentError:
            return self._present.get(item["metadata"]["uid"])

    def withdraw(self, open_clusters: AbstractSet[str]) -> None:
        """Take the exposure of leads back that have no open burst. Raises BackendError."""
        for uid, found in self._present.items():
            if uid in open_clusters or uid in self._closed:
                continue

            async def end(asked: NamespaceSession, found: MiniCluster = found) -> None:
                await exposure.unexpose(asked.client, found)

            # Who may not read it has not made it.
            with translated(), contextlib.suppress(AccessDeniedError):
                session.run(self._target(found), end)
            self._closed.add(uid)

    def publish(self, bursts: Mapping[str, Sequence[BurstStatus]]) -> None:
        """Show bursts, and keep MiniClusters that have any. A user who may not do that does nothing.

        Raises BackendError, after all have had their turn.
        """
        problems = []
        for uid, marks in self._marks.items():
            shown = bursts.get(uid, ())
            if marks.namespace in self._denied or not marks.differ(shown):
                continue

            async def write(
                asked: NamespaceSession, marks: ClusterMarks = marks, shown: Sequence[BurstStatus] = shown
            ) -> None:
                await marks.write(asked.client, shown)

            try:
                session.run(Target(self._access, marks.namespace), write)
            except KubernetesError as error:
                if self._is_user and isinstance(error, AccessDeniedError):
                    self._denied.add(marks.namespace)
                else:
                    problems.append(error)
        with translated():
            if problems:
                raise problems[0]

    def _cluster(self, found: MiniCluster) -> BurstingCluster:
        name = f"{found.metadata.namespace}/{found.metadata.name}"
        policy = found.spec.bursting
        is_tunneled = policy is not None and policy.join and policy.expose == TUNNEL
        problem = NO_TUNNELS if is_tunneled and self._reach.route(found) is None else ""
        is_ending = self._marks[found.metadata.uid].is_ending

        def connect() -> Instance:
            return self._reach.connect(found)

        def join(slot: str, *, as_machines: bool = False) -> JoinSettings:
            return self._join(found, slot, as_machines=as_machines)

        def alone() -> JoinSettings:
            return self._alone(found)

        problem = ENDING if is_ending else problem
        return BurstingCluster(
            uid=found.metadata.uid,
            name=name,
            title=name,
            document=found,
            connect=connect,
            join=join,
            unfit=UNFIT_TUNNELED if is_tunneled else UNFIT,
            problem=problem,
            is_ending=is_ending,
            is_tunneled=is_tunneled,
            join_machines=functools.partial(join, as_machines=True),
            alone=alone,
        )

    def _target(self, found: MiniCluster) -> Target:
        return Target(self._access, found.metadata.namespace)

    def _join(self, found: MiniCluster, slot: str, *, as_machines: bool) -> JoinSettings:
        policy = found.spec.bursting
        self._closed.discard(found.metadata.uid)

        is_tunneled = policy is not None and policy.expose == TUNNEL
        route = self._reach.route(found) if is_tunneled else None

        async def locate(asked: NamespaceSession) -> LeadAddress:
            return await _address(asked, found, route, as_machines=as_machines)

        try:
            self._guard(found)
            certificate = self._reach.certificate(found)
            access = self._reach.machines(found) if as_machines and route is None else None
            located = session.run(self._target(found), locate)
        except AccessDeniedError as error:
            raise AccessDenied(f"MiniCluster {_name(found)}: {error}") from error
        except KubernetesError as error:
            raise LeadAway(f"MiniCluster {_name(found)}: {error}") from error
        fence = float(policy.fence_seconds) if policy is not None else 30.0
        address, port, api_port = located
        by = (
            MachineRoute(address, api_port, access.name, access.fingerprint, access.token) if access else None
        )
        return JoinSettings(found, slot, address, port, certificate, fence, route=route, machines=by)

    def _alone(self, found: MiniCluster) -> JoinSettings:
        """Return what brokers need that do not join: nothing of the lead's is read, and it is not exposed."""
        try:
            self._guard(found)
        except AccessDeniedError as error:
            raise AccessDenied(f"MiniCluster {_name(found)}: {error}") from error
        except KubernetesError as error:
            raise LeadAway(f"MiniCluster {_name(found)}: {error}") from error
        return JoinSettings(found, "", "", found.spec.network.port, "")

    def _guard(self, found: MiniCluster) -> None:
        """Keep a MiniCluster until its bursts are deleted, before the first machine of one is made.

        Raises LeadAway where it is being deleted, and KubernetesError; not for a user who may not do that.
        """
        marks = self._marks.get(found.metadata.uid)
        if marks is None or marks.is_ending:
            raise LeadAway(f"MiniCluster {_name(found)}: {ENDING}")
        if marks.is_guarded or found.metadata.namespace in self._denied:
            return

        async def guard(asked: NamespaceSession) -> None:
            await marks.guard(asked.client)

        try:
            session.run(self._target(found), guard)
        except AccessDeniedError:
            if not self._is_user:
                raise
            self._denied.add(found.metadata.namespace)


class UserReach:
    """Reaches leads by commands in their pods, and certificates in their Secrets; see `LeadReach`."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def connect(self, found: MiniCluster) -> KeptInstance:
        """Connect to its instance. Raises BackendError."""
        given = {
            "kubeconfig": self._access.kubeconfig,
            "context": self._access.context,
            "namespace": found.metadata.namespace,
        }
        return kept_instance.connect(KubernetesBackend(given, QuietReporter()), found.metadata.name)

    def certificate(self, found: MiniCluster) -> str:
        """Return the text of the CURVE certificate. Raises LeadAway while there is none, KubernetesError."""

        async def read(asked: NamespaceSession) -> str:
            return await _secret_file(asked, found, names.curve_secret(found), _CERTIFICATE)

        return session.run(Target(self._access, found.metadata.namespace), read)

    def route(self, found: MiniCluster) -> LeadRoute:
        """Return how its broker is reached through the API server."""
        kubeconfig = str(Path(self._access.kubeconfig).absolute()) if self._access.kubeconfig else ""
        labels = ",".join(f"{key}={value}" for key, value in lead_pod(found).items())
        port = found.spec.network.port
        return LeadRoute(kubeconfig, self._access.context, found.metadata.namespace, labels, port)

    def machines(self, found: MiniCluster) -> MachineAccess:
        """Return how machines get the certificate. Raises LeadAway while there is none, KubernetesError."""

        async def read(asked: NamespaceSession) -> MachineAccess:
            tls = await _secret_file(asked, found, names.curve_secret(found), LEAD_CERTIFICATE)
            key = await _secret_file(asked, found, names.token_secret(found), f"{BURST}.token")
            return MachineAccess(lead_dns_name(found.metadata.uid), fingerprint(tls), key.strip())

        return session.run(Target(self._access, found.metadata.namespace), read)


def _name(found: MiniCluster) -> str:
    return f"{found.metadata.namespace}/{found.metadata.name}"


async def _secret_file(asked: NamespaceSession, found: MiniCluster, secret: str, name: str) -> str:
    """Return the text of a file in a Secret of a MiniCluster. Raises LeadAway while there is none."""
    try:
        item = await asked.client.read(SECRETS, asked.namespace, secret)
    except ApiError as error:
        if error.status != 404:
            raise
        raise LeadAway(f"MiniCluster {_name(found)}: its Secret {secret} is not there yet") from error
    if name not in (item.get("data") or {}):
        raise LeadAway(f"MiniCluster {_name(found)}: its Secret {secret} has no {name}")
    return base64.b64decode(item["data"][name]).decode()


async def _address(
    asked: NamespaceSession, found: MiniCluster, route: LeadRoute | LeadHost | None, *, as_machines: bool
) -> LeadAddress:
    """Return where the lead is reached; it is exposed if it has to be. Raises LeadAway, NameTaken."""
    policy = found.spec.bursting
    if route is not None:
        if isinstance(route, LeadHost):
            await exposure.admit(asked.client, found, admitted(found, route.namespace))
        return LeadAddress("", route.port)
    expose = policy.expose if policy is not None else "none"
    if policy is None or expose == "none":
        if as_machines and policy is not None:
            await exposure.admit_to_api(asked.client, found, policy.source_ranges)
        address = await exposure.pod_address(asked.client, found)
    elif expose in _WAYS:
        settings = ExposureSettings(_WAYS[expose], policy.source_ranges, has_api=as_machines)
        address = await exposure.expose(asked.client, found, settings)
    else:
        raise LeadAway(f"MiniCluster {_name(found)}: {NO_TUNNELS}")
    if address is None:
        raise LeadAway(f"MiniCluster {_name(found)}: its lead has no address yet ({expose})")
    return address
