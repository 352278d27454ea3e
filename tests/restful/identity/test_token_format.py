"""Opaque tokens: what is one, what is none, and what never leaves in a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.identity import token_format
from restful.identity.token_format import TokenKind

SECRETS = st.binary(min_size=32, max_size=32)
KINDS = st.sampled_from(TokenKind)
TOKEN = token_format.write(TokenKind.PERSONAL, b"\x01" * 32)


@given(KINDS, SECRETS)
def test_a_token_is_known_by_its_kind(kind: TokenKind, secret: bytes) -> None:
    token = token_format.write(kind, secret)
    assert (token_format.kind_of(token), len(token)) == (kind, 53)


@given(KINDS, SECRETS, SECRETS)
def test_two_secrets_are_two_tokens(kind: TokenKind, one: bytes, other: bytes) -> None:
    assert (token_format.write(kind, one) == token_format.write(kind, other)) == (one == other)


@given(KINDS, SECRETS, st.integers(4, 52), st.sampled_from(token_format.ALPHABET))
def test_a_token_with_another_digit_is_none(kind: TokenKind, secret: bytes, at: int, digit: str) -> None:
    token = token_format.write(kind, secret)
    changed = token[:at] + digit + token[at + 1 :]
    assert (token_format.kind_of(changed) is None) == (changed != token)


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert token_format.kind_of(text) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param(TOKEN[:-1], id="cut"),
        pytest.param(f"{TOKEN}0", id="too long"),
        pytest.param(f"{TOKEN[:-1]}\n", id="a line feed at its end"),
        pytest.param(f"mcx_{TOKEN[4:]}", id="another prefix"),
        pytest.param(f"mcr_{TOKEN[4:]}", id="the prefix of another kind"),
        pytest.param(TOKEN.replace("mcp_", "MCP_"), id="capitals"),
        pytest.param(f"{TOKEN[:-1]}é", id="beyond ASCII"),
    ],
)
def test_what_is_no_token(text: str) -> None:
    assert token_format.kind_of(text) is None


def test_a_body_beyond_256_bits_is_none() -> None:
    body = f"mcp_{'z' * 43}"
    assert token_format.kind_of(body + token_format._checksum(body)) is None


def test_a_secret_has_32_bytes() -> None:
    with pytest.raises(ValueError, match="a token has 32 bytes, not 31"):
        token_format.write(TokenKind.PERSONAL, b"x" * 31)


@given(KINDS, SECRETS, st.text(), st.text())
def test_a_token_never_leaves_in_a_text(kind: TokenKind, secret: bytes, before: str, after: str) -> None:
    token = token_format.write(kind, secret)
    assert token[4:] not in token_format.redacted(f"{before} {token}{after}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"a {TOKEN[:30]} b", "a [redacted] b", id="half a token"),
        pytest.param(f"eyJ{'a' * 20}.{'b' * 20}.{'c' * 20} b", "[redacted] b", id="a JWT", marks=()),
        pytest.param("$argon2id$v=19$m=8,t=1,p=1$c2FsdA$aGFzaA b", "[redacted] b", id="a password's hash"),
        pytest.param("name=mcp scope=tokens", "name=mcp scope=tokens", id="words"),
    ],
)
def test_what_is_redacted(text: str, expected: str) -> None:
    assert token_format.redacted(text) == expected
