"""The name and the password that a client of /v1 sends for a token. Pure.

They come within a JWT (RFC 7519) that the client signs with a secret of its own choosing. This service has no
such secret, and what is within proves itself: the password is checked, the signature is not.
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass, field
from typing import Any

MAX_ENVELOPE = 8192
"""Characters of a JWT: a name and a password of the longest kind, twice over."""
MAX_TEXT = 1024
"""Characters of a name or a password."""
SCOPE = "token"


@dataclass(frozen=True, slots=True)
class LoginCredentials:
    """A user's name and password."""

    user: str
    password: str = field(repr=False)


def read(header: str) -> LoginCredentials | None:
    """Return what the header `Authorization` has; None where it cannot be read, or lacks something."""
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or len(token) > MAX_ENVELOPE:
        return None
    payload = _payload(token.strip())
    if payload.get("scope") != SCOPE:
        return None
    return checked(payload.get("user"), payload.get("pass"))


def checked(user: Any, password: Any) -> LoginCredentials | None:
    """Return a name and a password to try a login with; None where one is missing, or no such text."""
    return LoginCredentials(user, password) if _is_text(user) and _is_text(password) else None


def _is_text(value: Any) -> bool:
    """Return whether it is a text that can be stored: no NUL, no half of a surrogate pair (RFC 8259)."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT:
        return False
    return "\0" not in value and not any("\ud800" <= each <= "\udfff" for each in value)


def _payload(token: str) -> dict[str, Any]:
    """Return the claims of a JWT in the compact form (RFC 7515 section 7.1); empty: it is none."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        text = base64.b64decode(parts[1] + "=" * (-len(parts[1]) % 4), altchars=b"-_", validate=True)
        found = json.loads(text)
    except (binascii.Error, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
