"""The audit log, for those who may read it."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel

from restful import audit
from restful.identity.principal import Principal
from restful.routes.access import IdentitiesHere, requires
from restful.routes.parameters import ActionQuery, ActorQuery, LimitQuery
from restful.routes.times import Moment, utc
from restful.store import audit as rows
from restful.store.audit import AuditFilter, AuditRecord

router = APIRouter(prefix="/v2/audit", tags=["audit"])

AuditReader = Annotated[Principal, Depends(requires("audit:read"))]


class AuditView(BaseModel):
    """One row of the log."""

    id: int
    at: datetime
    actor: str
    token: str
    address: str
    action: str
    object: str
    outcome: str
    detail: str
    hash: str


class AuditPage(BaseModel):
    """Rows, the newest first."""

    entries: list[AuditView]
    before: int | None
    """What the next page is asked for with; None with the last one."""


class AuditCheck(BaseModel):
    """Whether the log is whole."""

    whole: bool
    first_broken: int | None
    """The number of the first row that was changed or is missing."""


@router.get("")
async def read(
    _: AuditReader,
    identities: IdentitiesHere,
    actor: ActorQuery = "",
    action: ActionQuery = "",
    since: Moment | None = None,
    until: Moment | None = None,
    before: Annotated[int | None, Query(ge=1, lt=2**63)] = None,
    limit: LimitQuery = 100,
) -> AuditPage:
    """Return rows of the log."""
    wanted = AuditFilter(actor, action, _seconds(since), _seconds(until), before, limit)
    await identities.refusals.flush()
    async with identities.database.read() as connection:
        found = await rows.page(connection, wanted)
    return AuditPage(
        entries=[_row(each) for each in found], before=found[-1].id if len(found) == limit else None
    )


@router.get("/check")
async def check(_: AuditReader, identities: IdentitiesHere) -> AuditCheck:
    """Return whether each row follows from the one before; it reads all of them."""
    async with identities.database.read() as connection:
        broken = await audit.first_broken(connection)
    return AuditCheck(whole=broken is None, first_broken=broken)


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()


def _row(record: AuditRecord) -> AuditView:
    return AuditView(
        id=record.id,
        at=utc(record.at),
        actor=record.actor,
        token=record.token,
        address=record.address,
        action=record.action,
        object=record.object,
        outcome=record.outcome,
        detail=record.detail,
        hash=record.hash,
    )
