"""Quotas: what admins limit users' jobs to, and what each user has used of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field, FiniteFloat
from starlette.requests import Request  # noqa: TC002 - FastAPI reads annotations
from starlette.responses import Response  # noqa: TC002 - FastAPI reads annotations

from restful.identity.principal import Principal
from restful.jobs import quota_changes, reserved
from restful.jobs.quota import DAY, Quota
from restful.jobs.quota_changes import NewQuota
from restful.request_model import RequestModel
from restful.routes.access import requires
from restful.routes.admission import services_of
from restful.routes.answers import WITH_BODY, answers, json_answer
from restful.routes.parameters import NO_NUL, ClusterQuery, ObjectId
from restful.store import quotas
from restful.store.groups import EVERY_CLUSTER

if TYPE_CHECKING:
    from restful.jobs.reserved import QuotaUse
    from restful.services import Services
    from restful.store.quotas import QuotaRecord

router = APIRouter(prefix="/v2", tags=["quotas"])

UsersReader = Annotated[Principal, Depends(requires("users:read"))]
UsersManager = Annotated[Principal, Depends(requires("users:manage"))]
JobsReader = Annotated[Principal, Depends(requires("jobs:read"))]
# Strict: neither a text nor a truth value is a number.
LimitCount = Annotated[int, Field(ge=0, le=2**31 - 1, strict=True)] | None
NodeSeconds = Annotated[FiniteFloat, Field(ge=0, strict=True)] | None
Window = Annotated[FiniteFloat, Field(ge=DAY, le=3660 * DAY, strict=True)]


class QuotaRequest(RequestModel):
    """A quota of a user, of each member of a group, or of everyone if neither is named."""

    cluster: str = Field(
        default=EVERY_CLUSTER,
        min_length=1,
        max_length=200,
        pattern=NO_NUL,
        description="A cluster's name; `*`: all of them together.",
    )
    user: str | None = Field(default=None, max_length=26, pattern=NO_NUL, description="A user's id.")
    group: str | None = Field(default=None, max_length=26, pattern=NO_NUL, description="A group's id.")
    jobs: LimitCount = Field(default=None, description="Jobs that have not ended; null: no limit.")
    queued_jobs: LimitCount = Field(default=None, description="Those of them that have not begun.")
    nodes: LimitCount = Field(default=None, description="Nodes of all these jobs together.")
    node_seconds: NodeSeconds = Field(
        default=None, description="Used within the window, and what jobs not ended may still use."
    )
    window: Window = Field(default=30 * DAY, description="In seconds, at least a day.")

    def new(self) -> NewQuota:
        """Return the quota as it is made."""
        limits = Quota(**{name: getattr(self, name) for name in Quota._fields})
        return NewQuota(self.cluster, limits, self.user, self.group)


class QuotaPatch(RequestModel):
    """Limits that shall be otherwise: null takes one away, one that is left out stays."""

    jobs: LimitCount = None
    queued_jobs: LimitCount = None
    nodes: LimitCount = None
    node_seconds: NodeSeconds = None
    window: Window = 30 * DAY


class QuotaLimitsView(BaseModel):
    """Limits; null: none."""

    jobs: int | None
    queued_jobs: int | None
    nodes: int | None
    node_seconds: float | None
    window: float


class QuotaView(QuotaLimitsView):
    """A quota."""

    id: str
    cluster: str
    user: str | None
    group: str | None
    name: str | None = Field(description="The user's or the group's; null: it is everyone's.")


class QuotasView(BaseModel):
    """Quotas."""

    quotas: list[QuotaView]


class UsedView(BaseModel):
    """What one's jobs have and had."""

    jobs: int
    queued_jobs: int
    nodes: int
    node_seconds: float = Field(description="Within the window, by jobs that ended.")
    committed_node_seconds: float | None = Field(
        description="What jobs that have not ended may use; null: as much as they like."
    )


class OwnQuotaView(BaseModel):
    """A quota that one's jobs are held to, and what is used of it."""

    cluster: str
    origin: str = Field(description="user, group, everyone, or service: the service's own limit.")
    group: str | None = Field(description="The group's name.")
    limits: QuotaLimitsView
    used: UsedView


class OwnQuotasView(BaseModel):
    """Quotas that one's jobs are held to: each of them."""

    quotas: list[OwnQuotaView]


@router.get("/quotas", summary="List quotas", responses=answers(QuotasView, "invalid"))
async def list_quotas(request: Request, _: UsersReader, cluster: ClusterQuery = None) -> Response:
    """Return all quotas, or those at one cluster."""
    async with services_of(request).database.read() as connection:
        found = await quotas.quotas(connection, cluster)
    return json_answer({"quotas": [_quota(each) for each in found]})


@router.post(
    "/quotas",
    status_code=201,
    summary="Make a quota",
    responses=answers(QuotaView, *WITH_BODY, "conflict", status=201),
)
async def create_quota(request: Request, admin: UsersManager, body: QuotaRequest) -> Response:
    """Limit the jobs of a user, of each member of a group, or of everyone."""
    services = services_of(request)
    made = await quota_changes.create(services.database, admin, body.new(), services.now())
    return json_answer(_quota(made), 201)


@router.get("/quotas/{quota}", summary="One quota", responses=answers(QuotaView))
async def read_quota(request: Request, quota: ObjectId, _: UsersReader) -> Response:
    """Return a quota."""
    async with services_of(request).database.read() as connection:
        return json_answer(_quota(await quota_changes.existing(connection, quota)))


@router.patch("/quotas/{quota}", summary="Change a quota", responses=answers(QuotaView, *WITH_BODY))
async def change_quota(request: Request, quota: ObjectId, admin: UsersManager, body: QuotaPatch) -> Response:
    """Change limits of a quota; jobs that are there go on."""
    services = services_of(request)
    values = body.model_dump(exclude_unset=True)
    changed = await quota_changes.change(services.database, admin, quota, values, services.now())
    return json_answer(_quota(changed))


@router.delete(
    "/quotas/{quota}",
    status_code=204,
    summary="Remove a quota",
    responses=answers(None, status=204, words="It limits nothing any more."),
)
async def delete_quota(request: Request, quota: ObjectId, admin: UsersManager) -> None:
    """Remove a quota."""
    services = services_of(request)
    await quota_changes.remove(services.database, admin, quota, services.now())


@router.get("/me/quotas", summary="One's own quotas", responses=answers(OwnQuotasView, "invalid"))
async def own_quotas(request: Request, principal: JobsReader, cluster: ClusterQuery = None) -> Response:
    """Return what one's jobs are held to at all clusters, or at one, and what is used of it."""
    found = await uses_of(services_of(request), principal, cluster)
    return json_answer({"quotas": [_own(each) for each in found]})


async def uses_of(services: Services, principal: Principal, cluster: str | None = None) -> list[QuotaUse]:
    """Return what holds for a user: at all clusters that he may use, or at one. Raises HttpProblem."""
    if cluster is None:
        there = await services.access.usable(principal)
    else:
        there = [(await services.access.cluster(principal, cluster, "jobs:read"))[0]]
    rows, limits = [each.row for each in there], services.settings.jobs
    async with services.database.read() as connection:
        return await reserved.uses(connection, principal.user, rows, limits, services.now())


def _quota(record: QuotaRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "cluster": record.cluster,
        "user": record.user,
        "group": record.group,
        "name": record.name,
        **record.limits._asdict(),
    }


def _own(found: QuotaUse) -> dict[str, Any]:
    quota, use = found
    used = {
        "jobs": use.jobs,
        "queued_jobs": use.queued,
        "nodes": use.nodes,
        "node_seconds": use.spent,
        "committed_node_seconds": use.committed,
    }
    return {
        "cluster": quota.cluster,
        "origin": quota.origin,
        "group": quota.group,
        "limits": quota.limits._asdict(),
        "used": used,
    }
