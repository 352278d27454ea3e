"""The envelope of a name and a password: its signature does not count, everything else does."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.compat.credentials import MAX_ENVELOPE, LoginCredentials, read

GOOD = {"user": "alice", "pass": "wonder land 12", "scope": "token"}


def envelope(payload: Any, signature: str = "c2ln") -> str:
    """Return a header with a JWT that anybody may have signed."""
    parts = [{"alg": "HS256", "typ": "JWT"}, payload]
    texts = [base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=").decode() for each in parts]
    return f"Bearer {'.'.join([*texts, signature])}"


@pytest.mark.parametrize("signature", ["c2ln", "", "bm8"])
def test_credentials_are_read_whatever_the_signature(signature: str) -> None:
    assert read(envelope(GOOD, signature)) == LoginCredentials("alice", "wonder land 12")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Basic YTpi",
        envelope(GOOD).replace("Bearer", "Basic"),
        "Bearer a.b",
        "Bearer a.!!!.c",
        "Bearer a.bm9qc29u.c",
        envelope([]),
        envelope({**GOOD, "scope": "other"}),
        envelope({**GOOD, "user": ""}),
        envelope({**GOOD, "pass": 5}),
        envelope({**GOOD, "user": "a\0"}),
        envelope({**GOOD, "pass": "\ud800"}),
        envelope({**GOOD, "pass": "x" * 1025}),
        envelope({"user": "alice", "pass": "x"}),
        "Bearer " + "a" * (MAX_ENVELOPE + 1),
    ],
)
def test_what_is_no_envelope_is_none(header: str) -> None:
    assert read(header) is None


def test_a_password_is_not_shown() -> None:
    assert "wonder" not in repr(read(envelope(GOOD)))


@given(st.text())
def test_no_header_breaks_it(text: str) -> None:
    assert read(f"Bearer {text}") is None or "." in text
