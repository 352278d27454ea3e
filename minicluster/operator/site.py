"""What a Kubernetes cluster offers to the MiniClusters in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.kube_client import discovery
from minicluster.plan import Site
from minicluster.plan.objects.keys import FIRST_GENERATIONS

if TYPE_CHECKING:
    from minicluster.document import GranularityName
    from minicluster.kube_client.discovery import Readable
    from minicluster.plan.objects.keys import Generations

IMAGE_VOLUMES_SINCE = (1, 35)
"""The version from which images can be mounted as volumes without a feature gate (KEP-4639)."""

SCALING_TOLERANCE_SINCE = (1, 35)
"""The version from which an autoscaler's tolerance can be set without a feature gate (KEP-4951)."""


async def site(
    client: Readable,
    namespace: str = "default",
    *,
    operator_namespace: str = "",
    generations: Generations = FIRST_GENERATIONS,
    granularity: GranularityName = "none",
    granularity_override: bool = False,
) -> Site:
    """Return the site of a cluster by its version; there the leads have a lead API.

    `namespace` is for documents without one. Only pods of `operator_namespace` may use the lead API, as
    operator, metrics adapter or RESTful API. Raises ApiError, ApiUnreachableError.
    """
    version = await discovery.version(client)
    return Site(
        namespace=namespace,
        image_volumes=version >= IMAGE_VOLUMES_SINCE,
        scaling_tolerance=version >= SCALING_TOLERANCE_SINCE,
        operator_namespace=operator_namespace,
        lead_api=True,
        generations=generations,
        granularity=granularity,
        granularity_override=granularity_override,
    )
