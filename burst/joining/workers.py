"""The Kubernetes objects of a burst's brokers: a MiniCluster of followers alone, without an operator.

All hang by their owner references on one ConfigMap, the anchor: who deletes that deletes all. Each has the
labels of its burst, so that whatever is left can be found. The certificate is in the Secret and nowhere else;
what of the lead's is secret besides, its API's tokens, does not come here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from burst.errors import CallInvalid
from burst.joining import tunnel
from burst.joining.worker_document import WorkerRequest, worker_document
from burst.lifecycle.records import PREFIX
from minicluster import document, flux_zips
from minicluster.plan import Observed, PlanError, Site, plan
from minicluster.plan.constants import LABEL_INSTANCE, LABEL_POD_INDEX, LABEL_SELECTOR, ConditionType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burst.joining.records import JoinSettings
    from burst.joining.worker_document import WorkerSettings
    from burst.providers.provider import WantedBurst
    from minicluster.document import MiniCluster
    from minicluster.plan import FreshKeys

KubeObject = dict[str, Any]

LABEL_BURST = "minicluster-burst"
LABEL_OWNER = "minicluster-owner"
LABEL_EXPIRES = "minicluster-expires"
"""On every object: the burst's label, the installation that made it, and its end in seconds since 1970."""
ANNOTATION_NODES = "minicluster-nodes"
"""On the anchor: how many nodes the burst has."""
LEAVE_AFTER, FENCE = "MINICLUSTER_LEAVE_AFTER", "MINICLUSTER_FENCE"
HOST = "MINICLUSTER_HOST"
_INDEX = "MINICLUSTER_INDEX"
ENDED_SECONDS = 600
"""For how long a Job that has ended stays to be read, with its pods."""
_KINDS = ("Secret", "ConfigMap", "NetworkPolicy", "Job")
"""What followers need: nobody but their own connects to them, and no disruption ends the instance."""


def name_of(label: str) -> str:
    """Return the name of a burst's anchor and Job, with which the others' begin."""
    return f"{PREFIX}{label}"


def labels_of(wanted: WantedBurst) -> dict[str, str]:
    """Return the labels of every object of a burst."""
    own = {LABEL_BURST: wanted.label, LABEL_OWNER: wanted.installation}
    return {**own, LABEL_EXPIRES: f"{wanted.until:.0f}"}


def ends_of(labels: Mapping[str, str]) -> float:
    """Return when what has these labels, or tags, is to end at the latest; 0 where they have no time."""
    text = labels.get(LABEL_EXPIRES, "")
    return float(text) if text.isdecimal() else 0.0


def anchor(wanted: WantedBurst, namespace: str) -> KubeObject:
    """Return the ConfigMap on which all others hang."""
    metadata = {
        "name": name_of(wanted.label),
        "namespace": namespace,
        "labels": labels_of(wanted),
        "annotations": {ANNOTATION_NODES: str(wanted.nodes)},
    }
    data = {"slot": wanted.slot, "cluster": wanted.cluster, "machine": wanted.machine}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def worker_objects(
    join: JoinSettings, wanted: WantedBurst, settings: WorkerSettings, now: float
) -> tuple[KubeObject, ...]:
    """Return the objects of a burst without its anchor, in the order in which they are made.

    Raises CallInvalid where there can be none, with every problem in words.
    """
    if join.route is not None:
        join = replace(join, address=tunnel.relay_address(wanted.label, settings.namespace))
    cluster = worker_document(join, requested(wanted, now), settings)
    site = Site(namespace=settings.namespace, image_volumes=settings.image_volumes)
    made = {each["kind"]: each for each in planned(cluster, site, now) if each["kind"] in _KINDS}
    made["NetworkPolicy"] = closed(made["NetworkPolicy"])
    made["ConfigMap"] = _for_followers(made["ConfigMap"])
    made["Job"] = _following(made["Job"], cluster, join)
    items = [labelled(made[kind], labels_of(wanted)) for kind in _KINDS]
    if join.route is None:
        return tuple(items)
    secret, config, policy, job = items
    view = cluster.spec.flux.container.mount_path
    relaying = tunnel.relay_objects(job, policy["metadata"]["labels"], wanted.label, join.port, view)
    return secret, tunnel.with_program(config), tunnel.for_all_pods(policy), *relaying, job


def follower_files(
    join: JoinSettings, wanted: WantedBurst, settings: WorkerSettings, now: float
) -> dict[str, str]:
    """Return the texts that a follower reads, by their names: those of the ConfigMap, without its zips.

    Raises CallInvalid where there can be none, with every problem in words.
    """
    cluster = worker_document(join, requested(wanted, now), settings)
    made = planned(cluster, Site(namespace=settings.namespace), now)
    data: dict[str, str] = next(each["data"] for each in made if each["kind"] == "ConfigMap")
    return data


def owned_by(item: KubeObject, uid: str) -> KubeObject:
    """Return an object that hangs on the anchor of this uid.

    The reference does not block the anchor's deletion: for that one would need a right to its finalizers.
    """
    name = item["metadata"]["labels"][LABEL_INSTANCE]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}
    return {**item, "metadata": {**item["metadata"], "ownerReferences": [owner]}}


def requested(wanted: WantedBurst, now: float) -> WorkerRequest:
    """Return the brokers that are wanted. Raises CallInvalid where their time is over."""
    seconds = int(wanted.until - now)
    if seconds < 1:
        raise CallInvalid(f"burst {wanted.label} was to end {-seconds} s ago")
    return WorkerRequest(name_of(wanted.label), wanted.nodes, seconds)


def planned(
    cluster: MiniCluster, site: Site, now: float, keys: FreshKeys | None = None
) -> tuple[KubeObject, ...]:
    """Return what an operator would apply at first. Followers need no keys: their document has them."""
    try:
        found = plan(cluster, Observed(), site, keys, datetime.fromtimestamp(now, UTC))
    except PlanError as error:
        raise CallInvalid(str(error)) from error
    if not found.objects:
        conditions = found.status.get("conditions", ())
        words = [each["message"] for each in conditions if each["type"] == ConditionType.VALID]
        raise CallInvalid("; ".join(words) or "no objects can be made of its document")
    return found.objects


def _for_followers(config: KubeObject) -> KubeObject:
    """Return the ConfigMap with the one zip that followers need: their fences are in it, for real Flux."""
    packed = {name: data for name, data in config.get("binaryData", {}).items() if name == flux_zips.ZIP}
    return {**config, "binaryData": packed} if packed else config


def closed(policy: KubeObject) -> KubeObject:
    """Return a policy that admits its own pods alone: all other connections go out."""
    ingress = [each for each in policy["spec"]["ingress"] if each.get("from")]
    return {**policy, "spec": {**policy["spec"], "ingress": ingress}}


def _following(job: KubeObject, cluster: MiniCluster, join: JoinSettings) -> KubeObject:
    """Return the Job of followers: each has the name of its host, and none ends the others."""
    template = job["spec"]["template"]
    pod = {key: value for key, value in template["spec"].items() if key != "subdomain"}
    runner = document.container_name(cluster.spec, document.runner_index(cluster.spec))
    pod["containers"] = [
        {**each, "env": [*_environment(join), *each.get("env", ())]} if each["name"] == runner else each
        for each in pod["containers"]
    ]
    labels = {key: value for key, value in template["metadata"]["labels"].items() if key != LABEL_SELECTOR}
    made = {"metadata": {**template["metadata"], "labels": labels}, "spec": pod}
    spec = {key: value for key, value in job["spec"].items() if key != "successPolicy"}
    return {**job, "spec": {**spec, "ttlSecondsAfterFinished": ENDED_SECONDS, "template": made}}


def _environment(join: JoinSettings) -> list[KubeObject]:
    """Return what names a broker by its index, and what ends it once its lead is lost."""
    index = {"fieldRef": {"fieldPath": f"metadata.labels['{LABEL_POD_INDEX}']"}}
    return [
        {"name": _INDEX, "valueFrom": index},
        {"name": HOST, "value": f"{join.slot}-$({_INDEX})"},
        {"name": LEAVE_AFTER, "value": str(math.ceil(join.leave_after))},
        {"name": FENCE, "value": str(math.ceil(join.fence))},
    ]


def labelled(item: KubeObject, labels: Mapping[str, str]) -> KubeObject:
    """Return an object with labels; the pods of a Job have them as well."""
    metadata = item["metadata"]
    found = {**item, "metadata": {**metadata, "labels": {**metadata["labels"], **labels}}}
    if item["kind"] == "Job":
        template = item["spec"]["template"]
        about = {**template["metadata"], "labels": {**template["metadata"]["labels"], **labels}}
        found["spec"] = {**item["spec"], "template": {**template, "metadata": about}}
    return found
