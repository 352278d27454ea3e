"""The kinds of objects that the operator deals with, and where the API server keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from minicluster.document.names import PLURAL
from minicluster.plan.constants import API_VERSION, KIND

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind: its API version ("v1", "batch/v1") and its name in paths ("jobs")."""

    kind: str
    version: str
    plural: str

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of an object, or without a name of the collection; no namespace means all."""
        root = "/api" if "/" not in self.version else "/apis"
        scope = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}/{self.version}{scope}/{self.plural}" + "".join(
            f"/{part}" for part in (name, subresource) if part
        )


MINICLUSTERS = Resource(KIND, API_VERSION, PLURAL)
JOBS = Resource("Job", "batch/v1", "jobs")
PODS = Resource("Pod", "v1", "pods")
SECRETS = Resource("Secret", "v1", "secrets")
CONFIG_MAPS = Resource("ConfigMap", "v1", "configmaps")
SERVICES = Resource("Service", "v1", "services")
NETWORK_POLICIES = Resource("NetworkPolicy", "networking.k8s.io/v1", "networkpolicies")
DISRUPTION_BUDGETS = Resource("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets")
AUTOSCALERS = Resource("HorizontalPodAutoscaler", "autoscaling/v2", "horizontalpodautoscalers")
EVENTS = Resource("Event", "events.k8s.io/v1", "events")
# The same objects under their old name: by it alone they can be selected for what they are about, and be
# written with the times by which kubectl describe sorts.
CORE_EVENTS = Resource("Event", "v1", "events")
DEPLOYMENTS = Resource("Deployment", "apps/v1", "deployments")
LEASES = Resource("Lease", "coordination.k8s.io/v1", "leases")
# The metrics adapter's.
API_SERVICES = Resource("APIService", "apiregistration.k8s.io/v1", "apiservices")
ACCESS_REVIEWS = Resource("SubjectAccessReview", "authorization.k8s.io/v1", "subjectaccessreviews")
# Those about oneself, which everybody may ask for.
OWN_ACCESS_REVIEWS = Resource(
    "SelfSubjectAccessReview", "authorization.k8s.io/v1", "selfsubjectaccessreviews"
)
NODES = Resource("Node", "v1", "nodes")
RESOURCE_QUOTAS = Resource("ResourceQuota", "v1", "resourcequotas")
CLUSTER_ROLES = Resource("ClusterRole", "rbac.authorization.k8s.io/v1", "clusterroles")

RESOURCES: Mapping[str, Resource] = {
    each.kind: each
    for each in (
        MINICLUSTERS,
        JOBS,
        PODS,
        SECRETS,
        CONFIG_MAPS,
        SERVICES,
        NETWORK_POLICIES,
        DISRUPTION_BUDGETS,
        AUTOSCALERS,
        CORE_EVENTS,
        LEASES,
        API_SERVICES,
        ACCESS_REVIEWS,
        OWN_ACCESS_REVIEWS,
    )
}
