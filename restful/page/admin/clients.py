"""Service accounts: programs that log in with a secret, which is shown once."""

from fastapi import APIRouter, Response

from restful.errors import FieldError, HttpProblem
from restful.identity import user_changes
from restful.identity.identities import Identities
from restful.identity.personal_tokens import TokenWish
from restful.identity.scopes import SCOPES
from restful.identity.user_changes import NewUser
from restful.page import forms
from restful.page.admin.access import AdminForm, ViewerHere, admin_page
from restful.page.browser_sessions import BrowserSession, PostedForm
from restful.page.form_state import EMPTY, FormState, refused
from restful.page.page_route import PageRoute
from restful.page.responses import page, see_other
from restful.routes.access import IdentitiesHere
from restful.routes.parameters import AfterQuery
from restful.routes.users import ClientRequest
from restful.store import tokens, users
from restful.store.tokens import CredentialKind
from restful.store.users import UserKind

router = APIRouter(prefix="/admin/clients", route_class=PageRoute, include_in_schema=False)

LIMIT = 100
"""Service accounts on one page."""
DAY = 86_400
EXPECTED = {
    "name": "a name of a-z, 0-9, _, ., @ and -, that begins with a letter or _",
    "display": "one line of text",
}


@router.get("")
async def list_clients(session: ViewerHere, identities: IdentitiesHere, after: AfterQuery = "") -> Response:
    """Show service accounts by name, those after a name."""
    return await clients_page(session, identities, after=after)


@router.post("")
async def create(sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Make a service account, and show its secret this once."""
    try:
        wanted, days = _wanted(sent), forms.days(sent.form)
        new = NewUser(wanted.name, wanted.role, wanted.display)
        wish = TokenWish("secret", wanted.scopes, float(days * DAY))
        user, secret = await user_changes.create_client(identities, sent.session.principal, new, wish)
    except HttpProblem as problem:
        form = refused(sent.form, problem, {"expires_in": "days"}, "scopes")
        return await clients_page(sent.session, identities, form)
    values = {"session": sent.session, "client": user, "secret": secret}
    return page("admin/client_made.html", values, 201)


@router.post("/delete")
async def delete(sent: AdminForm, identities: IdentitiesHere) -> Response:
    """Delete a service account with its secret."""
    try:
        client = sent.form.one("client")
        await user_changes.remove(identities, sent.session.principal, client, UserKind.SERVICE)
    except HttpProblem as problem:
        return await clients_page(sent.session, identities, refused(sent.form, problem))
    return see_other("/admin/clients")


@router.get("/delete")
async def again(_: ViewerHere) -> Response:
    """Show all service accounts to who comes here without a form."""
    return see_other("/admin/clients")


async def clients_page(
    session: BrowserSession, identities: Identities, form: FormState = EMPTY, after: str = ""
) -> Response:
    """Return the page, with a form that was refused."""
    async with identities.database.read() as connection:
        found = await users.page(connection, UserKind.SERVICE, after, LIMIT + 1)
        secrets = {
            each.id: next(iter(await tokens.of_user(connection, each.id, CredentialKind.CLIENT)), None)
            for each in found[:LIMIT]
        }
    values = {
        "clients": found[:LIMIT],
        "secrets": secrets,
        "now": identities.now(),
        "after": after,
        "next": found[LIMIT - 1].name if len(found) > LIMIT else "",
        "scopes": sorted(SCOPES),
        "days": int(identities.settings.token_lifetime // DAY),
        "days_max": int(identities.settings.token_lifetime_max // DAY),
    }
    return admin_page("admin/clients.html", session, values, form)


def _wanted(sent: PostedForm) -> ClientRequest:
    form = sent.form
    if not form.many("scopes"):
        raise HttpProblem("invalid", "", (FieldError("scopes", "choose one at least"),))
    values = {name: form.one(name) for name in ("name", "role", "display")}
    return forms.validated(ClientRequest, {**values, "scopes": form.many("scopes")}, EXPECTED)
