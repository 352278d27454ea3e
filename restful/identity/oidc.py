"""Logging in at an OpenID provider: what is sent there, and what of its answers is believed. No I/O.

The flow is authorization code with PKCE (RFC 7636), state, nonce and the issuer in the answer (RFC 9207).
The algorithm of an ID token is one of a fixed list, none of which has a secret that a client knows.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import import_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from joserfc.jwk import Key

ALGORITHMS = {"RSA": ["RS256", "PS256"], "EC": ["ES256", "ES384"], "OKP": ["Ed25519"]}
"""By the type of the provider's key."""
SKEW = 60.0
"""Seconds that the provider's clock may differ."""
ATTEMPT_LIFETIME = 600.0
"""Seconds for the user to log in there."""


class OidcError(Exception):
    """A login at a provider failed; the message is for people, and has no secret."""

    def __init__(self, message: str, user: str = "") -> None:
        super().__init__(message)
        self.user = user
        """The id of the user who came, as far as that is known."""


@dataclass(frozen=True, slots=True)
class Provider:
    """An OpenID provider, and what this service is there."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    redirect_uri: str
    scope: str = "openid profile"
    name_claim: str = "preferred_username"
    """What a new user is called after; he is known again by issuer and subject alone."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a provider is asked (OpenID Connect Discovery 1.0)."""

    authorization: str
    token: str
    jwks: str
    states_issuer: bool
    """Whether its answers have `iss`."""
    userinfo: str = ""
    """Where more is stated of a user than his subject; empty: nowhere."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login under way; it is kept in the browser, sealed."""

    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    expires: float
    page: str
    """Where the user goes afterwards."""

    def packed(self) -> bytes:
        """Return it as bytes."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def unpacked(cls, content: bytes) -> Attempt:
        """Return what was packed."""
        return cls(**json.loads(content))


@dataclass(frozen=True, slots=True)
class OidcSubject:
    """Whom a provider has authenticated."""

    issuer: str
    subject: str
    name: str
    """What he is called there; empty if that is not stated."""


def endpoints(provider: Provider, metadata: Mapping[str, Any]) -> Endpoints:
    """Return the endpoints in a provider's metadata. Raises OidcError if they are another one's."""
    if metadata.get("issuer") != provider.issuer:
        raise OidcError(f"the metadata of {provider.issuer} are of another issuer")
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    found = [metadata.get(name) for name in names]
    if not all(isinstance(each, str) and _is_safe(each) for each in found):
        raise OidcError(f"the metadata of {provider.issuer} lack an endpoint with https")
    states_issuer = metadata.get("authorization_response_iss_parameter_supported") is True
    userinfo = metadata.get("userinfo_endpoint")
    safe = userinfo if isinstance(userinfo, str) and _is_safe(userinfo) else ""
    return Endpoints(str(found[0]), str(found[1]), str(found[2]), states_issuer, safe)


def authorization_url(provider: Provider, where: Endpoints, attempt: Attempt) -> str:
    """Return the address at the provider to which the browser goes."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest()).rstrip(b"=")
    query = {
        "response_type": "code",
        "client_id": provider.client_id,
        "redirect_uri": provider.redirect_uri,
        "scope": provider.scope,
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": challenge.decode(),
        "code_challenge_method": "S256",
    }
    return f"{where.authorization}{'&' if '?' in where.authorization else '?'}{urlencode(query)}"


def code_of(
    provider: Provider, where: Endpoints, attempt: Attempt, query: Mapping[str, str], now: float
) -> str:
    """Return the code in what the browser came back with. Raises OidcError."""
    if now >= attempt.expires:
        raise OidcError("the login took too long; try again")
    if not hmac.compare_digest(query.get("state", "").encode(), attempt.state.encode()):
        raise OidcError("the answer belongs to another login; try again")
    stated = query.get("iss")
    if stated != provider.issuer and (stated is not None or where.states_issuer):
        raise OidcError("the answer is of another provider")
    if "error" in query:
        raise OidcError(f"the provider refused: {query['error'][:50]!a}")
    if not query.get("code"):
        raise OidcError("the answer has no code")
    return query["code"]


def verified(
    provider: Provider, id_token: str, keys: Iterable[Mapping[str, Any]], nonce: str, now: float
) -> OidcSubject:
    """Return whom an ID token is about (OpenID Connect Core 1.0 section 3.1.3.7). Raises OidcError."""
    key = _key(id_token, keys)
    algorithms = ALGORITHMS[key.key_type]
    try:
        claims = jwt.decode(id_token, key, algorithms=algorithms).claims
    except (JoseError, ValueError) as error:
        raise OidcError("the ID token's signature or algorithm is wrong") from error
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    for wrong, message in (
        (claims.get("iss") != provider.issuer, "is of another issuer"),
        (provider.client_id not in audiences, "is for another client"),
        (len(audiences) > 1 and claims.get("azp") != provider.client_id, "is for several clients"),
        (not _is_later(claims.get("exp"), now - SKEW), "has expired"),
        (not _is_later(claims.get("iat"), 0), "has no time"),
        (_is_later(claims.get("iat"), now + SKEW), "is of the future"),
        (not _is_same(claims.get("nonce"), nonce), "belongs to another login"),
        (not isinstance(sub := claims.get("sub"), str) or not sub or "\0" in sub, "has no subject"),
    ):
        if wrong:
            raise OidcError(f"the ID token {message}")
    name = claims.get(provider.name_claim)
    return OidcSubject(provider.issuer, claims["sub"][:255], name if isinstance(name, str) else "")


def named(provider: Provider, subject: OidcSubject, userinfo: Mapping[str, Any]) -> OidcSubject:
    """Return a subject with the name in the answer of the provider's userinfo endpoint.

    Raises OidcError if that is about another subject (OpenID Connect Core 1.0 section 5.3.2).
    """
    if userinfo.get("sub") != subject.subject:
        raise OidcError("what the provider states of the user is about another one")
    name = userinfo.get(provider.name_claim)
    return replace(subject, name=name) if isinstance(name, str) else subject


def page_within(wanted: str) -> str:
    """Return where a user goes after a login: a path of this service, else its first page."""
    safe = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if safe and "\\" not in wanted and len(wanted) < 500 else "/"


def _key(id_token: str, keys: Iterable[Mapping[str, Any]]) -> Key:
    first = id_token.partition(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(first + "=" * (-len(first) % 4)))
        kid = header.get("kid")
    except (ValueError, AttributeError, RecursionError) as error:
        raise OidcError("the ID token cannot be read") from error
    able = [each for each in keys if each.get("kty") in ALGORITHMS and each.get("use", "sig") == "sig"]
    found = [each for each in able if kid is None or each.get("kid") == kid]
    if len(found) != 1:
        raise OidcError("the ID token is signed with an unknown key")
    # Members such as `alg` are left out: an "EdDSA" there is refused, though the key is good.
    members = {name: value for name, value in found[0].items() if name in {"kty", "crv", "x", "y", "n", "e"}}
    try:
        return import_key(members)
    except (JoseError, ValueError, KeyError) as error:
        raise OidcError("the provider's key cannot be read") from error


def _is_later(value: object, than: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > than


def _is_same(value: object, nonce: str) -> bool:
    return isinstance(value, str) and hmac.compare_digest(value.encode(), nonce.encode())


def _is_safe(url: str) -> bool:
    address = urlsplit(url)
    loopback = address.scheme == "http" and address.hostname in {"127.0.0.1", "::1", "localhost"}
    return loopback or (address.scheme == "https" and bool(address.hostname))
