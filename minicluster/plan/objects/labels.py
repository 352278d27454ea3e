"""Labels, selectors and ownership: which objects and pods belong to a MiniCluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.plan.constants import (
    API_VERSION,
    APPLICATION,
    KIND,
    LABEL_COMPONENT,
    LABEL_INSTANCE,
    LABEL_MANAGED_BY,
    LABEL_NAME,
    LABEL_PART_OF,
    LABEL_POD_INDEX,
    LABEL_SELECTOR,
    MANAGER,
    PART_OF,
    Component,
)
from minicluster.plan.objects.fields import present

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.document import MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.records import Site


def own_pods(cluster: MiniCluster) -> dict[str, str]:
    """Return the labels by which all pods of this MiniCluster, and no others, are selected."""
    return {LABEL_NAME: APPLICATION, LABEL_INSTANCE: cluster.metadata.name}


def component_pods(cluster: MiniCluster, component: Component) -> dict[str, str]:
    """Return the labels of the broker pods, or of the services pod."""
    return {**own_pods(cluster), LABEL_COMPONENT: component.value}


def lead_pod(cluster: MiniCluster) -> dict[str, str]:
    """Return the labels of the lead broker's pod."""
    return {**component_pods(cluster, Component.BROKER), LABEL_POD_INDEX: "0"}


def scale_selector(cluster: MiniCluster) -> str:
    """Return the selector of the scale subresource."""
    return f"{LABEL_SELECTOR}={cluster.metadata.name}"


def recommended(cluster: MiniCluster, component: Component) -> dict[str, str]:
    """Return the recommended labels of an object."""
    return {
        **component_pods(cluster, component),
        LABEL_PART_OF: PART_OF,
        LABEL_MANAGED_BY: MANAGER,
    }


def pod_labels(cluster: MiniCluster, component: Component) -> dict[str, str]:
    """Return a pod's labels; the document's own do not replace those that Services and policies select by."""
    scale = {LABEL_SELECTOR: cluster.metadata.name} if component is Component.BROKER else {}
    given = {key: value for key, value in cluster.spec.pod.labels.items() if key != LABEL_SELECTOR}
    return {**given, **recommended(cluster, component), **scale}


def namespace(cluster: MiniCluster, site: Site) -> str:
    """Return the namespace of the MiniCluster: its own, else the site's."""
    return cluster.metadata.namespace or site.namespace


def metadata(
    cluster: MiniCluster,
    site: Site,
    name: str,
    component: Component,
    labels: Mapping[str, str] | None = None,
) -> Object:
    """Return an object's metadata: its labels, and the MiniCluster as its owner if it has a UID."""
    return present(
        name=name,
        namespace=namespace(cluster, site),
        labels={**(labels or {}), **recommended(cluster, component)},
        ownerReferences=[owner(cluster)] if cluster.metadata.uid else [],
    )


def owner(cluster: MiniCluster) -> Object:
    """Return the reference that makes Kubernetes delete an object together with the MiniCluster."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "name": cluster.metadata.name,
        "uid": cluster.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
