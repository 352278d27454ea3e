"""What is wrong with a cluster before a burst is made there: found by reading, nothing is written."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from minicluster.kube_client import discovery
from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    JOBS,
    NETWORK_POLICIES,
    OWN_ACCESS_REVIEWS,
    PODS,
    RESOURCE_QUOTAS,
    SECRETS,
    SERVICES,
    Resource,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from burst.providers.kubernetes.settings import KubernetesSettings
    from minicluster.kube_client.client import ApiClient

OLDEST = (1, 31)
"""The oldest version of Kubernetes that is tested."""
PSA = "pod-security.kubernetes.io/enforce"
NAMESPACES = Resource("Namespace", "v1", "namespaces")


class NeededRight(NamedTuple):
    """A verb on a kind in the namespace of bursts."""

    verb: str
    resource: Resource
    subresource: str = ""

    @property
    def group(self) -> str:
        """The API group; empty: the core's."""
        return self.resource.version.rpartition("/")[0]

    @property
    def name(self) -> str:
        """What a Role has in `resources`."""
        return "/".join(filter(None, (self.resource.plural, self.subresource)))

    def __str__(self) -> str:
        return f"{self.verb} {self.name}{f'.{self.group}' if self.group else ''}"


_MADE = (CONFIG_MAPS, SECRETS, NETWORK_POLICIES, JOBS)
RIGHTS = (
    *(NeededRight(verb, kind) for kind in _MADE for verb in ("create", "get", "list", "delete")),
    *(NeededRight(verb, PODS) for verb in ("list", "delete")),
    NeededRight("get", PODS, "log"),
    NeededRight("list", CORE_EVENTS),
)
"""All that bursts need there."""
TUNNEL_RIGHTS = (
    *(NeededRight(verb, SERVICES) for verb in ("create", "get", "list", "delete")),
    *(NeededRight(verb, PODS, "portforward") for verb in ("get", "create")),
)
"""What a tunnel needs besides."""


ISOLATION_RIGHTS = (
    *(NeededRight(verb, SERVICES) for verb in ("create", "get", "list", "delete")),
    *(NeededRight(verb, PODS, "exec") for verb in ("get", "create")),
)
"""What instances for single jobs need besides."""


async def problems(client: ApiClient, settings: KubernetesSettings) -> list[str]:
    """Return every problem in words. Raises KubernetesError where the server cannot be reached at all."""
    version = await discovery.version(client)
    namespace = settings.namespace
    found = [*_version(version), *await _namespace(client, namespace)]
    if any("there is no" in each for each in found):
        return found
    if lacking := await missing(client, namespace, RIGHTS):
        found.append(f"the credentials may not, in namespace {namespace}: {lacking}")
    return [*found, *await _quotas(client, namespace)]


async def tunnel_problems(client: ApiClient, settings: KubernetesSettings) -> list[str]:
    """Return in words what is missing for tunnels. Raises KubernetesError where the server is not reached."""
    lacking = await missing(client, settings.namespace, TUNNEL_RIGHTS)
    may_not = f"for which the credentials may not, in namespace {settings.namespace}"
    return [f"no tunnel can be there (spec.bursting.expose: tunnel), {may_not}: {lacking}"] if lacking else []


async def isolation_problems(client: ApiClient, settings: KubernetesSettings) -> list[str]:
    """Return in words what is missing for instances of single jobs. Raises as `tunnel_problems`."""
    lacking = await missing(client, settings.namespace, ISOLATION_RIGHTS)
    may_not = f"for which the credentials may not, in namespace {settings.namespace}"
    text = f"no job can have an instance of its own there (spec.bursting.join: false), {may_not}: {lacking}"
    return [text] if lacking else []


def _version(version: tuple[int, int]) -> Iterator[str]:
    if version < OLDEST:
        has, oldest = (".".join(map(str, each)) for each in (version, OLDEST))
        yield f"Kubernetes {has} is older than {oldest}, the oldest that is tested"


async def _namespace(client: ApiClient, name: str) -> list[str]:
    """Return what is wrong with the namespace; not every user may read it."""
    try:
        found = await client.read(NAMESPACES, "", name)
    except ApiError as error:
        if error.status == 404:
            return [f"there is no namespace {name}: an administrator makes it, for bursts alone"]
        if error.status == 403:
            return []
        raise
    if "deletionTimestamp" in found["metadata"]:
        return [f"namespace {name} is being deleted"]
    level = (found["metadata"].get("labels") or {}).get(PSA, "")
    if level == "restricted":
        text = "pods of a MiniCluster that names no user (pod.securityContext.runAsUser) are refused there"
        return [f"namespace {name} has Pod Security level {level}: {text}"]
    return []


async def missing(client: ApiClient, namespace: str, rights: Sequence[NeededRight]) -> str:
    """Return those that the credentials do not have."""
    allowed = await asyncio.gather(*(_may(client, namespace, each) for each in rights))
    return ", ".join(str(right) for right, may in zip(rights, allowed, strict=True) if not may)


async def _may(client: ApiClient, namespace: str, right: NeededRight) -> bool:
    about = {
        "namespace": namespace,
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource.plural,
        "subresource": right.subresource,
    }
    review = {
        "apiVersion": OWN_ACCESS_REVIEWS.version,
        "kind": OWN_ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": about},
    }
    return bool((await client.review(review))["status"].get("allowed"))


async def _quotas(client: ApiClient, namespace: str) -> list[str]:
    """Return the quotas of which nothing is left; not every user may read them."""
    try:
        listed = (await client.list(Selection(RESOURCE_QUOTAS, namespace))).items
    except ApiError as error:
        if error.status == 403:
            return []
        raise
    return [problem for each in listed for problem in _used_up(each)]


def _used_up(quota: dict[str, Any]) -> Iterator[str]:
    status = quota.get("status") or {}
    used = status.get("used") or {}
    for name, hard in (status.get("hard") or {}).items():
        if used.get(name) == hard:
            yield f"ResourceQuota {quota['metadata']['name']} has nothing left of {name}: {hard} are used"
