"""Log in at an OpenID provider: the way there, and back from it.

The way there is a link rather than a form: a browser with this page's policy (`form-action 'self'`) does not
follow a form that leads to another site.
"""

from fastapi import APIRouter, Request, Response

from restful.errors import HttpProblem
from restful.identity import web_sessions
from restful.identity.oidc import OidcError
from restful.identity.oidc_logins import OidcLogins
from restful.page.browser_sessions import policy_of
from restful.page.forms import next_path
from restful.page.login import end_former, login_page
from restful.page.page_route import PageRoute
from restful.page.responses import page, see_other, sentence, words
from restful.routes.access import anonymous, caller_of, identities_of
from restful.routes.admission import services_of

router = APIRouter(route_class=PageRoute, include_in_schema=False)

REFUSED = "You are not logged in"


@router.get("/login/oidc")
async def begin(request: Request, next: str = "/") -> Response:  # noqa: A002 - the parameter's name
    """Lead to the provider."""
    logins, path = _logins(request), next_path(next)
    identities_of(request).attempts.login(caller_of(request).address)
    try:
        where, attempt = await logins.begin(path)
    except OidcError as error:
        return login_page(request, path, problem=_words(error), status=502)
    return see_other(where, {"Set-Cookie": policy_of(request).attempt.header(attempt)})


@router.get("/callback")
async def callback(request: Request) -> Response:
    """Let in whom the provider has authenticated."""
    logins, policy, identities = _logins(request), policy_of(request), identities_of(request)
    caller, query = caller_of(request), request.query_params
    await anonymous(request)
    if len(query.multi_items()) != len(query):
        raise HttpProblem("malformed", "a parameter is there twice")
    kept = policy.attempt.value(request.headers.get("cookie", ""))
    try:
        user, path = await logins.finish(query, kept, caller.address)
        session = await web_sessions.open_session(identities, user, caller)
    except OidcError as error:
        answer = login_page(request, "/", problem=_words(error), status=403)
    except HttpProblem as problem:
        answer = login_page(request, "/", problem=words(problem), status=problem.status)
    else:
        await end_former(request)
        answer = _onward(next_path(path), secure=policy.secure)
        answer.headers.append("set-cookie", policy.header(session.cookie))
    answer.headers.append("set-cookie", policy.attempt.removal())
    return answer


def _logins(request: Request) -> OidcLogins:
    found = services_of(request).oidc
    if found is None:
        raise HttpProblem("not-found", "This service has no OpenID provider.")
    return found


def _words(error: OidcError) -> list[str]:
    return [f"{REFUSED}.", sentence(str(error))]


def _onward(path: str, *, secure: bool) -> Response:
    """Return the way on behind a login.

    A cookie with SameSite=Strict, as on plain HTTP, is not sent where a redirect leads that began at the
    provider's page; so there a page of ours leads on.
    """
    return see_other(path) if secure else page("onward.html", {"path": path})
