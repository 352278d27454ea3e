"""One's password and personal tokens."""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response

from restful.errors import FieldError, HttpProblem
from restful.identity import personal_tokens, user_changes
from restful.identity.personal_tokens import TokenWish
from restful.page import forms
from restful.page.browser_sessions import BrowserSession, LoggedIn, PostedForm, PostedHere
from restful.page.page_route import PageRoute
from restful.page.responses import page, see_other, words
from restful.routes.access import CallerHere, IdentitiesHere, identities_of
from restful.routes.me import TokenRequest
from restful.store import tokens, users
from restful.store.tokens import CredentialKind

router = APIRouter(route_class=PageRoute, include_in_schema=False)

DAY = 86_400


@dataclass(frozen=True, slots=True)
class RefusedForm:
    """A form that was refused: it is shown again, with what was wrong."""

    section: str
    """"tokens" or "password"."""
    problem: HttpProblem


@router.get("/account")
async def account(request: Request, session: LoggedIn) -> Response:
    """Show all of it."""
    return await account_page(request, session)


async def account_page(
    request: Request, session: BrowserSession, refused: RefusedForm | None = None
) -> Response:
    """Return the page, with a form that was refused."""
    identities, principal = identities_of(request), session.principal
    async with identities.database.read() as connection:
        user = await users.by_id(connection, principal.user)
        linked = await users.linked(connection, principal.user)
        own = await tokens.of_user(connection, principal.user, CredentialKind.PERSONAL)
    settings, problem = identities.settings, refused.problem if refused is not None else None
    values: dict[str, Any] = {
        "session": session,
        "has_password": user is not None and user.password is not None,
        "linked": linked,
        "tokens": [each for each in own if each.good(identities.now())],
        "scopes": sorted(principal.scopes),
        "days": int(settings.token_lifetime // DAY),
        "days_max": int(settings.token_lifetime_max // DAY),
        "password_length": settings.password_length_min,
        "refused": refused.section if refused is not None else "",
        "problem": words(problem) if problem is not None else [],
    }
    status, headers = (problem.status, problem.headers) if problem is not None else (200, {})
    return page("account.html", values, status, headers)


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
            await user_changes.change_password(identities, principal, current, new, caller)
        else:
            await user_changes.set_first_password(identities, principal, new)
    except HttpProblem as problem:
        return await account_page(request, sent.session, RefusedForm("password", problem))
    return see_other("/account#password")


@router.post("/tokens")
async def create_token(request: Request, sent: PostedHere, identities: IdentitiesHere) -> Response:
    """Make a personal token, and show it this once."""
    try:
        new = await personal_tokens.create(identities, sent.session.principal, _wish(sent))
    except HttpProblem as problem:
        return await account_page(request, sent.session, RefusedForm("tokens", problem))
    return page("token.html", {"session": sent.session, "token": new.record, "text": new.text}, 201)


@router.post("/tokens/revoke")
async def revoke_token(request: Request, sent: PostedHere, identities: IdentitiesHere) -> Response:
    """Revoke a personal token."""
    try:
        await personal_tokens.revoke(identities, sent.session.principal, sent.form.one("token")[:26])
    except HttpProblem as problem:
        return await account_page(request, sent.session, RefusedForm("tokens", problem))
    return see_other("/account#tokens")


@router.get("/password")
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
    days = forms.number(sent.form.one("days"))
    if not isinstance(days, int) or days < 1:
        raise HttpProblem("invalid", "", (FieldError("days", "a whole number from 1 on is needed"),))
    values = {"name": sent.form.one("name"), "scopes": sent.form.many("scopes")}
    wanted = forms.validated(TokenRequest, values)
    return TokenWish(wanted.name, wanted.scopes, float(days * DAY))
