"""A browser's cookie, and which requests with it are ours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.identity import cookies

HOST = cookies.policy("https://mc.example")
LOOPBACK = cookies.policy("http://127.0.0.1:8080")


def test_the_cookie_over_https() -> None:
    assert HOST.header("mcs_x") == "__Host-mc=mcs_x; Path=/; HttpOnly; Secure; SameSite=Lax"


def test_the_cookie_on_loopback() -> None:
    assert LOOPBACK.header("mcs_x") == "mc-8080=mcs_x; Path=/; HttpOnly; SameSite=Strict"


def test_the_cookie_is_taken_away() -> None:
    assert HOST.removal() == "__Host-mc=; Path=/; HttpOnly; Secure; SameSite=Lax; Max-Age=0"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("__Host-mc=mcs_x", "mcs_x", id="alone"),
        pytest.param("a=b; __Host-mc=mcs_x; c=d", "mcs_x", id="among others"),
        pytest.param("mc-8080=mcs_x", "", id="of another port"),
        pytest.param("__Host-mc=a; __Host-mc=b", "", id="twice: one was planted"),
        pytest.param("", "", id="none"),
    ],
)
def test_the_value_is_read(header: str, expected: str) -> None:
    assert HOST.value(header) == expected


@given(st.text())
def test_any_header_is_read_without_an_error(header: str) -> None:
    assert isinstance(HOST.value(f"__Host-mc={header}"), str)


@pytest.mark.parametrize(
    ("headers", "ours"),
    [
        pytest.param({"sec-fetch-site": "same-origin"}, True, id="a page of ours"),
        pytest.param({"sec-fetch-site": "none"}, True, id="typed"),
        pytest.param({"sec-fetch-site": "cross-site"}, False, id="a page of others"),
        pytest.param({"sec-fetch-site": "same-site"}, False, id="a neighbour's page"),
        pytest.param({"origin": "https://mc.example"}, True, id="an old browser"),
        pytest.param({"origin": "https://evil.example"}, False, id="an old browser elsewhere"),
        pytest.param({"origin": "null"}, False, id="a frame without an origin"),
        pytest.param(
            {"sec-fetch-site": "same-origin", "origin": "https://evil.example"}, False, id="they differ"
        ),
        pytest.param(
            {"sec-fetch-site": "same-origin", "origin": "null"}, True, id="a page that states no referrer"
        ),
        pytest.param({"sec-fetch-site": "none", "origin": "null"}, False, id="typed, without an origin"),
        pytest.param({"sec-fetch-site": "cross-site", "origin": "null"}, False, id="a sandboxed frame"),
        pytest.param({}, True, id="no browser"),
    ],
)
def test_where_a_request_comes_from(headers: dict[str, str], ours: bool) -> None:
    assert cookies.same_origin(headers, HOST.origin) == ours


@pytest.mark.parametrize(
    ("session", "sent", "good"),
    [("a", "a", True), ("a", "b", False), ("", "", False), ("a", "", False), ("a", "é", False)],
)
def test_a_form_has_its_sessions_token(session: str, sent: str, good: bool) -> None:
    assert cookies.csrf_matches(session, sent) == good
