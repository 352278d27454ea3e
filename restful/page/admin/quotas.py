"""Quotas: what the jobs of a user, of each member of a group, or of everyone may use at most."""

import math

from fastapi import APIRouter, Request, Response

from restful.errors import FieldError, HttpProblem
from restful.jobs import quota_changes
from restful.jobs.quota import Quota, hours
from restful.page import forms
from restful.page.admin.access import AdminForm, ViewerHere, admin_page
from restful.page.admin.grants import clusters_of, subject_of
from restful.page.browser_sessions import BrowserSession
from restful.page.form_state import EMPTY, FormState, refused
from restful.page.forms import SentForm
from restful.page.page_route import PageRoute
from restful.page.responses import see_other
from restful.routes.access import identities_of
from restful.routes.admission import services_of
from restful.routes.parameters import ObjectId
from restful.routes.quotas import QuotaPatch, QuotaRequest
from restful.store import quotas
from restful.store.quotas import QuotaRecord

router = APIRouter(prefix="/admin/quotas", route_class=PageRoute, include_in_schema=False)

HOUR, DAY = 3600, 86_400
MAX_DAYS = 3660
NUMBERS = ("jobs", "queued_jobs", "nodes")
NAMES = {"node_seconds": "node_hours", "window": "days"}
"""Fields of this form by those of a quota, which has seconds."""


@router.get("")
async def list_quotas(request: Request, session: ViewerHere) -> Response:
    """Show all quotas."""
    return await quotas_page(request, session)


@router.post("")
async def create(request: Request, sent: AdminForm) -> Response:
    """Make a quota."""
    services = services_of(request)
    try:
        subject = await subject_of(identities_of(request), sent.form)
        given = {"cluster": sent.form.one("cluster"), **subject, **_limits(sent.form)}
        new = forms.validated(QuotaRequest, given).new()
        await quota_changes.create(services.database, sent.session.principal, new, services.now())
    except HttpProblem as problem:
        return await quotas_page(request, sent.session, refused(sent.form, problem, NAMES))
    return see_other("/admin/quotas")


@router.get("/{quota}")
async def read(request: Request, quota: ObjectId, session: ViewerHere) -> Response:
    """Show a quota, to change it."""
    return await quota_page(request, session, quota)


@router.post("/{quota}/change")
async def change(request: Request, quota: ObjectId, sent: AdminForm) -> Response:
    """Change the limits of a quota."""
    services = services_of(request)
    try:
        wanted = forms.validated(QuotaPatch, _limits(sent.form)).model_dump()
        await quota_changes.change(services.database, sent.session.principal, quota, wanted, services.now())
    except HttpProblem as problem:
        return await quota_page(request, sent.session, quota, refused(sent.form, problem, NAMES))
    return see_other("/admin/quotas")


@router.post("/{quota}/delete")
async def delete(request: Request, quota: ObjectId, sent: AdminForm) -> Response:
    """Remove a quota."""
    services = services_of(request)
    try:
        await quota_changes.remove(services.database, sent.session.principal, quota, services.now())
    except HttpProblem as problem:
        return await quotas_page(request, sent.session, refused(sent.form, problem))
    return see_other("/admin/quotas")


@router.get("/{quota}/{what}")
async def again(quota: ObjectId, what: str, _: ViewerHere) -> Response:
    """Show the quotas to who comes here without a form."""
    if what not in {"change", "delete"}:
        raise HttpProblem("not-found")
    return see_other(f"/admin/quotas/{quota}" if what == "change" else "/admin/quotas")


async def quotas_page(request: Request, session: BrowserSession, form: FormState = EMPTY) -> Response:
    """Return the page of all quotas, with a form that was refused."""
    async with services_of(request).database.read() as connection:
        found = await quotas.quotas(connection)
    values = {
        "quotas": [(each, _shown(each.limits)) for each in found],
        "clusters": await clusters_of(request, session),
    }
    return admin_page("admin/quotas.html", session, values, form)


async def quota_page(
    request: Request, session: BrowserSession, quota: str, form: FormState = EMPTY
) -> Response:
    """Return the page of a quota, with a form that was refused. Raises HttpProblem "not-found"."""
    async with services_of(request).database.read() as connection:
        found = await quotas.by_id(connection, quota)
    if found is None:
        raise HttpProblem("not-found", "There is no such quota.")
    limits = form if form.problem is not None else FormState(_filled_in(found))
    return admin_page("admin/quota.html", session, {"quota": found, "limits": limits}, form)


def _limits(form: SentForm) -> dict[str, object]:
    """Return the limits of a form; an empty field is none. Raises HttpProblem "invalid"."""
    given: dict[str, object] = {
        name: forms.number(form.one(name)) if form.one(name).strip() else None for name in NUMBERS
    }
    node_hours = _number(form, "node_hours") if form.one("node_hours").strip() else None
    if node_hours is not None and not 0 <= node_hours < 1e12:
        raise HttpProblem("invalid", "", (FieldError("node_hours", "a number from 0 on is needed"),))
    days = _number(form, "days")
    if not 1 <= days <= MAX_DAYS:
        raise HttpProblem("invalid", "", (FieldError("days", f"a number from 1 to {MAX_DAYS} is needed"),))
    given["node_seconds"] = None if node_hours is None else node_hours * HOUR
    given["window"] = days * DAY
    return given


def _number(form: SentForm, name: str) -> float:
    """Return the number in a field; NaN, which is in no range, if it is none."""
    try:
        return float(form.one(name))
    except ValueError:
        return math.nan


def _shown(limits: Quota) -> list[str]:
    """Return limits for people."""
    texts = [
        f"{value} {words}"
        for value, words in (
            (limits.jobs, "jobs that have not ended"),
            (limits.queued_jobs, "jobs that have not begun"),
            (limits.nodes, "nodes"),
        )
        if value is not None
    ]
    if limits.node_seconds is not None:
        texts.append(f"{hours(limits.node_seconds)} node-hours in {limits.window / DAY:g} days")
    return texts or ["no limit"]


def _filled_in(quota: QuotaRecord) -> dict[str, str]:
    limits = quota.limits
    texts = {name: "" if (value := getattr(limits, name)) is None else str(value) for name in NUMBERS}
    node_hours = "" if limits.node_seconds is None else f"{limits.node_seconds / HOUR:.12g}"
    return {**texts, "node_hours": node_hours, "days": f"{limits.window / DAY:.12g}"}
