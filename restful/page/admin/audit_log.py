"""The audit log: by user, action and day, the newest first; and whether it is whole."""

import datetime
from dataclasses import replace
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from sqlalchemy.ext.asyncio import AsyncConnection

from restful import audit
from restful.errors import FieldError, HttpProblem
from restful.page.admin.access import AuditViewerHere, admin_page
from restful.page.form_state import FormState
from restful.page.page_route import PageRoute
from restful.routes.access import IdentitiesHere
from restful.store import audit as rows
from restful.store import users
from restful.store.audit import AuditFilter, AuditRecord

router = APIRouter(prefix="/admin/audit", route_class=PageRoute, include_in_schema=False)

LIMIT = 50
"""Rows on one page."""
DAY = 86_400.0
ID_LENGTH = 26
FIELDS = ("user", "action", "since", "until")


@router.get("")
async def read(request: Request, session: AuditViewerHere, identities: IdentitiesHere) -> Response:
    """Show rows."""
    query = request.query_params
    form = FormState({name: _clean(query.get(name, "")) for name in FIELDS})
    found: list[AuditRecord] = []
    await identities.refusals.flush()
    async with identities.database.read() as connection:
        try:
            wanted = await _filter(connection, form, query.get("before", ""))
            found = list(await rows.page(connection, wanted))
        except HttpProblem as problem:
            form = replace(form, problem=problem)
        names = await users.names(connection, {each.actor for each in found if each.actor})
    values = {
        "rows": found[:LIMIT],
        "names": names,
        "next": _next(form, found[LIMIT - 1].id) if len(found) > LIMIT else "",
    }
    return admin_page("admin/audit.html", session, values, form)


@router.get("/check")
async def check(session: AuditViewerHere, identities: IdentitiesHere) -> Response:
    """Show whether each row follows from the one before; it reads all of them."""
    async with identities.database.read() as connection:
        broken = await audit.first_broken(connection)
        head = await rows.last_head(connection, audit.START)
    return admin_page("admin/audit_check.html", session, {"broken": broken, "head": head})


def _clean(text: str) -> str:
    return text.replace("\0", "").strip()[:100]


def _next(form: FormState, before: int) -> str:
    given = {name: value for name, value in form.values.items() if value}
    return urlencode({**given, "before": before})


async def _filter(connection: AsyncConnection, form: FormState, before: str) -> AuditFilter:
    """Return what is asked for. Raises HttpProblem "invalid"."""
    since, until = _day(form, "since"), _day(form, "until")
    number = int(before) if before.isascii() and before.isdigit() and len(before) < 19 else None
    actor = await _actor(connection, form.value("user"))
    until = until + DAY if until is not None else None
    # One row more than is shown: whether there is another page.
    return AuditFilter(actor, form.value("action"), since, until, number, LIMIT + 1)


async def _actor(connection: AsyncConnection, text: str) -> str:
    """Return the id of a user who is named, or who was once there."""
    if not text:
        return ""
    found = await users.by_name(connection, text)
    if found is not None:
        return found.id
    if len(text) == ID_LENGTH and text.isalnum():
        return text
    raise HttpProblem("invalid", "", (FieldError("user", f"there is no user {text[:63]!r}"),))


def _day(form: FormState, name: str) -> float | None:
    """Return when a day begins, in UTC."""
    if not form.value(name):
        return None
    try:
        found = datetime.date.fromisoformat(form.value(name))
    except ValueError:
        error = FieldError(name, "needed is a day, such as 2026-01-31")
        raise HttpProblem("invalid", "", (error,)) from None
    return datetime.datetime(found.year, found.month, found.day, tzinfo=datetime.UTC).timestamp()
