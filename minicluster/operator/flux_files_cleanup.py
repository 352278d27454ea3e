"""Deletes the Flux files that the MiniClusters of a namespace share, after the last of these."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from minicluster.kube_client.api import Selection
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import CONFIG_MAPS, MINICLUSTERS
from minicluster.operator import shared_flux_files
from minicluster.plan.objects.names import FLUX_FILES

if TYPE_CHECKING:
    from minicluster.kube_client.api import Api
    from minicluster.operator.cache import Cache


async def clean_up(api: Api, cache: Cache, namespace: str) -> None:
    """Delete a namespace's Flux files if it has no MiniCluster.

    The API server is asked too: not all MiniClusters may have been reported yet. One that is made meanwhile
    has them made again. Raises ApiError.
    """
    found = cache.dependents.get(shared_flux_files.reference(namespace))
    if found is None or found.going or found.owner_uid:
        return
    if any(name.namespace == namespace for name in cache.clusters):
        return
    listed = await api.list(Selection(MINICLUSTERS, namespace, bare=True))
    if listed.items:
        return
    try:
        await api.delete(CONFIG_MAPS, namespace, FLUX_FILES, found.uid)
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
