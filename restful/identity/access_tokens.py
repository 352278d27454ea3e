"""Access tokens: JWTs of the profile of RFC 9068, signed by Ed25519 (RFC 8037, named as in RFC 9864). No I/O.

The algorithm is the key's, never the one that a token's header names (RFC 8725 section 3.1).
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from joserfc import jwt
from joserfc.errors import JoseError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from joserfc.jwk import OKPKey

ALGORITHM = "Ed25519"
TYPE = "at+jwt"
MAX_LENGTH = 4096
"""Characters. Ours have about 600."""
REMEMBERED = 4096
"""Tokens of which is remembered what was signed: to check a signature is half of a short request."""


class InvalidToken(Exception):  # noqa: N818 - RFC 6750's name for it
    """A token is not to be believed; the message is for its owner, and quotes nothing of it."""


class EndedToken(InvalidToken):
    """A token has our signature, and is good no more, or for somebody else: nobody guesses."""


@dataclass(frozen=True, slots=True)
class AccessClaims:
    """What an access token states."""

    user: str
    session: str
    """The id of the family of refresh tokens, or of the client's secret, that it ends with."""
    scopes: frozenset[str]
    epoch: int
    """The user's when it was issued: a later one of the user ends it."""
    id: str
    client: str
    issued: float
    expires: float


@dataclass(frozen=True, slots=True)
class TokenAudience:
    """Who issues tokens, and for whom."""

    issuer: str
    audience: str


def issue(claims: AccessClaims, audience: TokenAudience, key: OKPKey) -> str:
    """Return a signed token."""
    return jwt.encode(
        {"typ": TYPE, "alg": ALGORITHM, "kid": key.kid},
        {
            "iss": audience.issuer,
            "aud": audience.audience,
            "sub": claims.user,
            "sid": claims.session,
            "scope": " ".join(sorted(claims.scopes)),
            "epoch": claims.epoch,
            "client_id": claims.client,
            "jti": claims.id,
            "iat": int(claims.issued),
            "exp": int(claims.expires),
        },
        key,
        algorithms=[ALGORITHM],
    )


def verify(token: str, keys: Mapping[str, OKPKey], audience: TokenAudience, now: float) -> AccessClaims:
    """Return what a token states. Raises InvalidToken, and EndedToken once it has expired."""
    if len(token) > MAX_LENGTH:
        raise InvalidToken("the token is too long to be an access token")
    header = _header(token)
    if header.get("typ") != TYPE:
        raise InvalidToken("the token is no access token")
    key = keys.get(kid) if isinstance(kid := header.get("kid"), str) else None
    if key is None:
        raise InvalidToken("the token is signed with an unknown key")
    if header.get("alg") != ALGORITHM or "crit" in header:
        raise InvalidToken("the token is signed by another algorithm than its key's")
    try:
        found = _signed(token, _Same(key))
    except (JoseError, ValueError) as error:
        raise InvalidToken("the token's signature is wrong") from error
    return _checked(found, audience, now)


class _Same:
    """A key, which is equal to itself alone: joserfc's cannot be looked up by."""

    def __init__(self, key: OKPKey) -> None:
        self.key = key

    def __hash__(self) -> int:
        return id(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.key is self.key


@lru_cache(maxsize=REMEMBERED)
def _signed(token: str, by: _Same) -> dict[str, Any]:
    """Return the claims that a key has signed; of each token that is good this is found out once.

    Whether the key is still one of ours, and the token has not ended, is asked each time by the callers.
    """
    return jwt.decode(token, by.key, algorithms=[ALGORITHM]).claims


def _header(token: str) -> Mapping[str, Any]:
    if token.count(".") != 2:
        raise InvalidToken("the token cannot be read")
    return _read(token.partition(".")[0])


@lru_cache(maxsize=16)
def _read(first: str) -> Mapping[str, Any]:
    """Return the header of tokens that begin so: all that a key has signed have the same."""
    try:
        header = json.loads(base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise InvalidToken("the token cannot be read") from error
    if not isinstance(header, dict):
        raise InvalidToken("the token cannot be read")
    return header


def _checked(claims: dict[str, Any], audience: TokenAudience, now: float) -> AccessClaims:
    if claims.get("iss") != audience.issuer:
        raise EndedToken("the token is of another issuer")
    if claims.get("aud") != audience.audience:
        raise EndedToken("the token is for another service")
    texts = [claims.get(name) for name in ("sub", "sid", "scope", "jti", "client_id")]
    numbers = [claims.get(name) for name in ("epoch", "iat", "exp")]
    if not all(isinstance(each, str) for each in texts) or not all(type(each) is int for each in numbers):
        raise EndedToken("the token lacks a claim, or has one of another type")
    found = AccessClaims(
        user=claims["sub"],
        session=claims["sid"],
        scopes=frozenset(claims["scope"].split()),
        epoch=claims["epoch"],
        id=claims["jti"],
        client=claims["client_id"],
        issued=claims["iat"],
        expires=claims["exp"],
    )
    if now >= found.expires:
        raise EndedToken("the token has expired")
    return found
