"""What a request may do: its token's scopes that the user's role and grants have now as well.

An example. A token was made with `jobs:read jobs:cancel:all` by an operator. He is an ordinary user since:
the token is good for `jobs:read` alone. At a cluster where he has no grant, it is good for nothing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from restful.identity.principal import Role

if TYPE_CHECKING:
    from collections.abc import Iterable

OF_USERS = frozenset({"jobs:read", "jobs:submit", "jobs:cancel", "clusters:read", "tokens"})
OF_OPERATORS = OF_USERS | {
    "jobs:read:all",
    "jobs:cancel:all",
    "jobs:urgency",
    "queues:manage",
    "nodes:drain",
}
OF_ADMINS = OF_OPERATORS | {"users:read", "users:manage", "audit:read"}

BY_ROLE = {Role.USER: OF_USERS, Role.OPERATOR: OF_OPERATORS, Role.ADMIN: OF_ADMINS}
SCOPES = OF_ADMINS
"""All there are."""
OF_LOOPBACK = OF_ADMINS - {"users:manage"}
"""What the admin may without a login: nobody who uses this machine now lets himself in for later."""


class GrantRole(StrEnum):
    """What a grant lets a user, or the members of a group, do at a cluster."""

    USE = "use"
    """Have jobs of their own there."""
    OPERATE = "operate"
    """What an operator may do, if the user's role is one too."""


AT_CLUSTERS = frozenset(
    {"jobs:read", "jobs:submit", "jobs:cancel", "clusters:read", *(OF_OPERATORS - OF_USERS)}
)
"""The scopes that are about a cluster: a grant there decides as well."""
BY_GRANT = {GrantRole.USE: AT_CLUSTERS & OF_USERS, GrantRole.OPERATE: AT_CLUSTERS}


def effective(token: frozenset[str], role: Role) -> frozenset[str]:
    """Return the scopes of a token that a role has now."""
    return token & BY_ROLE[role]


def at_cluster(scopes: frozenset[str], role: Role, grant: GrantRole | None) -> frozenset[str]:
    """Return what effective scopes are good for at a cluster; nothing without a grant.

    An admin needs none: he could give himself one.
    """
    if role is Role.ADMIN:
        grant = GrantRole.OPERATE
    return scopes & BY_GRANT[grant] if grant is not None else frozenset()


def stronger(grants: Iterable[GrantRole]) -> GrantRole | None:
    """Return the grant that allows the most; None if there is none."""
    found = set(grants)
    return next((each for each in (GrantRole.OPERATE, GrantRole.USE) if each in found), None)


def parse(text: str) -> frozenset[str]:
    """Return the scopes of a text with spaces between them (RFC 6749 section 3.3).

    Raises ValueError, with a message for people, if one is unknown.
    """
    found = frozenset(text.split())
    if unknown := sorted(found - SCOPES):
        raise ValueError(f"unknown scopes: {quoted(unknown)}; there are: {write(SCOPES)}")
    return found


def write(scopes: Iterable[str]) -> str:
    """Return scopes as one text, in a fixed order."""
    return " ".join(sorted(scopes))


def quoted(scopes: Iterable[str]) -> str:
    """Return scopes that a client sent as part of a message: at most five, each cut and quoted."""
    return ", ".join(ascii(each[:40]) for each in sorted(scopes)[:5])
