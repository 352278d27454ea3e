"""Groups and their members."""

from fastapi import APIRouter, Response

from restful.errors import FieldError, HttpProblem
from restful.identity import group_changes
from restful.identity.identities import Identities
from restful.page import forms
from restful.page.admin.access import AdminForm, ViewerHere, admin_page
from restful.page.browser_sessions import BrowserSession
from restful.page.form_state import EMPTY, FormState, refused
from restful.page.page_route import PageRoute
from restful.page.responses import see_other
from restful.routes.access import IdentitiesHere
from restful.routes.parameters import ObjectId
from restful.routes.users import GroupRequest
from restful.store import groups, users

router = APIRouter(prefix="/admin/groups", route_class=PageRoute, include_in_schema=False)

EXPECTED = {"name": "a name of a-z, 0-9, _, ., @ and -, that begins with a letter or _"}


@router.get("")
async def list_groups(session: ViewerHere, identities: IdentitiesHere) -> Response:
    """Show all groups."""
    return await groups_page(session, identities)


@router.post("")
async def create(sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Make a group, and show it."""
    try:
        wanted = forms.validated(GroupRequest, {"name": sent.form.one("name")}, EXPECTED)
        group = await group_changes.create_group(identities, sent.session.principal, wanted.name)
    except HttpProblem as problem:
        return await groups_page(sent.session, identities, refused(sent.form, problem))
    return see_other(f"/admin/groups/{group.id}")


@router.get("/{group}")
async def read(group: ObjectId, session: ViewerHere, identities: IdentitiesHere) -> Response:
    """Show a group."""
    return await group_page(session, identities, group)


@router.post("/{group}/add")
async def add(group: ObjectId, sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Put a user into a group, by his name."""
    try:
        user = await user_named(identities, sent.form.one("name"), "name")
        await group_changes.add_member(identities, sent.session.principal, group, user)
    except HttpProblem as problem:
        return await group_page(sent.session, identities, group, refused(sent.form, problem))
    return see_other(f"/admin/groups/{group}")


@router.post("/{group}/remove")
async def remove(group: ObjectId, sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Take a user out of a group."""
    try:
        user = sent.form.one("user")
        await group_changes.remove_member(identities, sent.session.principal, group, user)
    except HttpProblem as problem:
        return await group_page(sent.session, identities, group, refused(sent.form, problem))
    return see_other(f"/admin/groups/{group}")


@router.post("/{group}/delete")
async def delete(group: ObjectId, sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Delete a group with its grants."""
    try:
        forms.require_sure(sent.form)
        await group_changes.remove_group(identities, sent.session.principal, group)
    except HttpProblem as problem:
        return await group_page(sent.session, identities, group, refused(sent.form, problem))
    return see_other("/admin/groups")


@router.get("/{group}/{what}")
async def again(group: ObjectId, what: str, _: ViewerHere) -> Response:
    """Show the group to who comes here without a form."""
    if what not in {"add", "remove", "delete"}:
        raise HttpProblem("not-found")
    return see_other(f"/admin/groups/{group}")


async def groups_page(session: BrowserSession, identities: Identities, form: FormState = EMPTY) -> Response:
    """Return the page of all groups, with a form that was refused."""
    async with identities.database.read() as connection:
        found = await groups.groups(connection)
    return admin_page("admin/groups.html", session, {"groups": found}, form)


async def group_page(
    session: BrowserSession, identities: Identities, group: str, form: FormState = EMPTY
) -> Response:
    """Return the page of a group, with a form that was refused. Raises HttpProblem "not-found"."""
    async with identities.database.read() as connection:
        found = await groups.group_by_id(connection, group)
        if found is None:
            raise HttpProblem("not-found", "There is no such group.")
        names = await users.names(connection, await groups.members(connection, group))
        granted = [each for each in await groups.grants(connection) if each.group == group]
    members = sorted(names.items(), key=lambda each: each[1])
    values = {"group": found, "members": members, "grants": granted}
    return admin_page("admin/group.html", session, values, form)


async def user_named(identities: Identities, name: str, field: str) -> str:
    """Return the id of the user, or service account, with a name. Raises HttpProblem "invalid"."""
    async with identities.database.read() as connection:
        found = await users.by_name(connection, name)
    if found is None:
        raise HttpProblem("invalid", "", (FieldError(field, f"there is no user {name[:63]!r}"),))
    return found.id
