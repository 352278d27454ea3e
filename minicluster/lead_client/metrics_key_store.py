"""Where the operator leaves the keys for the metrics adapter: in a Secret of its own namespace."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from minicluster.kube_client.errors import ApiError, ApiUnreachableError
from minicluster.lead_client.metrics_keys import SECRET

if TYPE_CHECKING:
    from minicluster.lead_client.metrics_keys import MetricsKeys
    from minicluster.plan.objects.fields import Object

PAUSE = 2.0
"""Seconds between two tries where the API server is busy or away."""

log = logging.getLogger(__name__)


class ApplyClient(Protocol):
    """The part of an `Api` by which the keys are left."""

    async def apply(self, item: Object, *, new: bool = False) -> Object:
        """Server-side apply an object."""
        ...


async def publish(api: ApplyClient, namespace: str, keys: MetricsKeys) -> None:
    """Leave the keys in a namespace; none: nowhere, the adapter runs beside operators in the cluster only.

    Waits for an API server that is busy or away; what it refuses is only told: MiniClusters run without.
    """
    while namespace:
        try:
            await api.apply(keys.secret(namespace))
        except (ApiError, ApiUnreachableError) as error:
            if isinstance(error, ApiError) and not error.is_passing:
                log.warning(
                    "Secret %s/%s cannot be written, by which the metrics adapter would know leads: %s",
                    namespace,
                    SECRET,
                    error,
                )
                return
            log.warning("Secret %s/%s: %s; it is written again", namespace, SECRET, error)
            await asyncio.sleep(PAUSE)
        else:
            return
