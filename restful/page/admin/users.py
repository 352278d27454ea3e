"""Users: make them, change them, let them in again."""

from fastapi import APIRouter, Response

from restful.errors import HttpProblem
from restful.identity import login_links, user_changes
from restful.identity.identities import Identities
from restful.identity.user_changes import NewUser, UserChange
from restful.page import forms
from restful.page.admin.access import AdminForm, ViewerHere, admin_page
from restful.page.browser_sessions import BrowserSession, PostedForm
from restful.page.form_state import EMPTY, FormState, refused
from restful.page.forms import SentForm
from restful.page.page_route import PageRoute
from restful.page.responses import page, see_other
from restful.routes.access import IdentitiesHere
from restful.routes.parameters import AfterQuery, ObjectId
from restful.routes.users import UserPatch, UserRequest
from restful.store import groups, users
from restful.store.users import UserKind, UserRecord

router = APIRouter(prefix="/admin/users", route_class=PageRoute, include_in_schema=False)

LIMIT = 100
"""Users on one page."""
EXPECTED = {
    "name": "a name of a-z, 0-9, _, ., @ and -, that begins with a letter or _",
    "display": "one line of text",
    "email": "an address such as alice@example.org",
}


@router.get("")
async def list_users(session: ViewerHere, identities: IdentitiesHere, after: AfterQuery = "") -> Response:
    """Show users by name, those after a name."""
    return await users_page(session, identities, after=after)


@router.post("")
async def create(sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Make a user, and show him."""
    try:
        wanted = forms.validated(UserRequest, {"name": sent.form.one("name"), **_given(sent.form)}, EXPECTED)
        new = NewUser(wanted.name, wanted.role, wanted.display, wanted.email)
        user = await user_changes.create(identities, sent.session.principal, new)
    except HttpProblem as problem:
        return await users_page(sent.session, identities, refused(sent.form, problem))
    return see_other(f"/admin/users/{user.id}")


@router.get("/{user}")
async def read(user: ObjectId, session: ViewerHere, identities: IdentitiesHere) -> Response:
    """Show a user."""
    return await user_page(session, identities, user)


@router.post("/{user}/change")
async def change(user: ObjectId, sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Change what a user is called, and his role."""
    try:
        wanted = forms.validated(UserPatch, _given(sent.form), EXPECTED)
        what = UserChange(wanted.role, None, wanted.display, wanted.email)
        await user_changes.change(identities, sent.session.principal, user, UserKind.USER, what)
    except HttpProblem as problem:
        return await _refused(sent, identities, user, problem)
    return see_other(f"/admin/users/{user}")


@router.post("/{user}/state")
async def change_state(user: ObjectId, sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Lock or disable a user, or let him in again."""
    try:
        wanted = forms.validated(UserPatch, {"state": sent.form.one("state")})
        what = UserChange(state=wanted.state)
        await user_changes.change(identities, sent.session.principal, user, UserKind.USER, what)
    except HttpProblem as problem:
        return await _refused(sent, identities, user, problem)
    return see_other(f"/admin/users/{user}")


@router.post("/{user}/link")
async def make_link(user: ObjectId, sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Make a link that logs a user in once, and show it this once."""
    return await _link(sent, identities, user, reset=False)


@router.post("/{user}/reset")
async def reset_password(user: ObjectId, sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Take a user's password away, and show a link behind which he sets another one."""
    keep = sent.form.one("keep_tokens") == "yes"
    return await _link(sent, identities, user, reset=True, keep_tokens=keep)


@router.post("/{user}/delete")
async def delete(user: ObjectId, sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Delete a user."""
    try:
        forms.require_sure(sent.form)
        await user_changes.remove(identities, sent.session.principal, user, UserKind.USER)
    except HttpProblem as problem:
        return await _refused(sent, identities, user, problem)
    return see_other("/admin/users")


@router.get("/{user}/{what}")
async def again(user: ObjectId, what: str, _: ViewerHere) -> Response:
    """Show the user to who comes here without a form."""
    if what not in {"change", "state", "link", "reset", "delete"}:
        raise HttpProblem("not-found")
    return see_other(f"/admin/users/{user}")


async def users_page(
    session: BrowserSession, identities: Identities, form: FormState = EMPTY, after: str = ""
) -> Response:
    """Return the page of all users, with a form that was refused."""
    async with identities.database.read() as connection:
        found = await users.page(connection, UserKind.USER, after, LIMIT + 1)
    values = {
        "users": found[:LIMIT],
        "after": after,
        "next": found[LIMIT - 1].name if len(found) > LIMIT else "",
    }
    return admin_page("admin/users.html", session, values, form)


async def user_page(
    session: BrowserSession, identities: Identities, user: str, form: FormState = EMPTY
) -> Response:
    """Return the page of a user, with a form that was refused. Raises HttpProblem "not-found"."""
    async with identities.database.read() as connection:
        found = await users.by_id(connection, user)
        if found is None or found.kind is not UserKind.USER:
            raise HttpProblem("not-found", "There is no such user.")
        values = {
            "user": found,
            "path": f"/admin/users/{user}",
            "identities": await users.identities(connection, user),
            "groups": await groups.of_user(connection, user),
            "changed": form if form.problem is not None and "role" in form.values else _as_it_is(found),
            "is_self": found.id == session.principal.user,
        }
    return admin_page("admin/user.html", session, values, form)


async def _refused(sent: PostedForm, identities: Identities, user: str, problem: HttpProblem) -> Response:
    return await user_page(sent.session, identities, user, refused(sent.form, problem))


async def _link(
    sent: PostedForm, identities: Identities, user: str, *, reset: bool, keep_tokens: bool = False
) -> Response:
    try:
        token = await login_links.for_user(
            identities, sent.session.principal, user, reset=reset, keep_tokens=keep_tokens
        )
    except HttpProblem as problem:
        return await _refused(sent, identities, user, problem)
    async with identities.database.read() as connection:
        found = await users.by_id(connection, user)
    values = {
        "session": sent.session,
        "user": found,
        "link": f"{identities.settings.issuer}/login/link?token={token}",
        "minutes": round(identities.settings.link_lifetime / 60),
        "reset": reset,
        "keep_tokens": keep_tokens,
    }
    return page("admin/link.html", values, 201)


def _as_it_is(user: UserRecord) -> FormState:
    return FormState({"display": user.display, "email": user.email or "", "role": user.role})


def _given(form: SentForm) -> dict[str, object]:
    """Return the fields of a user that are filled in; an empty address is none."""
    given: dict[str, object] = {"role": form.one("role"), "display": form.one("display").strip()}
    return {**given, "email": form.one("email")} if form.one("email") else given
