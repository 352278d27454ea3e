"""Who asks for a page: by a browser's cookie, never by a token. Forms carry their session's CSRF token."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated

from fastapi import Depends, Request

from restful.errors import HttpProblem
from restful.identity import cookies, web_sessions
from restful.identity.cookies import CookiePolicy
from restful.identity.identities import Identities
from restful.identity.principal import Principal
from restful.identity.scopes import BY_ROLE
from restful.page import forms
from restful.page.forms import SentForm
from restful.page.page_route import LoginNeeded
from restful.routes.access import anonymous, authenticated, caller_of, identities_of, record_refusal
from restful.routes.admission import admit, services_of
from restful.store.sessions import SessionRecord
from restful.store.users import UserState

OTHER_ORIGIN = "This form was not sent by a page of this service."
OUTDATED = "This form belongs to another login: go back, load the page again, and send it again."


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """Who is logged in with a browser."""

    principal: Principal
    csrf: str = field(repr=False)
    """What every form has to carry."""
    record: SessionRecord | None
    """None on loopback without a login."""


@dataclass(frozen=True, slots=True)
class PostedForm:
    """A form of a page of ours, and who sent it."""

    session: BrowserSession
    form: SentForm = field(repr=False)


def policy_of(request: Request) -> CookiePolicy:
    """Return how the cookie is called."""
    return cookies.policy(identities_of(request).settings.issuer)


async def record_of(request: Request) -> SessionRecord | None:
    """Return the session of a request's cookie; None without one, or where it has ended."""
    value = policy_of(request).value(request.headers.get("cookie", ""))
    return await web_sessions.find(identities_of(request), value) if value else None


async def logged_in(request: Request) -> BrowserSession:
    """Return who asks. Raises LoginNeeded, HttpProblem "too-many-requests"."""
    found = await identify(request)
    admit(services_of(request), found.principal)
    return found


async def identify(request: Request) -> BrowserSession:
    """Return who asks; this counts as no request. Raises LoginNeeded."""
    identities = identities_of(request)
    record = await record_of(request)
    if record is None:
        if identities.settings.no_auth and "authorization" not in request.headers:
            return BrowserSession(await authenticated(request), _loopback_csrf(identities), None)
        raise LoginNeeded
    user = await identities.authority.user(record.user)
    if user is None or user.state is not UserState.ACTIVE:
        raise LoginNeeded
    address = caller_of(request).address
    principal = Principal(user.id, user.name, user.role, BY_ROLE[user.role], "session", record.id, address)
    return BrowserSession(principal, record.csrf, record)


def _loopback_csrf(identities: Identities) -> str:
    return identities.master.derived("csrf on loopback").hex()


def require_same_origin(request: Request) -> None:
    """Raise HttpProblem "forbidden" for a form of a page of others."""
    if not cookies.same_origin(request.headers, policy_of(request).origin):
        raise HttpProblem("forbidden", OTHER_ORIGIN)


async def posted(request: Request) -> PostedForm:
    """Return the form of a request, and who sent it. Raises LoginNeeded, HttpProblem."""
    require_same_origin(request)
    session = await logged_in(request)
    form = await forms.read(request)
    if not cookies.csrf_matches(session.csrf, form.one("csrf")):
        raise HttpProblem("forbidden", OUTDATED)
    return PostedForm(session, form)


LoggedIn = Annotated[BrowserSession, Depends(logged_in)]
PostedHere = Annotated[PostedForm, Depends(posted)]


@cache
def logged_in_with(scope: str) -> Callable[..., Awaitable[BrowserSession]]:
    """Return the dependency of a page for those with a scope; it raises what `logged_in` raises besides."""

    async def allowed(request: Request, session: LoggedIn) -> BrowserSession:
        await _require(request, session, scope)
        return session

    return allowed


@cache
def posted_with(scope: str) -> Callable[..., Awaitable[PostedForm]]:
    """Return the dependency of a form for those with a scope; it raises what `posted` raises besides."""

    async def allowed(request: Request, sent: PostedHere) -> PostedForm:
        await _require(request, sent.session, scope)
        return sent

    return allowed


async def _require(request: Request, session: BrowserSession, scope: str) -> None:
    if not session.principal.may(scope):
        await record_refusal(request, session.principal, scope)
        raise HttpProblem(
            "forbidden", f"Your role is {session.principal.role}: this needs the scope {scope}."
        )


async def own_form(request: Request) -> SentForm:
    """Return the form of a request that nobody has to be logged in for. Raises HttpProblem."""
    require_same_origin(request)
    await anonymous(request)
    return await forms.read(request)


OwnForm = Annotated[SentForm, Depends(own_form)]
