"""What a refresh token that is presented means: a state machine without I/O (RFC 9700 section 4.14.2).

A refresh token is good once. Who presents one a second time holds a copy: either he or its owner stole it,
so the whole family ends. Two tabs of one browser do it innocently: within ten seconds the same client gets
the same successor again.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from enum import StrEnum

from restful.identity import token_format
from restful.identity.token_format import TokenKind

REPEAT_WINDOW = 10.0
"""Seconds in which a used token still gets its successor: two tabs that race, or an answer that was lost."""


class RefreshOutcome(StrEnum):
    """What becomes of a refresh token that is presented."""

    ROTATE = "rotate"
    """It was unused: it gets a successor."""
    REPEAT = "repeat"
    """It was just used by the same client: it gets the same successor."""
    REUSED = "reused"
    """It was used before: the family is revoked."""
    OTHER_CLIENT = "other-client"
    """It was given to another client: refused, and still good for that one."""
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class RefreshState:
    """What is known of a refresh token."""

    client: str
    """The id of the client that it was given to."""
    expires: float
    """Epoch seconds."""
    used_at: float | None = None
    used_by: str | None = None
    """The fingerprint of the one that used it."""
    revoked: bool = False


def judge(state: RefreshState, client: str, by: str, now: float) -> RefreshOutcome:
    """Return what becomes of a token that a client with a fingerprint presents."""
    if state.client != client:
        return RefreshOutcome.OTHER_CLIENT
    if state.revoked:
        return RefreshOutcome.REVOKED
    if state.used_at is not None:
        same = state.used_by == by and now - state.used_at <= REPEAT_WINDOW
        return RefreshOutcome.REPEAT if same else RefreshOutcome.REUSED
    return RefreshOutcome.EXPIRED if now >= state.expires else RefreshOutcome.ROTATE


def fingerprint(client: str, address: str, agent: str) -> str:
    """Return what two requests of one client have in common, as a digest."""
    return hashlib.sha256(f"{client}\0{address}\0{agent}".encode()).hexdigest()


def successor(token: str, key: bytes) -> str:
    """Return the refresh token that follows a token: derived, as only digests are stored."""
    return token_format.write(TokenKind.REFRESH, hmac.digest(key, token.encode(), "sha256"))
