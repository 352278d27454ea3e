"""Grants: who may use or operate which cluster."""

from fastapi import APIRouter, Request, Response

from restful.errors import FieldError, HttpProblem
from restful.identity import group_changes
from restful.identity.group_changes import NewGrant
from restful.identity.identities import Identities
from restful.page import forms
from restful.page.admin.access import AdminForm, ViewerHere, admin_page
from restful.page.admin.groups import user_named
from restful.page.browser_sessions import BrowserSession
from restful.page.form_state import EMPTY, FormState, refused
from restful.page.forms import SentForm
from restful.page.page_route import PageRoute
from restful.page.responses import see_other
from restful.routes.access import IdentitiesHere, identities_of
from restful.routes.admission import services_of
from restful.routes.users import GrantRequest
from restful.store import groups, users
from restful.store.groups import EVERY_CLUSTER

router = APIRouter(prefix="/admin/grants", route_class=PageRoute, include_in_schema=False)

EXPECTED = {"cluster": "the name of a cluster, or * for all of them"}
SUBJECTS = ("everyone", "user", "group")


@router.get("")
async def list_grants(request: Request, session: ViewerHere) -> Response:
    """Show all grants."""
    return await grants_page(request, session)


@router.post("")
async def create(request: Request, sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Make a grant."""
    try:
        subject = await subject_of(identities, sent.form)
        values = {"cluster": sent.form.one("cluster"), "role": sent.form.one("role"), **subject}
        wanted = forms.validated(GrantRequest, values, EXPECTED)
        new = NewGrant(wanted.cluster, wanted.role, wanted.user, wanted.group)
        await group_changes.create_grant(identities, sent.session.principal, new)
    except HttpProblem as problem:
        return await grants_page(request, sent.session, refused(sent.form, problem))
    return see_other("/admin/grants")


@router.post("/delete")
async def delete(request: Request, sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Revoke a grant."""
    try:
        await group_changes.remove_grant(identities, sent.session.principal, sent.form.one("grant"))
    except HttpProblem as problem:
        return await grants_page(request, sent.session, refused(sent.form, problem))
    return see_other("/admin/grants")


@router.get("/delete")
async def again(_: ViewerHere) -> Response:
    """Show all grants to who comes here without a form."""
    return see_other("/admin/grants")


async def grants_page(request: Request, session: BrowserSession, form: FormState = EMPTY) -> Response:
    """Return the page, with a form that was refused."""
    identities = identities_of(request)
    async with identities.database.read() as connection:
        found = await groups.grants(connection)
        named = await groups.groups(connection)
        names = await users.names(connection, [each.user for each in found if each.user is not None])
    values = {
        "grants": found,
        "users": names,
        "groups": {each.id: each.name for each in named},
        "clusters": await clusters_of(request, session),
    }
    return admin_page("admin/grants.html", session, values, form)


async def clusters_of(request: Request, session: BrowserSession) -> list[tuple[str, str]]:
    """Return the choices of a cluster."""
    found = await services_of(request).views.clusters(session.principal)
    return [(EVERY_CLUSTER, "all clusters"), *((each.name, each.name) for each in found)]


async def subject_of(identities: Identities, form: SentForm) -> dict[str, str]:
    """Return whose a grant or a quota shall be, by ids. Raises HttpProblem "invalid"."""
    kind, name = form.one("subject"), form.one("name").strip()
    if kind not in SUBJECTS:
        raise HttpProblem("invalid", "", (FieldError("subject", "choose one of them"),))
    if kind == "everyone":
        if name:
            error = FieldError("name", "everyone has no name: leave it empty, or choose user or group")
            raise HttpProblem("invalid", "", (error,))
        return {}
    if kind == "user":
        return {"user": await user_named(identities, name, "name")}
    async with identities.database.read() as connection:
        found = await groups.group_by_name(connection, name)
    if found is None:
        raise HttpProblem("invalid", "", (FieldError("name", f"there is no group {name[:63]!r}"),))
    return {"group": found.id}
