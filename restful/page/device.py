"""Approve or deny a device that wants to log in: `minicluster login` (RFC 8628 section 3.3)."""

from fastapi import APIRouter, Response

from restful.errors import HttpProblem
from restful.identity import devices
from restful.identity.device_flow import written_code
from restful.page.browser_sessions import BrowserSession, LoggedIn, PostedHere
from restful.page.page_route import PageRoute
from restful.page.responses import page, words
from restful.routes.access import IdentitiesHere

router = APIRouter(route_class=PageRoute, include_in_schema=False)

MAX_CODE = 20
"""Characters that are read of what was typed."""


@router.get("/device")
async def device(session: LoggedIn, identities: IdentitiesHere, user_code: str = "") -> Response:
    """Ask for a code, or show what waits with it."""
    if not user_code:
        return _code_form(session)
    try:
        waiting = await devices.waiting(identities, session.principal, user_code[:MAX_CODE])
    except HttpProblem as problem:
        return _code_form(session, problem, user_code)
    values = {
        "session": session,
        "client": waiting.client,
        "code": waiting.user_code,
        "scopes": sorted(waiting.scopes),
    }
    return page("device.html", values)


@router.post("/device")
async def decide(sent: PostedHere, identities: IdentitiesHere) -> Response:
    """Approve or deny."""
    typed, decision = sent.form.one("user_code")[:MAX_CODE], sent.form.one("decision")
    if decision not in {"approve", "deny"}:
        raise HttpProblem("malformed", "decision is approve or deny")
    approve = decision == "approve"
    try:
        client = await devices.decide(identities, sent.session.principal, typed, approve=approve)
    except HttpProblem as problem:
        return _code_form(sent.session, problem, typed)
    values = {"session": sent.session, "client": client, "approved": approve}
    return page("decided.html", values)


def _code_form(session: BrowserSession, problem: HttpProblem | None = None, typed: str = "") -> Response:
    values = {
        "session": session,
        "code": written_code(typed) if typed else "",
        "problem": words(problem) if problem is not None else [],
    }
    status, headers = (problem.status, problem.headers) if problem is not None else (200, {})
    return page("code.html", values, status, headers)
