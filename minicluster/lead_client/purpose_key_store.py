"""Stores the keys for a service, such as the metrics adapter, in a Secret of the operator's namespace."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Protocol

from minicluster.kube_client.errors import ApiError, ApiUnreachableError
from minicluster.lead_client.purpose_keys import secret_name

if TYPE_CHECKING:
    from minicluster.lead_client.purpose_keys import PurposeKeys
    from minicluster.plan.objects.fields import Object

RETRY_DELAY = 2.0
"""Seconds between two tries where the API server is busy or away."""

log = logging.getLogger(__name__)


class ApplyClient(Protocol):
    """The part of an `Api` that stores the keys."""

    async def apply(self, item: Object, *, new: bool = False) -> Object:
        """Server-side apply an object."""
        ...


async def publish(api: ApplyClient, namespace: str, keys: PurposeKeys) -> None:
    """Store the keys in a namespace. Without one nothing is stored: the operator runs outside a cluster.

    Waits for an API server that is busy or away. A refusal is only logged: MiniClusters run without.
    """
    name = secret_name(keys.purpose)
    while namespace:
        try:
            await api.apply(keys.secret(namespace))
        except (ApiError, ApiUnreachableError) as error:
            if isinstance(error, ApiError) and not error.is_passing:
                log.warning(
                    "Secret %s/%s cannot be written, with the keys by which leads are asked for %s: %s",
                    namespace,
                    name,
                    keys.purpose,
                    error,
                )
                return
            log.warning("Secret %s/%s: %s; it is written again", namespace, name, error)
            await asyncio.sleep(RETRY_DELAY)
        else:
            return
