"""From a MiniCluster's document to that of brokers elsewhere, which follow its lead and have no other.

What the document names of its own Kubernetes cluster is not there: claims, Secrets, ConfigMaps, directories
of nodes, nodes' labels. It is left out where brokers do without, replaced where settings do so, otherwise
refused.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_config import tree
from burst.errors import CallInvalid
from minicluster import document
from minicluster.document import (
    Archive,
    Bursting,
    Container,
    FluxScheduler,
    LeadBroker,
    Metadata,
    MiniCluster,
    Status,
    Volume,
    max_size,
    sources,
)
from minicluster.document.flux import BurstedCluster
from minicluster.document.pod import ImagePullSecret, Toleration
from minicluster.plan.brokers import cutting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from burst.joining.records import JoinSettings
    from minicluster.document import Commands, FluxSpec, PodSpec


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What pods have where a burst runs, in place of what they have at home."""

    namespace: str = "default"
    image: str = ""
    """Empty: the document's."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    requests: Mapping[str, str] = field(default_factory=dict)
    """What brokers request and are limited to; empty: as the document has it."""
    runtime_class: str = ""
    priority_class: str = ""
    service_account: str = ""
    image_pull_secrets: tuple[str, ...] = ()
    job_labels: Mapping[str, str] = field(default_factory=dict)
    """Such as the name of a queue of Kueue's."""
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    """By name: in place of the document's volumes of these names."""
    existing: frozenset[str] = frozenset()
    """Names of claims, ConfigMaps and Secrets that are there as well."""
    image_volumes: bool = False
    """Whether images can be mounted there."""


class WorkerRequest(NamedTuple):
    """The brokers that are wanted."""

    name: str
    """Of their objects; hosts have the slot's name."""
    nodes: int
    seconds: int
    """After so many seconds they end by themselves."""


def worker_document(join: JoinSettings, request: WorkerRequest, settings: WorkerSettings) -> MiniCluster:
    """Return the document of the brokers of a burst. Raises CallInvalid, which has every problem."""
    _check(join.cluster, problems(join, settings))
    made = _document(join.cluster, request, settings, _flux(join))
    return _cut(made, join, request, is_set=bool(settings.requests))


def isolated_document(cluster: MiniCluster, request: WorkerRequest, settings: WorkerSettings) -> MiniCluster:
    """Return the document of an instance of its own, which idles until it is asked. Raises CallInvalid.

    Its lead broker is one of its own, with its own queue: what the document sets of its own is left out.
    """
    _check(cluster, _own_problems(cluster, settings))
    found = cluster.spec.flux
    flux = found.model_copy(
        update={
            "container": found.container.model_copy(update={"image_pull_secret": ""}),
            "bursting": Bursting(),
            "broker_config": "",
            "scheduler": FluxScheduler(),
            "topology": "",
            "curve_cert": "",
            "minimal_service": False,
            "complete_workers": False,
            "state_volume": None,
        }
    )
    return _document(cluster, request, settings, flux)


def _cut(made: MiniCluster, join: JoinSettings, request: WorkerRequest, *, is_set: bool) -> MiniCluster:
    """Return the document with brokers that are cut as those of the lead are; `is_set`: by the settings.

    A slot with cores of its own has what it says. Its brokers are those of the document.
    """
    found = join.cluster.status.granularity
    slots = {each.name: each for each in document.bursted_clusters(join.cluster)}
    if found is None or slots[join.slot].cores is not None:
        return made
    number = 1 if is_set else found.brokers
    containers = tuple(
        each.model_copy(update={"resources": cutting.divided(each.resources, number)})
        if each is document.runner(made.spec)
        else each
        for each in made.spec.containers
    )
    apart = {"nodes": request.nodes, "groups": request.nodes}  # each was planned with a node of its own
    cut = found.model_copy(update={"brokers": 1, **apart})
    spec = made.spec.model_copy(update={"containers": containers})
    return made.model_copy(update={"spec": spec, "status": Status(granularity=cut)})


def _check(cluster: MiniCluster, found: Iterator[str]) -> None:
    if problems := list(found):
        raise CallInvalid(f"MiniCluster {cluster.metadata.name} cannot burst there: {'; '.join(problems)}")


def _document(
    cluster: MiniCluster, request: WorkerRequest, settings: WorkerSettings, flux: FluxSpec
) -> MiniCluster:
    near = cluster.spec
    spec = near.model_copy(
        update={
            "containers": tuple(
                _container(each, settings, is_runner=each is document.runner(near))
                for each in near.containers
            ),
            "services": (),
            "size": request.nodes,
            "max_size": 0,
            "min_size": 0,
            "interactive": True,
            "deadline_seconds": request.seconds,
            "drain_timeout_seconds": 0,
            "suspend": False,
            "managed_by": "",
            "cleanup": False,
            "job_labels": dict(settings.job_labels),
            "archive": Archive(),
            "autoscaling": None,
            "granularity": None,  # it is for the operator of the lead
            "network": near.network.model_copy(update={"headless_name": ""}),
            "pod": _pod(near.pod, settings),
            "flux": flux,
        }
    )
    if "bursting" in type(spec).model_fields:  # who manages the bursts of the lead does so there alone
        spec = spec.model_copy(update={"bursting": None})
    metadata = Metadata(name=request.name, namespace=settings.namespace)
    return MiniCluster(metadata=metadata, spec=spec, status=Status())


def problems(join: JoinSettings, settings: WorkerSettings) -> Iterator[str]:
    """Yield why brokers of this document cannot run there, or cannot reach its lead."""
    cluster = join.cluster
    yield from _slot_problems(join)
    if "bootstrap" in tomllib.loads(cluster.spec.flux.broker_config):
        yield "flux.brokerConfig has a table [bootstrap], in which the lead has a name of its own cluster"
    yield from _own_problems(cluster, settings)


def _own_problems(cluster: MiniCluster, settings: WorkerSettings) -> Iterator[str]:
    """Yield what the document names of its own cluster that is not there."""
    secret = cluster.spec.flux.munge_secret
    if secret and secret not in settings.existing:
        yield _missing("flux.mungeSecret", "Secret", secret)
    if cluster.spec.pod.resource_claims:
        yield "pod.resourceClaims are claims of its own cluster"
    for container in cluster.spec.containers:
        yield from _container_problems(container, settings)


def _slot_problems(join: JoinSettings) -> Iterator[str]:
    cluster = join.cluster
    bursting = cluster.spec.flux.bursting
    slots = {each.name: each.size for each in document.bursted_clusters(cluster)}
    if bursting.hostlist:
        yield "flux.bursting.hostlist names hosts, and no slots; right would be flux.bursting.clusters"
    elif join.slot not in slots:
        yield f"flux.bursting.clusters has no {join.slot}, but {', '.join(slots) or 'nothing'}"
    hosts = max_size(cluster) + sum(slots.values())
    topology = cluster.spec.flux.topology
    if topology and not tree.is_flat(topology, hosts):
        yield (
            f"it has {hosts} hosts, and flux.topology {topology!r}: some brokers would have to reach others"
            " than the lead, which cannot be reached from there; right would be flux.topology:"
            f" {tree.flat(hosts)}"
        )


def _container_problems(container: Container, settings: WorkerSettings) -> Iterator[str]:
    for name, volume in container.volumes.items():
        if name in settings.volumes:
            continue
        for kind, value in sources(volume):
            if kind == "hostPath":
                yield (
                    f"volume {name} is a directory of its own nodes, {value}: the provider's settings"
                    f" can have another one in volumes.{name}"
                )
            elif kind in _KINDS and value not in settings.existing:
                yield _missing(f"volume {name}", _KINDS[kind], value)
    for variable, reference in container.secrets.items():
        if reference.name not in settings.existing:
            yield _missing(f"variable {variable}", "Secret", reference.name)


_KINDS = {
    "claimName": "PersistentVolumeClaim",
    "configMapName": "ConfigMap",
    "secretName": "Secret",
}


def _missing(what: str, kind: str, name: str) -> str:
    return (
        f"{what} is {kind} {name} of its own cluster: make one of that name there, and name it in the"
        " provider's setting `existing`"
    )


def _container(container: Container, settings: WorkerSettings, *, is_runner: bool) -> Container:
    replaced = {name: settings.volumes.get(name, each) for name, each in container.volumes.items()}
    update: dict[str, Any] = {"volumes": replaced, "image_pull_secret": ""}
    if is_runner:
        update |= {"command": "", "batch": False, "launcher": False, "logs": document.DEFAULT_LOGS}
        update["commands"] = _commands(container.commands)
        if settings.image:
            update["image"] = settings.image
        if settings.requests:
            both = {"requests": dict(settings.requests), "limits": dict(settings.requests)}
            update["resources"] = document.ResourceRequirements.model_validate(both)
    return container.model_copy(update=update)


def _commands(commands: Commands) -> Commands:
    return commands.model_copy(update={"broker_pre": "", "prefix": "", "script": ""})


def _pod(pod: PodSpec, settings: WorkerSettings) -> PodSpec:
    return pod.model_copy(
        update={
            "node_selector": dict(settings.node_selector),
            "node_affinity": {},
            "tolerations": tuple(Toleration.model_validate(each) for each in settings.tolerations),
            "topology_spread_constraints": (),
            "service_account_name": settings.service_account,
            "automount_service_account_token": False,
            "scheduler_name": "",
            "priority_class_name": settings.priority_class,
            "runtime_class_name": settings.runtime_class,
            "image_pull_secrets": tuple(ImagePullSecret(name=each) for each in settings.image_pull_secrets),
        }
    )


def _flux(join: JoinSettings) -> FluxSpec:
    cluster = join.cluster
    flux = cluster.spec.flux
    lead = LeadBroker(
        address=join.address, port=join.port, name=cluster.metadata.name, size=max_size(cluster)
    )
    slots = document.bursted_clusters(cluster)
    clusters = tuple(BurstedCluster(name=each.name, size=each.size) for each in slots)
    return flux.model_copy(
        update={
            "container": flux.container.model_copy(update={"image_pull_secret": ""}),
            "bursting": Bursting(lead_broker=lead, clusters=clusters),
            "curve_cert": join.certificate,
            "minimal_service": False,
            "complete_workers": False,
            "state_volume": None,
        }
    )
