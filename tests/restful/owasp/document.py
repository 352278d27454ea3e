"""What the OWASP modules generate their cases from: the served OpenAPI document, and every served route."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from restful.clusters.spec import Tenancy
from tests.restful.authorization.matrix import Case, placeholders, request
from tests.restful.authorization.objects import Objects, Whose
from tests.restful.authorization.routes import ROWS, Key, Kind, Row
from tests.restful.authorization.users import USER_OF, Asker, Shown, shown_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.restful.authorization.requests import Sent
    from tests.restful.authorization.service import Everything

PAGE_KINDS = tuple(each for each in Kind if each.startswith("page"))
"""Routes for browsers, which are not in the document."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A route as the document has it."""

    key: Key
    content: Mapping[str, Any]

    @property
    def scope(self) -> str | None:
        """The scope that its token needs; empty: any token; None: it needs no token."""
        security = self.content.get("security")
        return " ".join(security[0]["bearer"]) if security else None


def operations(here: Everything) -> list[Operation]:
    """Return the routes of the document."""
    paths: dict[str, dict[str, Any]] = here.app.openapi()["paths"]
    return [
        Operation((method.upper(), path), content)
        for path, found in paths.items()
        for method, content in found.items()
    ]


def secured(here: Everything) -> list[Operation]:
    """Return the routes that need a token."""
    return [each for each in operations(here) if each.scope is not None]


def page_keys() -> Iterator[Key]:
    """Yield the routes of the page that need a login."""
    open_ones = (Kind.PAGE_OPEN, Kind.PAGE_REFUSED, Kind.PAGE_FORGED)
    for key, row in ROWS.items():
        if row.kind in PAGE_KINDS and row.kind not in open_ones:
            yield key


def asker_of(key: Key) -> Asker:
    """Return who may ask a route, at objects of his own."""
    found = {Kind.ADMIN: Asker.ADMIN, Kind.ADMIN_LOGIN: Asker.CHIEF, Kind.OPERATE: Asker.OPERATOR}
    return found.get(ROWS[key].kind, Asker.LOGIN)


async def sent_to(
    here: Everything, key: Key, shown: Shown, whose: Whose = Whose.OWN, user: str = "alice"
) -> Sent:
    """Return a request to a route in which nothing is wrong."""
    row: Row = ROWS[key]
    given = await Objects(here, Tenancy.SHARED).chosen(placeholders(key, row), user, whose)
    return request(Case(key, Asker.OWNER, whose), row, given, shown)


async def shown(here: Everything, asker: Asker) -> Shown:
    """Return what an asker shows."""
    return await shown_by(here.identities, asker, here.users[USER_OF[asker]])
