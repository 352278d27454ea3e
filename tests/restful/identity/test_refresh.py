"""Refresh tokens: one use, an innocent repetition, and a theft."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.identity import refresh, token_format
from restful.identity.refresh import RefreshOutcome, RefreshState
from restful.identity.token_format import TokenKind

NOW = 1000.0
UNUSED = RefreshState("cli", expires=2000.0)


def used(at: float, by: str = "me", *, revoked: bool = False) -> RefreshState:
    return RefreshState("cli", expires=2000.0, used_at=at, used_by=by, revoked=revoked)


@pytest.mark.parametrize(
    ("state", "client", "now", "expected"),
    [
        pytest.param(UNUSED, "cli", NOW, RefreshOutcome.ROTATE, id="unused"),
        pytest.param(UNUSED, "cli", 1999.9, RefreshOutcome.ROTATE, id="at its last moment"),
        pytest.param(UNUSED, "cli", 2000.0, RefreshOutcome.EXPIRED, id="expired"),
        pytest.param(UNUSED, "other", NOW, RefreshOutcome.OTHER_CLIENT, id="another client's"),
        pytest.param(used(NOW), "cli", NOW, RefreshOutcome.REPEAT, id="two tabs at once"),
        pytest.param(used(NOW), "cli", NOW + 10, RefreshOutcome.REPEAT, id="ten seconds later"),
        pytest.param(used(NOW), "cli", NOW + 10.1, RefreshOutcome.REUSED, id="after ten seconds"),
        pytest.param(used(NOW, "thief"), "cli", NOW + 1, RefreshOutcome.REUSED, id="used by another"),
        pytest.param(used(NOW), "cli", 3000.0, RefreshOutcome.REUSED, id="used, long ago"),
        pytest.param(used(NOW, revoked=True), "cli", NOW, RefreshOutcome.REVOKED, id="revoked"),
    ],
)
def test_what_becomes_of_a_token(state: RefreshState, client: str, now: float, expected: object) -> None:
    assert refresh.judge(state, client, "me", now) is expected


@given(st.floats(0, 5000), st.sampled_from(["me", "thief"]), st.booleans())
def test_a_revoked_token_gets_nothing(now: float, by: str, spent: bool) -> None:
    state = used(NOW, revoked=True) if spent else RefreshState("cli", 2000.0, revoked=True)
    assert refresh.judge(state, "cli", by, now) is RefreshOutcome.REVOKED


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_the_successor_is_the_same_again_and_a_token(secret: bytes, key: bytes) -> None:
    token = token_format.write(TokenKind.REFRESH, secret)
    successor = refresh.successor(token, key)
    assert successor == refresh.successor(token, key) != token
    assert token_format.kind_of(successor) is TokenKind.REFRESH


def test_without_the_key_nobody_knows_the_successor() -> None:
    token = token_format.write(TokenKind.REFRESH, b"\x01" * 32)
    assert refresh.successor(token, b"a" * 32) != refresh.successor(token, b"b" * 32)


def test_a_fingerprint_does_not_confuse_its_parts() -> None:
    assert refresh.fingerprint("a", "bc", "") != refresh.fingerprint("ab", "c", "")
