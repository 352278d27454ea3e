"""The finalizer of MiniClusters: it delays their deletion until their jobs are saved."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.resources import MINICLUSTERS
from minicluster.plan.constants import FINALIZER

if TYPE_CHECKING:
    from minicluster.kube_client.api import Api
    from minicluster.kube_client.objects import Name
    from minicluster.operator.cache import Cache
    from minicluster.operator.meters import Meter
    from minicluster.plan import Plan
    from minicluster.plan.objects.fields import Object


class Finalizers:
    """Puts our finalizer on MiniClusters, and takes it off."""

    def __init__(self, api: Api, cache: Cache, meter: Meter) -> None:
        self._api = api
        self._cache = cache
        self._meter = meter

    async def add(self, name: Name, item: Object, decided: Plan) -> Object:
        """Put our finalizer on a MiniCluster that is to have it; return the MiniCluster as written."""
        if not decided.finalizer or has_finalizer(item):
            return item
        with self._meter.step("apply"):
            return await self._write(name, item, [*_finalizers(item), FINALIZER])

    async def release(self, name: Name, decided: Plan) -> None:
        """Take our finalizer off if the plan wants that. The status comes first: then all may be gone."""
        item = self._cache.clusters.get(name)
        if decided.finalizer is not False or item is None or not has_finalizer(item):
            return
        others = [each for each in _finalizers(item) if each != FINALIZER]
        with self._meter.step("apply"):
            await self._write(name, item, others)

    async def _write(self, name: Name, item: Object, finalizers: list[str]) -> Object:
        """Write the finalizers to exactly the version that was read: other controllers write them too."""
        about = item["metadata"]
        wanted = {"uid": about["uid"], "resourceVersion": about["resourceVersion"], "finalizers": finalizers}
        try:
            answer = await self._api.patch(MINICLUSTERS, name.namespace, name.name, {"metadata": wanted})
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                self._cache.forget_cluster(item)
            raise
        if name in self._cache.clusters:  # else it was deleted meanwhile: the answer is old news
            self._cache.see_cluster(answer)
        return self._cache.clusters.get(name, item)


def has_finalizer(item: Object) -> bool:
    """Whether a MiniCluster has our finalizer."""
    return FINALIZER in _finalizers(item)


def _finalizers(item: Object) -> list[str]:
    return list(item["metadata"].get("finalizers") or ())
