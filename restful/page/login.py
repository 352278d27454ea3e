"""Log in by name and password or by a link, and log out."""

from collections.abc import Sequence
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response

from restful.errors import HttpProblem
from restful.identity import logins, web_sessions
from restful.identity.identities import Identities
from restful.identity.web_sessions import WebSession
from restful.page.browser_sessions import OwnForm, PostedHere, policy_of, record_of
from restful.page.forms import SentForm, next_path
from restful.page.page_route import PageRoute
from restful.page.responses import page, see_other, words
from restful.routes.access import CallerHere, IdentitiesHere, caller_of, identities_of
from restful.routes.admission import services_of
from restful.store import users

router = APIRouter(route_class=PageRoute, include_in_schema=False)

MAX_TOKEN = 200
"""Characters of a link's token."""
LINK_REFUSED = (
    "This link was used before, has expired, or was not copied as a whole.",
    "Ask an admin for another one.",
    "Can no admin log in? Start `minicluster serve` again: it prints another link.",
    "On Kubernetes `minicluster rest-api admin-link` does.",
    "If you have a name and a password here, log in with them.",
)


@router.get("/login")
async def login_form(request: Request, next: str = "/") -> Response:  # noqa: A002 - the parameter's name
    """Show the form."""
    return login_page(request, next_path(next))


@router.post("/login")
async def login(request: Request, form: OwnForm, identities: IdentitiesHere, caller: CallerHere) -> Response:
    """Log in."""
    name = form.one("name")
    try:
        user = await logins.authenticate(identities, name, form.one("password"), caller)
        if user is None:
            return _refused(request, form, [logins.REFUSED], HttpProblem("forbidden"))
        session = await web_sessions.open_session(identities, user, caller)
    except HttpProblem as problem:
        return _refused(request, form, words(problem), problem)
    return await _logged_in(request, session, next_path(form.one("next")))


@router.get("/login/link")
async def link_form(token: str = "") -> Response:
    """Show a button: who only previews a link does not use it up."""
    return page("link.html", {"token": token[:MAX_TOKEN]})


@router.post("/login/link")
async def link(request: Request, form: OwnForm, identities: IdentitiesHere, caller: CallerHere) -> Response:
    """Log in by a link, once."""
    session = await web_sessions.redeem(identities, form.one("token")[:MAX_TOKEN], caller)
    if session is None:
        values = {"title": "This link does not log in", "problem": LINK_REFUSED}
        return page("problem.html", values, 403)
    return await _logged_in(request, session, await _next_of_link(identities, session.record.user))


@router.post("/logout")
async def logout(request: Request, sent: PostedHere, identities: IdentitiesHere) -> Response:
    """End the session."""
    if sent.session.record is not None:
        await web_sessions.close(identities, sent.session.record, sent.session.principal.address)
    return see_other("/login", {"Set-Cookie": policy_of(request).removal()})


@router.get("/logout")
async def logout_again() -> Response:
    """Show the first page to who comes here without a form."""
    return see_other("/")


def login_page(
    request: Request, path: str, name: str = "", problem: Sequence[str] = (), status: int = 200
) -> Response:
    """Return the page to log in by; behind the login a path is gone on with."""
    logins_there = services_of(request).oidc
    provider = urlsplit(logins_there.provider.issuer).netloc if logins_there is not None else ""
    values = {"name": name, "next": path, "problem": problem, "provider": provider}
    return page("login.html", values, status)


def _refused(request: Request, form: SentForm, problem: list[str], reason: HttpProblem) -> Response:
    path = next_path(form.one("next"))
    answer = login_page(request, path, form.one("name")[:100], problem, reason.status)
    answer.headers.update(reason.headers)
    return answer


async def _next_of_link(identities: Identities, user_id: str) -> str:
    """Return where who came by a link goes on: to set a password, if he cannot log in again without it."""
    async with identities.database.read() as connection:
        user = await users.by_id(connection, user_id)
        elsewhere = await users.linked(connection, user_id)
    return "/account#password" if user is not None and user.password is None and not elsewhere else "/"


async def _logged_in(request: Request, session: WebSession, path: str) -> Response:
    """Return the cookie of a new session."""
    await end_former(request)
    return see_other(path, {"Set-Cookie": policy_of(request).header(session.cookie)})


async def end_former(request: Request) -> None:
    """End the session that a browser had before it logged in."""
    before = await record_of(request)
    if before is not None:
        await web_sessions.close(identities_of(request), before, caller_of(request).address)
