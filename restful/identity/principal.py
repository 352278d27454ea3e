"""Who asks: what every route gets once a request has shown a token or a session."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a user may do at most; each may do what the one before it may."""

    USER = "user"
    OPERATOR = "operator"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated user, with the rights of this request."""

    user: str
    """The user's id, a ULID."""
    name: str
    role: Role
    scopes: frozenset[str]
    """What this request may do: the token's scopes that the role has now as well."""
    kind: str
    """How it was shown: "pat" (personal token), "access" (JWT), "session" (cookie) or "loopback"."""
    token: str = ""
    """The id of the token or session, for the audit log."""
    address: str = ""
    """The client's."""

    def may(self, scope: str) -> bool:
        """Return whether this request has a scope."""
        return scope in self.scopes
