"""The requests that make, read and delete the objects of bursts. Each may be repeated."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from burst.errors import NameTaken, RetryLater
from burst.joining.workers import LABEL_BURST, LABEL_OWNER, anchor, name_of, owned_by
from burst.providers.kubernetes.api_errors import ABSENT, CONFLICT, EXISTS, FORBIDDEN
from burst.providers.kubernetes.reports import FoundObjects, is_going, is_of, unowned
from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import (
    CONFIG_MAPS,
    CORE_EVENTS,
    JOBS,
    NETWORK_POLICIES,
    PODS,
    RESOURCES,
    SECRETS,
    SERVICES,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from burst.providers.provider import WantedBurst
    from minicluster.kube_client.client import ApiClient
    from minicluster.kube_client.resources import Resource

KINDS = (CONFIG_MAPS, SECRETS, NETWORK_POLICIES, SERVICES, JOBS, PODS)
"""Everything that there can be of a burst; pods are made by its Jobs. A tunnel alone has a Service."""
_WHOLE = (JOBS, PODS)
"""Of the others only metadata is read: no certificate is."""

KubeObject = dict[str, Any]


async def listed(client: ApiClient, namespace: str, labels: str) -> list[KubeObject]:
    """Return all objects with these labels, each with its kind."""
    found = await asyncio.gather(*(_listed(client, namespace, labels, each) for each in KINDS))
    return [item for items in found for item in items]


async def _listed(client: ApiClient, namespace: str, labels: str, kind: Resource) -> list[KubeObject]:
    selection = Selection(kind, namespace, labels, bare=kind not in _WHOLE)
    try:
        return [{**each, "kind": kind.kind} for each in (await client.list(selection)).items]
    except ApiError as error:
        if kind is SERVICES and error.status == FORBIDDEN:  # who may not list them has made none
            return []
        raise


def grouped(items: Iterable[KubeObject]) -> dict[str, FoundObjects]:
    """Return objects by the label of their burst."""
    found: dict[str, list[KubeObject]] = {}
    for each in items:
        found.setdefault(each["metadata"]["labels"].get(LABEL_BURST, ""), []).append(each)
    return {label: _sorted(label, each) for label, each in found.items() if label}


def _sorted(label: str, items: Sequence[KubeObject]) -> FoundObjects:
    first = next((each for each in items if _is_anchor(each, label)), None)
    return FoundObjects(first, [each for each in items if each is not first])


def _is_anchor(item: KubeObject, label: str) -> bool:
    return bool(item["kind"] == "ConfigMap" and item["metadata"]["name"] == name_of(label))


async def of_burst(client: ApiClient, namespace: str, wanted: WantedBurst) -> FoundObjects:
    """Return what there is of one burst, and why its Job makes no pods."""
    labels = f"{LABEL_BURST}={wanted.label},{LABEL_OWNER}={wanted.installation}"
    found = _sorted(wanted.label, await listed(client, namespace, labels))
    job = found.job
    if job is None or len(found.pods) >= int(job["spec"].get("completions") or 0):
        return found
    return found._replace(refusals=await _refusals(client, namespace, job))


async def _refusals(client: ApiClient, namespace: str, job: KubeObject) -> list[str]:
    """Return why a Job could not make pods, the newest first; nothing where Events cannot be read."""
    fields = f"involvedObject.uid={job['metadata']['uid']},reason=FailedCreate"
    try:
        events = (await client.list(Selection(CORE_EVENTS, namespace, fields=fields))).items
    except ApiError as error:
        if error.status == FORBIDDEN:
            return []
        raise
    newest = sorted(events, key=lambda each: str(each.get("lastTimestamp") or ""), reverse=True)
    return [str(each.get("message", "")) for each in newest]


async def make(client: ApiClient, wanted: WantedBurst, namespace: str, items: Iterable[KubeObject]) -> None:
    """Make the anchor, then what hangs on it, unless it is there. Raises NameTaken, RetryLater, ApiError."""
    uid = await _made(client, wanted, anchor(wanted, namespace))
    for item in items:
        await _made(client, wanted, owned_by(item, uid), uid)


async def _made(client: ApiClient, wanted: WantedBurst, item: KubeObject, owner: str = "") -> str:
    """Make an object, or find the same one of this burst; return its uid."""
    try:
        return str((await client.create(item))["metadata"]["uid"])
    except ApiError as error:
        if error.reason != EXISTS:
            raise
    kind, name = item["kind"], item["metadata"]["name"]
    found = await client.read(RESOURCES[kind], item["metadata"]["namespace"], name)
    if not is_of(found, wanted):
        raise NameTaken(f"{kind} {name} is there, and not of this burst")
    owners = [each["uid"] for each in found["metadata"].get("ownerReferences") or ()]
    if is_going(found) or (owner and owner not in owners):
        raise RetryLater(f"{kind} {name} of this burst is being deleted")
    return str(found["metadata"]["uid"])


async def remove(client: ApiClient, namespace: str, wanted: WantedBurst) -> None:
    """Begin to delete a burst's anchor, and what hangs on none any more."""
    found = await of_burst(client, namespace, wanted)
    if found.anchor is not None:
        if not is_going(found.anchor):
            await _delete(client, namespace, found.anchor, "Foreground")
        return  # what hangs on it goes after it
    for item in unowned(found):
        await _delete(client, namespace, item, "Background")


async def _delete(client: ApiClient, namespace: str, item: KubeObject, propagation: str) -> None:
    """Begin to delete one object; one that is gone, or whose name another one has by now, is none of ours."""
    name, uid = item["metadata"]["name"], item["metadata"]["uid"]
    try:
        await client.delete(RESOURCES[item["kind"]], namespace, name, uid, propagation=propagation)
    except ApiError as error:
        if error.status not in (ABSENT, CONFLICT):
            raise
