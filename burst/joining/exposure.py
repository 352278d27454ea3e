"""The way from outside to a lead's broker: a Service and a NetworkPolicy beside its MiniCluster.

They are made with the first burst and deleted with the last; at the latest with the MiniCluster, which owns
them. `externalTrafficPolicy: Local` keeps the addresses of those who connect: a policy can admit some.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from burst.errors import CallInvalid, NameTaken
from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import NETWORK_POLICIES, PODS, SERVICES
from minicluster.plan.constants import API_VERSION, KIND, LEAD_API_PORT, Component
from minicluster.plan.objects.labels import lead_pod, recommended

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from minicluster.document import MiniCluster
    from minicluster.kube_client.api import Api
    from minicluster.kube_client.resources import Resource

KubeObject = dict[str, Any]

BROKER, API = "broker", "lead-api"
"""The names of the Service's ports."""
_NAME, _UID = 40, 12
"""Characters of a MiniCluster's name and uid in the names: a Service's has at most 63."""


class ExposureWay(Enum):
    """How a lead is exposed."""

    NODE_PORT = "nodePort"
    LOAD_BALANCER = "loadBalancer"


@dataclass(frozen=True, slots=True)
class ExposureSettings:
    """How a lead is exposed, and to whom."""

    way: ExposureWay = ExposureWay.NODE_PORT
    source_ranges: tuple[str, ...] = ()
    """From where brokers of bursts come, such as 10.0.0.0/8; empty: from everywhere."""
    address: str = ""
    """By what name or address nodes are reached, where it is not their own; for a NodePort alone."""
    has_api: bool = False
    """Whether the lead's API is exposed besides its broker, for machines that are no pods."""


class LeadAddress(NamedTuple):
    """Where a lead's broker is reached from outside."""

    address: str
    port: int
    api_port: int = 0
    """Of its API; 0: that is not exposed."""


def exposure_name(cluster: MiniCluster) -> str:
    """Return the name of the Service and of the policy; the uid keeps it from being another MiniCluster's."""
    name, uid = cluster.metadata.name, cluster.metadata.uid.replace("-", "")
    return f"{name[:_NAME].rstrip('-')}-bursts-{uid[:_UID]}"


def exposure_objects(cluster: MiniCluster, settings: ExposureSettings) -> tuple[KubeObject, KubeObject]:
    """Return the policy, then the Service. Raises CallInvalid for what is no range of addresses."""
    ports = [cluster.spec.network.port, *([LEAD_API_PORT] if settings.has_api else ())]
    return _policy(cluster, _peers(settings.source_ranges), ports), _service(cluster, settings)


async def expose(client: Api, cluster: MiniCluster, settings: ExposureSettings) -> LeadAddress | None:
    """Expose a lead, if it is not yet; return where, None while that is not known.

    Its API stays exposed where it is: other bursts may have it so. Raises NameTaken, CallInvalid and
    KubernetesError.
    """
    before = await _read(client, cluster, SERVICES)
    if before is not None and _is_of(before, cluster) and _port(before, API) is not None:
        settings = replace(settings, has_api=True)
    for item in exposure_objects(cluster, settings):
        await _apply(client, cluster, item)
    service = await client.read(SERVICES, cluster.metadata.namespace, exposure_name(cluster))
    if settings.way is ExposureWay.LOAD_BALANCER:
        return balancer_address(service)
    return node_address(service, await _lead_pods(client, cluster), settings)


async def admit(client: Api, cluster: MiniCluster, peer: KubeObject) -> None:
    """Have a lead's broker admit a peer in its own cluster. Raises NameTaken and KubernetesError."""
    await _apply(client, cluster, _policy(cluster, [peer], [cluster.spec.network.port]))


async def admit_to_api(client: Api, cluster: MiniCluster, source_ranges: Sequence[str]) -> None:
    """Have a lead's API admit machines from ranges of addresses, or from everywhere where there are none.

    Raises NameTaken, CallInvalid and KubernetesError.
    """
    await _apply(client, cluster, _policy(cluster, _peers(source_ranges), [LEAD_API_PORT]))


async def pod_address(client: Api, cluster: MiniCluster) -> LeadAddress | None:
    """Return the address of the lead's pod, None while it has none. Raises KubernetesError."""
    address = _of_lead(await _lead_pods(client, cluster), "podIP")
    return LeadAddress(address, cluster.spec.network.port, LEAD_API_PORT) if address else None


async def _lead_pods(client: Api, cluster: MiniCluster) -> tuple[KubeObject, ...]:
    labels = ",".join(f"{key}={value}" for key, value in lead_pod(cluster).items())
    return (await client.list(Selection(PODS, cluster.metadata.namespace, labels))).items


async def unexpose(client: Api, cluster: MiniCluster) -> None:
    """Take the exposure back. Raises KubernetesError."""
    for resource in (SERVICES, NETWORK_POLICIES):
        found = await _read(client, cluster, resource)
        if found is None or not _is_of(found, cluster):
            continue
        metadata = found["metadata"]
        try:
            await client.delete(resource, metadata["namespace"], metadata["name"], metadata["uid"])
        except ApiError as error:
            if error.status not in (404, 409):  # gone, or another one by now
                raise


def balancer_address(service: KubeObject) -> LeadAddress | None:
    """Return the address of a load balancer, None while it has none."""
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    for each in ingress:
        if address := each.get("ip") or each.get("hostname"):
            return LeadAddress(address, _number(service, BROKER, "port"), _number(service, API, "port"))
    return None


def node_address(
    service: KubeObject, pods: Iterable[KubeObject], settings: ExposureSettings
) -> LeadAddress | None:
    """Return the address of the lead's node and the port there, None while the lead is on no node."""
    port, api_port = (_number(service, each, "nodePort") for each in (BROKER, API))
    address = _of_lead(pods, "hostIP")
    return LeadAddress(settings.address or address, port, api_port) if address and port else None


def _port(service: KubeObject, name: str) -> KubeObject | None:
    return next((each for each in service["spec"]["ports"] if each.get("name") == name), None)


def _number(service: KubeObject, name: str, field: str) -> int:
    """Return the number of a port, 0 where there is none."""
    return int((_port(service, name) or {}).get(field) or 0)


def _of_lead(pods: Iterable[KubeObject], field: str) -> str:
    """Return an address of the lead's pod, empty while there is none."""
    found = [
        str((each.get("status") or {}).get(field) or "")
        for each in pods
        if "deletionTimestamp" not in each["metadata"]
        and (each.get("status") or {}).get("phase") not in ("Failed", "Succeeded")
    ]
    return next(filter(None, found), "")


def _peers(source_ranges: Iterable[str]) -> list[KubeObject]:
    for each in source_ranges:
        try:
            ipaddress.ip_network(each)
        except ValueError as error:
            raise CallInvalid(f"source ranges: {error}; right would be 10.0.0.0/8") from error
    return [{"ipBlock": {"cidr": each}} for each in source_ranges]


def _service(cluster: MiniCluster, settings: ExposureSettings) -> KubeObject:
    ports = {BROKER: cluster.spec.network.port, **({API: LEAD_API_PORT} if settings.has_api else {})}
    spec: KubeObject = {
        "type": "NodePort",
        "externalTrafficPolicy": "Local",
        # Followers come before the instance is ready, and after a lead's restart.
        "publishNotReadyAddresses": True,
        "selector": lead_pod(cluster),
        "ports": [
            {"name": name, "port": port, "targetPort": port, "protocol": "TCP"}
            for name, port in ports.items()
        ],
    }
    if settings.way is ExposureWay.LOAD_BALANCER:
        spec["type"] = "LoadBalancer"
        if settings.source_ranges:
            spec["loadBalancerSourceRanges"] = list(settings.source_ranges)
    return {"apiVersion": "v1", "kind": "Service", "metadata": _metadata(cluster), "spec": spec}


def _policy(cluster: MiniCluster, peers: Sequence[KubeObject], ports: Iterable[int]) -> KubeObject:
    """Return the policy that admits these peers to the lead's ports, or everybody where there are none."""
    rule: KubeObject = {"ports": [{"port": each, "protocol": "TCP"} for each in ports]}
    if peers:
        rule["from"] = list(peers)
    selector = {"matchLabels": lead_pod(cluster)}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _metadata(cluster),
        "spec": {"podSelector": selector, "policyTypes": ["Ingress"], "ingress": [rule]},
    }


def _metadata(cluster: MiniCluster) -> KubeObject:
    metadata = cluster.metadata
    owner = {"apiVersion": API_VERSION, "kind": KIND, "name": metadata.name, "uid": metadata.uid}
    return {
        "name": exposure_name(cluster),
        "namespace": metadata.namespace,
        "labels": recommended(cluster, Component.NETWORK),
        "ownerReferences": [owner],
    }


async def _apply(client: Api, cluster: MiniCluster, item: KubeObject) -> None:
    resource = SERVICES if item["kind"] == "Service" else NETWORK_POLICIES
    found = await _read(client, cluster, resource)
    if found is not None and not _is_of(found, cluster):
        raise NameTaken(f"{item['kind']} {item['metadata']['name']} is there, and not of this MiniCluster")
    await client.apply(item, new=found is None)


async def _read(client: Api, cluster: MiniCluster, resource: Resource) -> KubeObject | None:
    try:
        return await client.read(resource, cluster.metadata.namespace, exposure_name(cluster))
    except ApiError as error:
        if error.status != 404:
            raise
    return None


def _is_of(item: KubeObject, cluster: MiniCluster) -> bool:
    owners = item["metadata"].get("ownerReferences") or ()
    return any(each["uid"] == cluster.metadata.uid for each in owners)
