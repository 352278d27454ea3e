"""The pods of a MiniCluster, and the pod of each rank."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.kube_client.api import Selection
from minicluster.kube_client.resources import PODS
from minicluster.lead_client.broker_pods import is_broker, pod_order
from minicluster.plan.constants import APPLICATION, LABEL_INSTANCE, LABEL_NAME, LABEL_POD_INDEX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.plan.objects.fields import Object
    from minicluster.remote.session import NamespaceSession


async def listing(session: NamespaceSession, name: str) -> tuple[Object, ...]:
    """Return the pods of a MiniCluster, the services' included."""
    labels = f"{LABEL_NAME}={APPLICATION},{LABEL_INSTANCE}={name}"
    return (await session.client.list(Selection(PODS, session.namespace, labels))).items


def of_rank(pods: Iterable[Object], rank: int) -> Object | None:
    """Return the pod of a rank: the one that counts, where a lost one is still there."""
    found = [each for each in pods if is_broker(each) and index(each) == rank]
    return max(found, key=pod_order, default=None)


def index(pod: Object) -> int:
    """Return a broker pod's rank, -1 where it has none."""
    return int((pod["metadata"].get("labels") or {}).get(LABEL_POD_INDEX, -1))


def runner(pod: Object) -> str:
    """Return the name of the container in which the broker runs: the first."""
    return str(pod["spec"]["containers"][0]["name"])
