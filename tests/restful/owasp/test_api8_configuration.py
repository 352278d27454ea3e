"""API8:2023, security misconfiguration: headers, methods, names and errors.

That every answer has its headers is seen where the matrix asks (tests/restful/authorization/test_matrix.py).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from restful.front.secure_headers import SecureHeaders
from restful.jobs.listing import JobListing
from tests.restful.authorization.requests import Answer, Sent, ask
from tests.restful.authorization.routes import ROWS
from tests.restful.authorization.service import SHARED, opened
from tests.restful.authorization.users import Asker
from tests.restful.identity.service import bearer, within
from tests.restful.owasp.document import sent_to, shown

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.types import Receive, Scope, Send

C = f"/v2/clusters/{SHARED}"


@pytest.mark.parametrize(
    ("issuer", "strict"),
    [
        ("https://mc.example", True),
        ("https://mc.example:443", True),
        ("https://login1.example:8443", False),
        ("http://127.0.0.1:8080", False),
    ],
)
def test_only_who_has_the_port_of_https_speaks_for_the_host(issuer: str, strict: bool) -> None:
    """Strict-Transport-Security is about all ports of a host, so about others' services there."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    answer = within(ask(SecureHeaders(app, issuer), Sent("GET", "/")))
    assert ("strict-transport-security" in answer.headers) is strict


def test_no_route_lets_other_origins_in(tmp_path: Path) -> None:
    async def work() -> dict[Any, Any]:
        async with opened(tmp_path) as here:
            wrong, login = {}, await shown(here, Asker.LOGIN)
            for key in ROWS:
                sent = await sent_to(here, key, login)
                asked = {"origin": "https://evil.example", "access-control-request-method": key[0]}
                for method in (key[0], "OPTIONS"):
                    there = {**sent.headers, **asked}
                    answer = await here.ask(replace(sent, method=method, headers=there))
                    grants = [name for name in answer.headers if name.startswith("access-control")]
                    if grants or (method == "OPTIONS" and answer.status not in {404, 405}):
                        wrong[key, method] = (answer.status, grants)
                login = await shown(here, Asker.LOGIN)
            return wrong

    assert within(work()) == {}


@pytest.mark.parametrize("method", ["TRACE", "TRACK", "CONNECT", "DEBUG", "PROPFIND"])
def test_unusual_methods_are_refused(tmp_path: Path, method: str) -> None:
    async def work() -> set[int]:
        async with opened(tmp_path) as here:
            paths = {key[1].partition("#")[0] for key in ROWS}
            headers = bearer((await shown(here, Asker.ADMIN)).bearer)
            return {
                (await here.ask(Sent(method, path.replace("{", "").replace("}", ""), headers))).status
                for path in paths
            }

    assert within(work()) == {405}


def test_other_names_are_refused_on_every_route(tmp_path: Path) -> None:
    """A page that has its name point here (DNS rebinding) gets nothing; probes come by an address."""

    async def work() -> dict[Any, int]:
        async with opened(tmp_path) as here:
            found, login = {}, await shown(here, Asker.LOGIN)
            for key in ROWS:
                for host in ("evil.example", "mc.example.evil.example", "", "mc.example@evil.example"):
                    sent = await sent_to(here, key, login)
                    answer = await here.ask(replace(sent, headers={**sent.headers, "host": host}))
                    if answer.status != 400:
                        found[key[1], host] = answer.status
            return found

    assert {path for path, _ in within(work())} == {"/healthz", "/readyz"}


PROXIED = {
    **dict.fromkeys(("x-forwarded-host", "x-forwarded-server", "x-host", "x-original-host"), "evil.example"),
    **dict.fromkeys(("x-forwarded-proto", "x-forwarded-scheme", "x-url-scheme"), "http"),
    "x-forwarded-ssl": "off",
    "x-forwarded-port": "8080",
    "forwarded": "for=127.0.0.1;host=evil.example;proto=http",
    **dict.fromkeys(("x-original-url", "x-rewrite-url"), "/v2/users"),
    **dict.fromkeys(("x-forwarded-prefix", "x-script-name"), "/evil"),
}
"""What servers and frameworks believe of a proxy, with what each would change here."""
WHERE = (
    *("/.well-known/oauth-authorization-server", "/healthz", "/login", "/jobs", "/login/oidc", "/v2/me"),
    "/nowhere",
)


@pytest.mark.parametrize("name", PROXIED)
def test_headers_of_proxies_change_nothing(tmp_path: Path, name: str) -> None:
    """Not the route, nor addresses in answers, nor where a redirect leads, nor any header field."""

    async def work() -> tuple[list[Answer], list[Answer]]:
        async with opened(tmp_path) as here:
            owner = bearer((await shown(here, Asker.OWNER)).bearer)
            proxied = {**owner, name: PROXIED[name]}
            return (
                [await here.ask(Sent("GET", path, owner)) for path in WHERE],
                [await here.ask(Sent("GET", path, proxied)) for path in WHERE],
            )

    plain, proxied = within(work())
    assert plain == proxied
    assert plain[0].json()["token_endpoint"] == "https://mc.example/v2/oauth/token"


@pytest.mark.parametrize("name", ["x-forwarded-host", "forwarded", "x-original-url"])
def test_headers_of_proxies_make_no_other_name_ours(tmp_path: Path, name: str) -> None:
    ours = {"x-forwarded-host": "mc.example", "forwarded": "host=mc.example", "x-original-url": "/healthz"}

    async def work() -> int:
        async with opened(tmp_path) as here:
            return (await here.ask(Sent("GET", "/v2/me", {"host": "evil.example", name: ours[name]}))).status

    assert within(work()) == 400


@pytest.mark.parametrize("forwarded", ["203.0.113.9", "127.0.0.1", "203.0.113.9, 198.51.100.1"])
def test_an_address_that_nobody_trusted_states_is_not_counted(tmp_path: Path, forwarded: str) -> None:
    async def work() -> list[int]:
        async with opened(tmp_path, login_burst=2) as here:
            form = {"client_id": "c"}
            found = []
            for number in range(3):
                headers = {"x-forwarded-for": f"{forwarded}, 10.0.0.{number}"}
                found.append((await here.ask(Sent("POST", "/v2/oauth/device", headers, form=form))).status)
            return found

    assert within(work()) == [200, 200, 429]


def test_an_error_that_nobody_expected_has_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """On routes, on /v1 and on the page; the log has it."""

    async def fail(*_: object) -> None:
        raise ZeroDivisionError("canary /root/secret.py")

    async def work() -> list[Any]:
        async with opened(tmp_path) as here:
            owner = await shown(here, Asker.OWNER)
            monkeypatch.setattr(JobListing, "page", fail)
            keys = [("GET", "/v2/clusters/{cluster}/jobs"), ("GET", "/v1/jobs"), ("GET", "/jobs")]
            return [await here.ask(await sent_to(here, key, owner)) for key in keys]

    for answer in within(work()):
        assert answer.status == 500
        assert b"canary" not in answer.body
        assert b"Traceback" not in answer.body
        assert b"ZeroDivision" not in answer.body
    assert "canary" in caplog.text


def test_a_slash_too_many_leads_nowhere(tmp_path: Path) -> None:
    """Behind a proxy a redirect would lead to http, and a client would follow it with its token."""

    async def work() -> set[int]:
        async with opened(tmp_path) as here:
            headers, found = bearer((await shown(here, Asker.OWNER)).bearer), set()
            for method, path in ROWS:
                plain = path.partition("#")[0].replace("{", "").replace("}", "")
                if plain != "/":
                    found.add((await here.ask(Sent(method, f"{plain}/", headers))).status)
            return found

    assert within(work()) <= {404, 405}


@pytest.mark.parametrize(
    "path",
    [
        "/v2/clusters/../users",
        "/v2/clusters/shared/jobs/..%2f..%2fusers",
        "/static/../../etc/passwd",
        "//v2/me",
        "/v2/me;x=y",
        "/%2e%2e/etc/passwd",
        "/v2/clusters/%00",
        "/v2/clusters/\r\nX: y",
        "/jobs/a/b/output/..",
    ],
)
def test_odd_paths_lead_nowhere(tmp_path: Path, path: str) -> None:
    async def work() -> Any:
        async with opened(tmp_path) as here:
            return await here.ask(Sent("GET", path, bearer((await shown(here, Asker.OWNER)).bearer)))

    answer = within(work())
    assert answer.status in {303, 404}
    assert "x" not in answer.headers
