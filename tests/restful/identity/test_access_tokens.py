"""Access tokens: what is verified, and each way in which one is not believed."""

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import OctKey, OKPKey

from restful.identity import access_tokens
from restful.identity.access_tokens import AccessClaims, InvalidToken, TokenAudience

NOW = 1_000_000.0
AUDIENCE = TokenAudience("https://mc.example", "minicluster")
KEY = OKPKey.generate_key("Ed25519", {"kid": "one", "alg": "Ed25519", "use": "sig"}, private=True)
OTHER = OKPKey.generate_key("Ed25519", {"kid": "one", "alg": "Ed25519", "use": "sig"}, private=True)
KEYS = {"one": OKPKey.import_key(KEY.as_dict(private=False))}
CLAIMS = AccessClaims("alice", "family", frozenset({"jobs:read"}), 3, "id", "cli", NOW, NOW + 600)
TOKEN = access_tokens.issue(CLAIMS, AUDIENCE, KEY)
BODY: dict[str, Any] = {
    "iss": "https://mc.example",
    "aud": "minicluster",
    "sub": "alice",
    "sid": "family",
    "scope": "jobs:read",
    "epoch": 3,
    "client_id": "cli",
    "jti": "id",
    "iat": int(NOW),
    "exp": int(NOW) + 600,
}
HEADER = {"typ": "at+jwt", "alg": "Ed25519", "kid": "one"}


def signed(header: Mapping[str, Any] = {}, key: OKPKey = KEY, **claims: object) -> str:
    return jwt.encode({**HEADER, **header}, {**BODY, **claims}, key, algorithms=["Ed25519"])


def unsigned(header: Mapping[str, Any], signature: str = "") -> str:
    parts = [json.dumps(each).encode() for each in ({**HEADER, **header}, BODY)]
    return ".".join([*(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts), signature])


def by_public_key_as_secret() -> str:
    """Return a token whose HMAC's secret is the public key: an old confusion of algorithms."""
    secret = OctKey.import_key(base64.urlsafe_b64decode(f"{KEY.as_dict(private=False)['x']}="))
    return jwt.encode({**HEADER, "alg": "HS256"}, BODY, secret, algorithms=["HS256"])


def test_what_was_issued_is_verified() -> None:
    assert access_tokens.verify(TOKEN, KEYS, AUDIENCE, NOW) == CLAIMS


def test_it_is_of_its_profile() -> None:
    header = json.loads(base64.urlsafe_b64decode(TOKEN.partition(".")[0] + "=="))
    assert header == HEADER


@pytest.mark.parametrize(
    ("token", "message"),
    [
        pytest.param(signed({"typ": "JWT"}), "no access token", id="typ"),
        pytest.param(signed(iss="https://evil.example"), "of another issuer", id="iss"),
        pytest.param(signed(aud="other"), "for another service", id="aud"),
        pytest.param(signed(aud=["minicluster", "other"]), "for another service", id="one aud of several"),
        pytest.param(signed(exp=int(NOW)), "has expired", id="exp"),
        pytest.param(signed({"kid": "two"}), "unknown key", id="kid"),
        pytest.param(unsigned({"kid": ["one"]}), "unknown key", id="a kid that is no text"),
        pytest.param(unsigned({"alg": "none"}), "another algorithm", id="alg none"),
        pytest.param(unsigned({"alg": "NONE"}), "another algorithm", id="alg NONE"),
        pytest.param(by_public_key_as_secret(), "another algorithm", id="HS256 with the public key"),
        pytest.param(unsigned({"crit": ["b64"], "b64": False}), "another algorithm", id="crit"),
        pytest.param(unsigned({}), "signature is wrong", id="no signature"),
        pytest.param(signed(key=OTHER), "signature is wrong", id="another key of the same id"),
        pytest.param(f"{TOKEN[:-4]}AAAA", "signature is wrong", id="another signature"),
        pytest.param(signed(sub=7), "lacks a claim", id="sub is no text"),
        pytest.param(signed(exp="never"), "lacks a claim", id="exp is no number"),
        pytest.param(signed(epoch=True), "lacks a claim", id="epoch is no number"),
        pytest.param(signed(sid=None), "lacks a claim", id="sid"),
        pytest.param("", "cannot be read", id="nothing"),
        pytest.param("a.b", "cannot be read", id="no token"),
        pytest.param(f"{TOKEN}.x", "cannot be read", id="four parts"),
        pytest.param("W10.e30.AA", "cannot be read", id="a header that is no object"),
        pytest.param("x" * 5000, "too long", id="too long"),
    ],
)
def test_a_token_that_is_not_believed(token: str, message: str) -> None:
    with pytest.raises(InvalidToken, match=message):
        access_tokens.verify(token, KEYS, AUDIENCE, NOW)


@given(st.text(), st.text(), st.text())
def test_any_text_is_refused_without_another_error(one: str, two: str, three: str) -> None:
    with pytest.raises(InvalidToken):
        access_tokens.verify(f"{one}.{two}.{three}", KEYS, AUDIENCE, NOW)


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from("ABCabc019-_."))
def test_a_changed_token_is_never_another_user(at: int, letter: str) -> None:
    changed = TOKEN[:at] + letter + TOKEN[at + 1 :]
    try:
        found = access_tokens.verify(changed, KEYS, AUDIENCE, NOW)
    except InvalidToken:
        return
    assert found == CLAIMS


def test_no_error_quotes_the_token() -> None:
    with pytest.raises(InvalidToken) as caught:
        access_tokens.verify(f"{TOKEN[:-4]}AAAA", KEYS, AUDIENCE, NOW)
    assert TOKEN[:20] not in str(caught.value)


def test_it_lives_to_the_second() -> None:
    token = access_tokens.issue(replace(CLAIMS, expires=NOW + 1), AUDIENCE, KEY)
    assert access_tokens.verify(token, KEYS, AUDIENCE, NOW + 0.9).expires == NOW + 1
