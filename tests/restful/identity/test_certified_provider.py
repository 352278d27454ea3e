"""Logins at a certified OpenID provider: the good flow, and what one between it and the service may try."""

from __future__ import annotations

import base64
import contextlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from joserfc.jwk import RSAKey

from restful.identity import oidc
from restful.identity.oidc import OidcError, OidcSubject
from restful.identity.oidc_logins import OidcLogins
from tests.devcluster.errors import MissingProgramsError
from tests.restful.identity import certified, service
from tests.restful.identity.service import ADDRESS, Service, within

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path


@pytest.fixture(scope="module", params=[True, False], ids=["subject alone", "with claims"])
def issuer(request: pytest.FixtureRequest) -> Iterator[str]:
    """A provider whose ID tokens have the subject alone, as the standard has it, or all claims."""
    try:
        with certified.running(conform=request.param) as found:
            yield found
    except MissingProgramsError as error:
        pytest.skip(f"no certified OpenID provider here: {error}")


def nothing(_: str, __: dict[str, Any]) -> None:
    """Change nothing."""


@dataclass
class Login:
    """One login at the provider, by one who changes what is answered."""

    here: Service
    issuer: str
    change: Callable[[str, Any], object] = nothing
    client: str = "mc"

    @contextlib.asynccontextmanager
    async def _logins(self) -> AsyncIterator[OidcLogins]:
        self.here.clock.time = time.time()
        async with httpx2.AsyncClient(transport=certified.Between(self.change)) as http:
            yield OidcLogins(self.here.identities, certified.provider(self.issuer, self.client), http)

    async def begin(self, page: str = "/jobs") -> tuple[str, str]:
        """Return where the browser goes, and its cookie."""
        async with self._logins() as logins:
            return await logins.begin(page)

    async def finish(self, query: dict[str, str], kept: str) -> tuple[str, str]:
        """Return who logged in, and where he goes."""
        async with self._logins() as logins:
            user, page = await logins.finish(query, kept, ADDRESS)
            return user.name, page

    async def whole(self, name: str, page: str = "/jobs") -> tuple[str, str]:
        """Log in."""
        url, kept = await self.begin(page)
        return await self.finish(await certified.logged_in(url, name), kept)


def test_a_user_logs_in_by_his_name_there_and_is_known_again(issuer: str, tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            found = [await Login(here, issuer).whole("dora") for _ in range(2)]
            found.append(await Login(here, issuer).whole("emil", page="//evil.example"))
            return found, await here.audit()

    found, log = within(work())
    assert found == [("oidc:dora", "/jobs"), ("oidc:dora", "/jobs"), ("oidc:emil", "/")]
    assert log.count(("user.create", "ok")) == 2


def test_a_name_or_an_address_of_somebody_here_makes_nobody_him(issuer: str, tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await here.ensure_admin("root")
            return await Login(here, issuer).whole("root another subject")

    assert within(work()) == ("oidc:root", "/jobs")


def by_alg_none(path: str, answer: dict[str, Any]) -> None:
    if path == "token":
        head = base64.urlsafe_b64encode(json.dumps({"alg": "none"}).encode()).rstrip(b"=").decode()
        answer["id_token"] = f"{head}.{answer['id_token'].split('.')[1]}."


def by_another_key(path: str, answer: dict[str, Any]) -> None:
    if path == "jwks":
        kids = [each["kid"] for each in answer["keys"]]
        answer["keys"] = [
            RSAKey.generate_key(2048, {"kid": kid, "use": "sig"}, private=False).as_dict() for kid in kids
        ]


def without_keys(path: str, answer: dict[str, Any]) -> None:
    if path == "jwks":
        answer["keys"] = []


def of_another_issuer(path: str, answer: dict[str, Any]) -> None:
    if path == "openid-configuration":
        answer["issuer"] = "https://evil.example"


def to_another_endpoint(path: str, answer: dict[str, Any]) -> None:
    if path == "openid-configuration":
        answer["token_endpoint"] = "http://evil.example/token"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(by_alg_none, "the ID token", id="alg none"),
        pytest.param(by_another_key, "the ID token's signature or algorithm is wrong", id="another key"),
        pytest.param(without_keys, "the ID token is signed with an unknown key", id="an unknown key"),
        pytest.param(of_another_issuer, "are of another issuer", id="another issuer"),
        pytest.param(to_another_endpoint, "lack an endpoint with https", id="an endpoint without TLS"),
    ],
)
def test_who_is_between_gets_nobody_in(
    issuer: str, tmp_path: Path, change: Callable[[str, Any], object], words: str
) -> None:
    async def work() -> None:
        async with service.opened(tmp_path) as here:
            await Login(here, issuer, change).whole("dora")

    with pytest.raises(OidcError, match=words):
        within(work())


@pytest.mark.parametrize(
    ("query", "words"),
    [
        pytest.param({"state": "x"}, "the answer belongs to another login", id="state"),
        pytest.param({"iss": "https://evil.example"}, "the answer is of another provider", id="iss"),
        pytest.param({"iss": ""}, "the answer is of another provider", id="without iss"),
        pytest.param({"code": "x"}, "the provider answered 400 in place of JSON", id="code"),
    ],
)
def test_what_a_browser_brings_back_is_checked(
    issuer: str, tmp_path: Path, query: dict[str, str], words: str
) -> None:
    async def work() -> None:
        async with service.opened(tmp_path) as here:
            login = Login(here, issuer)
            url, kept = await login.begin()
            came = {**await certified.logged_in(url, "dora"), **query}
            await login.finish({name: each for name, each in came.items() if each}, kept)

    with pytest.raises(OidcError, match=words):
        within(work())


@pytest.mark.parametrize(
    ("client", "words"),
    [
        pytest.param("mc", "the ID token belongs to another login", id="nonce"),
        pytest.param("another", "the ID token is for another client", id="aud"),
    ],
)
def test_an_id_token_of_another_login_is_refused(
    issuer: str, tmp_path: Path, client: str, words: str
) -> None:
    """It is whole and signed; who is between puts it in place of the one of this login."""

    async def work() -> None:
        stolen: list[str] = []

        def steal(path: str, answer: dict[str, Any]) -> None:
            if path == "token":
                stolen.append(answer["id_token"])

        def put(path: str, answer: dict[str, Any]) -> None:
            if path == "token":
                answer["id_token"] = stolen[0]

        async with service.opened(tmp_path) as here:
            await Login(here, issuer, steal, client).whole("mallory")
            await Login(here, issuer, put).whole("dora")

    with pytest.raises(OidcError, match=words):
        within(work())


def test_what_is_stated_of_another_user_names_nobody() -> None:
    subject, provider = (
        OidcSubject("https://idp.example", "dora", ""),
        certified.provider("https://idp.example"),
    )
    with pytest.raises(OidcError, match="is about another one"):
        oidc.named(provider, subject, {"sub": "mallory", "preferred_username": "root"})
    assert oidc.named(provider, subject, {"sub": "dora", "preferred_username": "dora"}).name == "dora"


def test_a_code_is_good_for_its_own_login_alone(issuer: str, tmp_path: Path) -> None:
    """The provider compares the verifier (PKCE) with the challenge of the login that the code is of."""

    async def work() -> None:
        async with service.opened(tmp_path) as here:
            victim, thief = Login(here, issuer), Login(here, issuer)
            code = (await certified.logged_in((await victim.begin())[0], "dora"))["code"]
            url, kept = await thief.begin()
            await thief.finish({**await certified.logged_in(url, "mallory"), "code": code}, kept)

    with pytest.raises(OidcError, match="the provider answered 400 in place of JSON"):
        within(work())
