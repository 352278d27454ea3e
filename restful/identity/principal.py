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
    """How it was shown.

    "pat" (personal token), "access" (JWT of a login), "client" (JWT of a service account), "session" (cookie)
    or "loopback" (not at all).
    """
    token: str = ""
    """The id of the token or session, for the audit log."""
    address: str = ""
    """The client's."""

    def may(self, scope: str) -> bool:
        """Return whether this request has a scope."""
        return scope in self.scopes

    @property
    def logged_in(self) -> bool:
        """Whether a user has logged in for this: only then may it make what outlives it, such as a token."""
        return self.kind in {"access", "session"}
