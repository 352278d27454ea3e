"""Clusters, as far as somebody may use them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations
from starlette.responses import Response  # noqa: TC002 - FastAPI reads annotations

from restful.identity.principal import Principal
from restful.routes.access import requires
from restful.routes.admission import services_of
from restful.routes.answers import answers, json_answer
from restful.routes.direct import DirectRoute

if TYPE_CHECKING:
    from restful.clusters.cluster import ServedCluster

router = APIRouter(prefix="/v2", route_class=DirectRoute, tags=["clusters"])

ClusterReader = Annotated[Principal, Depends(requires("clusters:read"))]


class ClusterView(BaseModel):
    """A cluster."""

    name: str
    namespace: str
    tenancy: str = Field(description="shared: all jobs run as one account. own: it is one user's.")
    owner: str | None = Field(description="The id of the user whose it is.")
    state: str = Field(description="ready, or away: its instance cannot be reached now.")
    reason: str = Field(description="Why it is away.")


class ClustersView(BaseModel):
    """The clusters that somebody may use."""

    clusters: list[ClusterView]


def view(cluster: ServedCluster) -> dict[str, Any]:
    """Return a cluster as a client gets it."""
    return {
        "name": cluster.name,
        "namespace": cluster.spec.namespace,
        "tenancy": cluster.spec.tenancy,
        "owner": cluster.owner or None,
        "state": cluster.connection.state,
        "reason": cluster.connection.reason,
    }


@router.get("/clusters", summary="List clusters", responses=answers(ClustersView))
async def clusters(request: Request, principal: ClusterReader) -> Response:
    """List the clusters that you may use."""
    found = await services_of(request).views.clusters(principal)
    return json_answer({"clusters": [view(each) for each in found]})


@router.get("/clusters/{cluster}", summary="One cluster", responses=answers(ClusterView))
async def cluster(request: Request, cluster: str, principal: ClusterReader) -> Response:
    """Return a cluster."""
    return json_answer(view(await services_of(request).views.cluster(principal, cluster)))
