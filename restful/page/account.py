"""One's password and personal tokens: what the forms of the first page do."""

from fastapi import APIRouter, Request, Response

from restful.errors import FieldError, HttpProblem
from restful.identity import personal_tokens, user_changes
from restful.identity.personal_tokens import TokenWish
from restful.page import forms
from restful.page.browser_sessions import PostedForm, PostedHere
from restful.page.home import RefusedForm, home_page
from restful.page.page_route import PageRoute
from restful.page.responses import page, see_other
from restful.routes.access import CallerHere, IdentitiesHere
from restful.routes.me import TokenRequest

router = APIRouter(route_class=PageRoute, include_in_schema=False)

DAY = 86_400


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
        return await home_page(request, sent.session, RefusedForm("password", problem))
    return see_other("/#account")


@router.post("/tokens")
async def create_token(request: Request, sent: PostedHere, identities: IdentitiesHere) -> Response:
    """Make a personal token, and show it this once."""
    principal = sent.session.principal
    try:
        new = await personal_tokens.create(identities, principal, _wish(sent))
    except HttpProblem as problem:
        return await home_page(request, sent.session, RefusedForm("tokens", problem))
    return page("token.html", {"principal": principal, "token": new.record, "text": new.text}, 201)


@router.post("/tokens/revoke")
async def revoke_token(request: Request, sent: PostedHere, identities: IdentitiesHere) -> Response:
    """Revoke a personal token."""
    try:
        await personal_tokens.revoke(identities, sent.session.principal, sent.form.one("token")[:26])
    except HttpProblem as problem:
        return await home_page(request, sent.session, RefusedForm("tokens", problem))
    return see_other("/#tokens")


@router.get("/password")
@router.get("/tokens")
@router.get("/tokens/revoke")
async def again() -> Response:
    """Show the first page to who comes here without a form."""
    return see_other("/")


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
