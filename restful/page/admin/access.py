"""Who may see and do what on the pages for admins: as the routes below /v2, by the same scopes."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Depends, Response

from restful.identity.principal import Role
from restful.page.browser_sessions import BrowserSession, PostedForm, logged_in_with, posted_with
from restful.page.form_state import EMPTY, FormState, form_page

ViewerHere = Annotated[BrowserSession, Depends(logged_in_with("users:read"))]
AuditViewerHere = Annotated[BrowserSession, Depends(logged_in_with("audit:read"))]
AdminForm = Annotated[PostedForm, Depends(posted_with("users:manage"))]
ROLES = [(str(each), str(each)) for each in Role]


def admin_page(
    template: str, session: BrowserSession, values: Mapping[str, Any], form: FormState = EMPTY
) -> Response:
    """Return a page for admins, with a form; where that was refused, with the status of its problem."""
    shown = {"session": session, "may_manage": session.principal.may("users:manage"), "roles": ROLES}
    return form_page(template, {**shown, **values}, form)
