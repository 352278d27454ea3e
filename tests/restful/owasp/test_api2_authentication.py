"""API2:2023, broken authentication: what is no good token is none, on every route; guessing takes long."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, OKPKey

from restful.identity import access_tokens, token_answers
from restful.identity.access_tokens import AccessClaims, TokenAudience
from restful.identity.scopes import SCOPES
from restful.identity.token_format import TokenKind, write
from tests.restful.authorization.requests import Answer, Sent
from tests.restful.authorization.routes import PASSWORD
from tests.restful.authorization.service import Everything, opened
from tests.restful.authorization.users import CALLER, Asker, add_session
from tests.restful.identity.service import bearer, within
from tests.restful.owasp.document import page_keys, secured, sent_to, shown

if TYPE_CHECKING:
    from pathlib import Path

NO_BURST = {"login_burst": 3, "anonymous_burst": 5}


def _encoded(value: object) -> str:
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


async def forged(here: Everything) -> dict[str, str]:
    """Return tokens that are not to be believed, by what is wrong with them."""
    identities, alice = here.identities, here.users["alice"]
    now, good = identities.now(), await identities.access_token(here.users["alice"], "s", SCOPES, "x")
    header, payload, signature = good.split(".")
    stated = json.loads(base64.urlsafe_b64decode(header + "=="))
    key = await identities.keys.signing()
    claims = AccessClaims(alice.id, "s", SCOPES, 0, "j", "x", now, now + 600)
    public = OctKey.import_key(json.dumps(key.as_dict(private=False)))
    made = OKPKey.generate_key("Ed25519", private=True)
    others = OKPKey.import_key({**made.as_dict(private=True), "kid": made.thumbprint()})
    other = OKPKey.import_key({**others.as_dict(private=True), "kid": stated["kid"]})
    own = identities.audience

    def with_header(**changed: Any) -> str:
        return f"{_encoded({**stated, **changed})}.{payload}.{signature}"

    def issued(audience: TokenAudience, **changed: Any) -> str:
        return access_tokens.issue(replace(claims, **changed), audience, key)

    return {
        "nothing": "x",
        "no JWT": "a.b.c",
        "alg none": f"{_encoded({**stated, 'alg': 'none'})}.{payload}.",
        "alg none, signed": with_header(alg="none"),
        "HMAC with the public key": jwt.encode(
            {**stated, "alg": "HS256"}, json.loads(base64.urlsafe_b64decode(payload + "==")), public
        ),
        "another key, same id": access_tokens.issue(claims, own, other),
        "unknown key": access_tokens.issue(claims, own, others),
        "a path for a key": with_header(kid="../../dev/null"),
        "a list for a key": with_header(kid=[stated["kid"]]),
        "a key within": with_header(jwk=others.as_dict(private=False), kid=others.thumbprint()),
        "an address of keys": with_header(jku="https://evil.example/jwks.json"),
        "critical": with_header(crit=["b64"], b64=False),
        "another type": with_header(typ="JWT"),
        "no signature": f"{header}.{payload}.",
        "changed payload": f"{header}.{_encoded({'sub': here.users['admin'].id})}.{signature}",
        "five parts": f"{good}.a.b",
        "deep header": f"{_encoded(b'[' * 2000)}.{payload}.{signature}",
        "no UTF-8": f"{_encoded(bytes([255, 254]))}.{payload}.{signature}",
        "expired": issued(own, expires=now),
        "another audience": issued(TokenAudience(own.issuer, "other")),
        "another issuer": issued(TokenAudience("https://evil.example", own.audience)),
        "no such user": issued(own, user="01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        "no such login": good,
        "long": "a" * 5000,
        "refresh token": (await token_answers.after_login(identities, alice, SCOPES, CALLER)).refresh,
        "cookie": (await add_session(identities, alice)).cookie,
        "unknown": write(TokenKind.PERSONAL, b"x" * 32),
        "wrong checksum": f"{(await shown(here, Asker.OWNER)).bearer[:-1]}~",
    }


def test_no_route_takes_a_forged_token(tmp_path: Path) -> None:
    async def work() -> tuple[set[str], int]:
        async with opened(tmp_path) as here:
            tokens, wrong, asked = await forged(here), set(), 0
            for operation in secured(here):
                sent = await sent_to(here, operation.key, await shown(here, Asker.NONE))
                for name, token in tokens.items():
                    answer = await here.ask(_with(sent, bearer(token)))
                    asked += 1
                    if answer.status != 401 or not _is_challenge(answer):
                        wrong.add(f"{operation.key}, {name}: {answer.status} {answer.body[:100]!r}")
            return wrong, asked

    wrong, asked = within(work())
    assert wrong == set()
    assert asked > 1000


def _with(sent: Sent, headers: dict[str, str], **more: Any) -> Sent:
    return replace(sent, headers={**sent.headers, **headers}, **more)


def _is_challenge(answer: Answer) -> bool:
    """Whether it is RFC 6750's, and quotes nothing of the token."""
    return answer.headers.get("www-authenticate", "").startswith('Bearer realm="minicluster"')


@pytest.mark.parametrize("name", ["access_token", "token", "authorization", "bearer"])
def test_no_route_takes_a_token_from_its_address(tmp_path: Path, name: str) -> None:
    async def work() -> set[int]:
        async with opened(tmp_path) as here:
            token, found = (await shown(here, Asker.ADMIN)).bearer, set()
            for operation in secured(here):
                sent = await sent_to(here, operation.key, await shown(here, Asker.NONE))
                found.add((await here.ask(_with(sent, {}, query={**sent.query, name: token}))).status)
            return found

    assert within(work()) == {401}


def test_no_page_takes_what_is_no_cookie_of_its_own(tmp_path: Path) -> None:
    async def work() -> set[tuple[int, str]]:
        async with opened(tmp_path) as here:
            found = set()
            token = (await shown(here, Asker.OWNER)).bearer
            for key in page_keys():
                sent = await sent_to(here, key, await shown(here, Asker.NONE))
                for value in ("x", token, "mcs_" + "0" * 49, "", "a; __Host-mc=b"):
                    answer = await here.ask(_with(sent, {"cookie": f"__Host-mc={value}"}))
                    found.add((answer.status, answer.headers.get("location", "")[:12]))
            return found

    assert within(work()) == {(303, "/login?next=")}


def test_two_headers_are_none(tmp_path: Path) -> None:
    async def work() -> set[int]:
        async with opened(tmp_path) as here:
            token = (await shown(here, Asker.OWNER)).bearer
            twice = [(b"authorization", f"Bearer {token}".encode())] * 2
            return {
                (
                    await here.ask(
                        _with(
                            await sent_to(here, each.key, await shown(here, Asker.NONE)),
                            {},
                            raw_headers=twice,
                        )
                    )
                ).status
                for each in secured(here)
            }

    assert within(work()) == {401}


def test_a_guesser_waits_ever_longer_and_so_does_the_right_password(tmp_path: Path) -> None:
    async def work() -> list[tuple[int, str]]:
        async with opened(tmp_path) as here:
            found = []
            for password in (*["wrong password"] * 4, PASSWORD):
                form = {"grant_type": "password", "username": "alice", "password": password}
                answer = await here.ask(Sent("POST", "/v2/oauth/token", form=form))
                found.append((answer.status, answer.headers.get("retry-after", "")))
            return found

    assert within(work()) == [(400, ""), (429, "1"), (429, "1"), (429, "1"), (429, "1")]


@pytest.mark.parametrize(
    ("path", "form", "message"),
    [
        (
            "/v2/oauth/token",
            {"grant_type": "password", "username": "{}", "password": "x"},
            "10 logins a minute",
        ),
        ("/v2/oauth/device", {"client_id": "{}"}, "10 logins a minute"),
        ("/v1/login/access-token", {"username": "{}", "password": "x"}, "10 logins a minute"),
        ("/login", {"name": "{}", "password": "x"}, "10 logins a minute"),
        ("/v2/oauth/token", {"grant_type": "refresh_token", "refresh_token": "{}"}, "5 requests a second"),
        ("/v2/oauth/revoke", {"token": "{}"}, "5 requests a second"),
        ("/login/link", {"token": "{}"}, "5 requests a second"),
    ],
)
def test_an_address_without_a_token_has_a_rate(
    tmp_path: Path, path: str, form: dict[str, str], message: str
) -> None:
    """Other names and other networks each time would not be counted by what is wrong with them."""

    async def work() -> Any:
        async with opened(tmp_path, **NO_BURST) as here:
            for number in range(9):
                given = {name: each.format(f"n{number}") for name, each in form.items()}
                here.clock.time += 0.001
                answer = await here.ask(Sent("POST", path, {"sec-fetch-site": "same-origin"}, form=given))
                if answer.status == 429 and message in answer.text:
                    return int(answer.headers["retry-after"])
            return answer.status, answer.text

    assert within(work()) >= 1


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(write(TokenKind.PERSONAL, b"x" * 32), id="an unknown personal token"),
        pytest.param("mcp_x", id="none of its form"),
        pytest.param("a.b.c", id="no JWT"),
    ],
)
def test_wrong_tokens_are_counted_by_address_and_good_ones_pass(tmp_path: Path, wrong: str) -> None:
    """Also from the same address, as behind one router."""

    async def work() -> tuple[list[int], str, list[int]]:
        async with opened(tmp_path, wrong_token_burst=2) as here:
            good = [(await shown(here, each)).bearer for each in (Asker.OWNER, Asker.LOGIN)]
            answers = [await here.ask(Sent("GET", "/v2/me", bearer(wrong))) for _ in range(4)]
            passed = [(await here.ask(Sent("GET", "/v2/me", bearer(each)))).status for each in good]
            other = await here.ask(Sent("GET", "/v2/me", bearer(wrong), address="192.0.2.99"))
            passed.append(other.status)
            here.clock.time += int(answers[-1].headers["retry-after"])
            passed.append((await here.ask(Sent("GET", "/v2/me", bearer(wrong)))).status)
            return [each.status for each in answers], answers[-1].text, passed

    statuses, words, passed = within(work())
    assert statuses == [401, 401, 429, 429]
    assert "the limit is 10 wrong tokens a minute from one address, and 2 at once" in words
    assert passed == [200, 200, 401, 401]


@pytest.mark.parametrize("asker", [Asker.EXPIRED, Asker.REVOKED, Asker.ENDED, Asker.OUTDATED, Asker.DISABLED])
def test_a_token_that_was_good_is_no_guess(tmp_path: Path, asker: Asker) -> None:
    """A program whose login has ended hears that, and logs in again."""

    async def work() -> set[int]:
        async with opened(tmp_path, wrong_token_burst=1) as here:
            token = (await shown(here, asker)).bearer
            return {(await here.ask(Sent("GET", "/v2/me", bearer(token)))).status for _ in range(4)}

    assert within(work()) == {401}
