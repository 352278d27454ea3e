"""One's password, logins and personal tokens."""

from fastapi import APIRouter, Request, Response

from restful.errors import FieldError, HttpProblem
from restful.identity import personal_tokens, session_changes, user_changes
from restful.identity.personal_tokens import TokenWish
from restful.page import forms
from restful.page.browser_sessions import BrowserSession, LoggedIn, PostedForm, PostedHere
from restful.page.form_state import EMPTY, FormState, form_page, refused
from restful.page.page_route import PageRoute
from restful.page.responses import page, see_other
from restful.routes.access import CallerHere, IdentitiesHere, identities_of
from restful.routes.me import TokenRequest
from restful.store import sessions, tokens, users
from restful.store.tokens import CredentialKind

router = APIRouter(route_class=PageRoute, include_in_schema=False)

DAY = 86_400
EXPECTED = {"name": "a name of one line"}


@router.get("/account")
async def account(request: Request, session: LoggedIn) -> Response:
    """Show all of it."""
    return await account_page(request, session)


async def account_page(
    request: Request, session: BrowserSession, section: str = "", form: FormState = EMPTY
) -> Response:
    """Return the page, with a form of a section that was refused: "password", "sessions" or "tokens"."""
    identities, principal = identities_of(request), session.principal
    async with identities.database.read() as connection:
        user = await users.by_id(connection, principal.user)
        linked = await users.linked(connection, principal.user)
        own = await tokens.of_user(connection, principal.user, CredentialKind.PERSONAL)
        logins = await sessions.of_user(connection, principal.user, identities.now())
    settings = identities.settings
    values = {
        "session": session,
        "has_password": user is not None and user.password is not None,
        "linked": linked,
        "sessions": logins,
        "tokens": [each for each in own if each.good(identities.now())],
        "scopes": sorted(principal.scopes),
        "days": int(settings.token_lifetime // DAY),
        "days_max": int(settings.token_lifetime_max // DAY),
        "password_length": settings.password_length_min,
        "refused": section,
        "none_sent": EMPTY,
    }
    return form_page("account.html", values, form)


@router.post("/password")
async def password(
    request: Request, sent: PostedHere, identities: IdentitiesHere, caller: CallerHere
) -> Response:
    """Set one's first password, or change it; all other sessions end."""
    principal, form = sent.session.principal, sent.form
    new, current = form.one("new"), form.one("current")
    try:
        _require_same(new, form.one("again"))
        if current:
            revoke = form.one("revoke_tokens") == "yes"
            await user_changes.change_password(
                identities, principal, current, new, caller, revoke_tokens=revoke
            )
        else:
            await user_changes.set_first_password(identities, principal, new)
    except HttpProblem as problem:
        return await account_page(request, sent.session, "password", refused(sent.form, problem))
    return see_other("/account#password")


@router.post("/tokens")
async def create_token(request: Request, sent: PostedHere, identities: IdentitiesHere) -> Response:
    """Make a personal token, and show it this once."""
    try:
        new = await personal_tokens.create(identities, sent.session.principal, _wish(sent))
    except HttpProblem as problem:
        form = refused(sent.form, problem, {"expires_in": "days"}, "scopes")
        return await account_page(request, sent.session, "tokens", form)
    return page("token.html", {"session": sent.session, "token": new.record, "text": new.text}, 201)


@router.post("/tokens/revoke")
async def revoke_token(request: Request, sent: PostedHere, identities: IdentitiesHere) -> Response:
    """Revoke a personal token."""
    try:
        await personal_tokens.revoke(identities, sent.session.principal, sent.form.one("token"))
    except HttpProblem as problem:
        return await account_page(request, sent.session, "tokens", refused(sent.form, problem))
    return see_other("/account#tokens")


@router.post("/sessions/end")
async def end_session(request: Request, sent: PostedHere, identities: IdentitiesHere) -> Response:
    """End one of one's logins."""
    try:
        await session_changes.end(identities, sent.session.principal, sent.form.one("session"))
    except HttpProblem as problem:
        return await account_page(request, sent.session, "sessions", refused(sent.form, problem))
    return see_other("/account#sessions")


@router.post("/sessions/end-others")
async def end_other_sessions(sent: PostedHere, identities: IdentitiesHere) -> Response:
    """End all of one's logins but the one that asks."""
    await session_changes.end_others(identities, sent.session.principal)
    return see_other("/account#sessions")


@router.get("/password")
@router.get("/sessions/end")
@router.get("/sessions/end-others")
@router.get("/tokens")
@router.get("/tokens/revoke")
async def again() -> Response:
    """Show the page to who comes here without a form."""
    return see_other("/account")


def _require_same(new: str, again: str) -> None:
    if new != again:
        error = FieldError("again", "the two new passwords differ")
        raise HttpProblem("invalid", "The password was not changed.", (error,))


def _wish(sent: PostedForm) -> TokenWish:
    days = forms.days(sent.form)
    if not sent.form.many("scopes"):
        raise HttpProblem("invalid", "", (FieldError("scopes", "choose one at least"),))
    values = {"name": sent.form.one("name"), "scopes": sent.form.many("scopes")}
    wanted = forms.validated(TokenRequest, values, EXPECTED)
    return TokenWish(wanted.name, wanted.scopes, float(days * DAY))
