"""The nodes of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, Field
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations
from starlette.responses import Response

from broker_config.formats import idset
from broker_config.formats.burst_names import BURST
from restful.identity.principal import Principal
from restful.jobs.schema import GivenReason
from restful.routes.access import requires
from restful.routes.admission import services_of
from restful.routes.answers import WITH_BODY, answers, body, body_schema, json_answer
from restful.routes.direct import DirectRoute

if TYPE_CHECKING:
    from minicluster.instance.records import Drain, Resources, ResourceSubset
    from restful.clusters.snapshots import NodesSnapshot

router = APIRouter(prefix="/v2/clusters/{cluster}/nodes", route_class=DirectRoute, tags=["nodes"])

ClusterReader = Annotated[Principal, Depends(requires("clusters:read"))]
Draining = Annotated[Principal, Depends(requires("nodes:drain"))]
Host = Annotated[str, Path(description="The node's host name.")]


class DrainView(BaseModel):
    """Why a node gets no new work."""

    timestamp: float = Field(description="Since when, in seconds since 1970.")
    reason: str


class NodeView(BaseModel):
    """A node."""

    host: str
    rank: int
    state: str = Field(description="Of its broker: full, partial, degraded, lost or offline.")
    allocated: bool = Field(description="Whether a job has resources of it.")
    drained: DrainView | None
    slot: str = Field(description="Of which slot for bursts it is a host; empty: the cluster's own.")


class AmountView(BaseModel):
    """Some of a cluster's resources."""

    nodes: int
    cores: int
    gpus: int


class ResourcesView(BaseModel):
    """A cluster's resources."""

    all: AmountView
    up: AmountView
    free: AmountView
    allocated: AmountView


class NodesView(BaseModel):
    """The nodes of a cluster."""

    nodes: list[NodeView]
    resources: ResourcesView = Field(description="Of the cluster's own nodes.")
    bursts: dict[str, ResourcesView] = Field(
        description="What jobs in the queues of bursts may get, by queue; empty without slots for bursts."
    )


def view(found: NodesSnapshot) -> dict[str, Any]:
    """Return nodes as a client gets them."""
    own, bursts = found.resources.ordinary, found.resources.bursts
    busy = {rank for each in (own, *bursts.values()) for rank in each.allocated.ranks}
    drains = {rank: drain for drain in own.drains for rank in idset.decode(drain.ranks)}
    slots = {rank: queue for queue, each in bursts.items() if queue != BURST for rank in each.all.ranks}
    nodes = [
        {
            "host": each.host,
            "rank": each.rank,
            "state": each.state,
            "allocated": each.rank in busy,
            "drained": _drain(drains.get(each.rank)),
            "slot": slots.get(each.rank, ""),
        }
        for each in found.brokers
    ]
    return {
        "nodes": nodes,
        "resources": _amounts(own),
        "bursts": {queue: _amounts(each) for queue, each in bursts.items()},
    }


def _amounts(resources: Resources) -> dict[str, Any]:
    return {name: _amount(getattr(resources, name)) for name in ResourcesView.model_fields}


def _drain(drain: Drain | None) -> dict[str, Any] | None:
    return None if drain is None else {"timestamp": drain.timestamp, "reason": drain.reason}


def _amount(subset: ResourceSubset) -> dict[str, int]:
    return {"nodes": subset.nodes, "cores": subset.cores, "gpus": subset.gpus}


@router.get(
    "", summary="List nodes", responses=answers(NodesView, "busy", "instance-away", "instance-refused")
)
async def nodes(request: Request, cluster: str, principal: ClusterReader) -> Response:
    """Return the nodes and resources of a cluster, at most a second old."""
    return json_answer(view(await services_of(request).views.nodes(principal, cluster)))


_ACTS = (*WITH_BODY, "conflict", "busy", "instance-away", "instance-refused")


@router.post(
    "/{host}/drain",
    status_code=204,
    summary="Drain a node",
    openapi_extra=body_schema(GivenReason, optional=True),
    responses=answers(None, *_ACTS, status=204, words="It gets no new work; jobs there go on."),
)
async def drain(request: Request, cluster: str, host: Host, principal: Draining) -> Response:
    """Give a node no new work."""
    sent = await body(request, GivenReason, optional=True)
    await services_of(request).views.drain(principal, cluster, host, sent.reason)
    return Response(status_code=204)


@router.post(
    "/{host}/undrain",
    status_code=204,
    summary="Undrain a node",
    responses=answers(None, *_ACTS, status=204, words="It gets work again."),
)
async def undrain(request: Request, cluster: str, host: Host, principal: Draining) -> Response:
    """Give a drained node work again."""
    await services_of(request).views.undrain(principal, cluster, host)
    return Response(status_code=204)
