"""Logging in at an OpenID provider: the good flow, and each answer that is not believed."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import ECKey, OctKey

from restful.identity import linked_users, oidc
from restful.identity.oidc import OidcError
from restful.identity.oidc_logins import OidcLogins
from tests.restful.identity import service
from tests.restful.identity.provider import ISSUER, KEY, PROVIDER, FakeProvider
from tests.restful.identity.service import ADDRESS, START, Service, within

Change = Callable[[FakeProvider], None]
OTHER = ECKey.generate_key("P-256", {"kid": "one"}, private=True)


def setting(**values: Any) -> Change:
    """Return what sets members of a provider."""

    def change(provider: FakeProvider) -> None:
        for name, value in values.items():
            setattr(provider, name, value)

    return change


def claiming(**values: Any) -> Change:
    """Return what sets claims."""
    return lambda provider: provider.claims.update(values)


def by_alg_none(provider: FakeProvider) -> None:
    body = {"iss": ISSUER, "aud": "mc", "sub": "x", "exp": START + 300}
    parts = [base64.urlsafe_b64encode(json.dumps(each).encode()) for each in ({"alg": "none"}, body)]
    provider.token = ".".join([*(each.rstrip(b"=").decode() for each in parts), ""])


def by_client_secret(provider: FakeProvider) -> None:
    provider.key = OctKey.import_key(PROVIDER.client_secret)
    provider.header = {"alg": "HS256"}


async def logged_in(
    here: Service, provider: FakeProvider, page: str = "/jobs", **query: str
) -> tuple[str, str, str]:
    """Return the name and the id of who logged in, and where he goes."""
    async with provider.client() as client:
        logins = OidcLogins(here.identities, PROVIDER, client)
        url, kept = await logins.begin(page)
        answer = {**provider.log_in(url), **query}
        user, where = await logins.finish(
            {name: each for name, each in answer.items() if each}, kept, ADDRESS
        )
        return user.name, user.id, where


def test_a_user_logs_in_and_is_known_again(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            provider = FakeProvider(START)
            first = await logged_in(here, provider)
            provider.claims["preferred_username"] = "renamed"
            return first, await logged_in(here, provider), await here.audit(), provider.sent

    first, again, log, sent = within(work())
    assert first == again
    assert (first[0], first[2]) == ("oidc:dora", "/jobs")
    assert log == [("user.create", "ok"), ("login", "ok"), ("login", "ok")]
    assert (sent["response_type"], sent["code_challenge_method"]) == (["code"], ["S256"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(claiming(nonce="another"), "the ID token belongs to another login", id="nonce"),
        pytest.param(claiming(nonce=None), "the ID token belongs to another login", id="no nonce"),
        pytest.param(claiming(iss="https://evil.example"), "the ID token is of another issuer", id="iss"),
        pytest.param(claiming(aud="other"), "the ID token is for another client", id="aud"),
        pytest.param(claiming(aud=["mc", "other"]), "the ID token is for several clients", id="azp"),
        pytest.param(claiming(exp=START - 61), "the ID token has expired", id="exp"),
        pytest.param(claiming(exp="never"), "the ID token has expired", id="exp is no number"),
        pytest.param(claiming(iat=START + 90), "the ID token is of the future", id="iat"),
        pytest.param(claiming(iat=None), "the ID token has no time", id="no iat"),
        pytest.param(claiming(sub=""), "the ID token has no subject", id="sub"),
        pytest.param(claiming(sub="a\0"), "the ID token has no subject", id="sub with a NUL"),
        pytest.param(by_alg_none, "the ID token's signature or algorithm is wrong", id="alg none"),
        pytest.param(by_client_secret, "the ID token's signature or algorithm is wrong", id="HS256"),
        pytest.param(setting(key=OTHER), "the ID token's signature or algorithm is wrong", id="another key"),
        pytest.param(setting(header={"kid": "x"}), "the ID token is signed with an unknown key", id="kid"),
        pytest.param(setting(keys=[]), "the ID token is signed with an unknown key", id="no keys"),
        pytest.param(setting(keys="x"), "the ID token is signed with an unknown key", id="keys are no list"),
        pytest.param(setting(keys=[{"kty": "EC", "kid": "one"}]), "key cannot be read", id="no key"),
        pytest.param(setting(token="x"), "the ID token cannot be read", id="no token"),
        pytest.param(
            setting(metadata={"issuer": "https://evil.example"}), "of another issuer", id="metadata"
        ),
        pytest.param(
            setting(metadata={"token_endpoint": "http://idp.example/token"}), "endpoint with https", id="http"
        ),
        pytest.param(
            setting(metadata={"jwks_uri": f"{ISSUER}/gone"}), "the provider answered 404 in place", id="404"
        ),
    ],
)
def test_an_answer_that_is_not_believed(tmp_path: Path, change: Change, message: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            provider = FakeProvider(START)
            change(provider)
            with pytest.raises(OidcError) as caught:
                await logged_in(here, provider)
            return str(caught.value)

    found = within(work())
    assert message in found
    assert PROVIDER.client_secret not in found


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param({"state": "another"}, "the answer belongs to another login", id="state"),
        pytest.param({"state": ""}, "the answer belongs to another login", id="no state"),
        pytest.param({"iss": "https://evil.example"}, "the answer is of another provider", id="iss"),
        pytest.param({"error": "access_denied\n"}, "the provider refused: 'access_denied\\n'", id="refused"),
        pytest.param({"code": ""}, "the answer has no code", id="no code"),
        pytest.param({"code": "bad"}, "the provider answered 400", id="another code"),
    ],
)
def test_a_browser_that_comes_back_otherwise(tmp_path: Path, query: dict[str, str], message: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            with pytest.raises(OidcError) as caught:
                await logged_in(here, FakeProvider(START), **query)
            return str(caught.value)

    assert message in within(work())


def test_a_provider_that_states_its_name_must_state_it(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            metadata = {"authorization_response_iss_parameter_supported": True}
            with pytest.raises(OidcError) as caught:
                await logged_in(here, FakeProvider(START, metadata=metadata), iss="")
            return str(caught.value)

    assert within(work()) == "the answer is of another provider"


@pytest.mark.parametrize("name", ["", "root"])
def test_a_name_or_an_address_of_somebody_here_takes_nobody_over(tmp_path: Path, name: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            root = await here.ensure_admin("root")
            headers = await here.headers("root")
            await here.client.patch(
                f"/v2/users/{root.id}", json={"email": "root@example.org"}, headers=headers
            )
            claims = {"sub": "mallory", "email": "root@example.org", "email_verified": True}
            provider = FakeProvider(START, claims={**claims, "preferred_username": name})
            return root.id, await logged_in(here, provider)

    root, found = within(work())
    assert found[1] != root
    assert found[0] == ("oidc:root" if name else "oidc:052ded711da7f")


def test_a_name_that_another_one_there_has_is_not_given_again(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            await logged_in(here, FakeProvider(START))
            claims = {"sub": "mallory", "preferred_username": "dora"}
            with pytest.raises(OidcError) as caught:
                await logged_in(here, FakeProvider(START, claims=claims))
            return str(caught.value)

    assert within(work()) == "the name oidc:dora is somebody else's here; ask an admin"


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        pytest.param("Dora", "oidc:dora", id="a name"),
        pytest.param("a" * 58, "oidc:" + "a" * 58, id="the longest"),
        pytest.param("a" * 59, None, id="too long"),
        pytest.param("0abc", None, id="a digit first"),
        pytest.param("oidc:dora", None, id="a colon"),
        pytest.param("", None, id="none"),
    ],
)
def test_what_a_providers_user_is_called(stated: str, expected: str | None) -> None:
    found = linked_users.name_from_provider(ISSUER, "42", stated)
    assert re.fullmatch(r"oidc:0[0-9a-f]{12}", found) if expected is None else found == expected


@given(st.text(), st.text())
def test_no_account_of_the_machine_is_called_as_a_providers_user(stated: str, subject: str) -> None:
    found = linked_users.name_from_provider(ISSUER, subject, stated)
    assert linked_users.NAME.fullmatch(found) is None
    assert len(found) <= linked_users.NAME_LENGTH
    assert linked_users.is_from_provider(found)


def test_a_disabled_user_does_not_come_in_by_his_provider(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            _, user, _ = await logged_in(here, FakeProvider(START))
            await here.ensure_admin("root")
            headers = await here.headers("root")
            await here.client.patch(f"/v2/users/{user}", json={"state": "disabled"}, headers=headers)
            with pytest.raises(OidcError, match="the user may not log in"):
                await logged_in(here, FakeProvider(START))
            return await here.audit()

    assert ("login", "denied") in within(work())


@pytest.mark.parametrize("kept", ["", "x", "AAAA", base64.urlsafe_b64encode(b"x" * 60).decode()])
def test_a_browser_without_a_login_under_way(tmp_path: Path, kept: str) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            logins = OidcLogins(here.identities, PROVIDER, FakeProvider(START).client())
            with pytest.raises(OidcError, match="this browser has no login under way; try again"):
                await logins.finish({"code": "x"}, kept, ADDRESS)
            return True

    assert within(work())


def test_a_login_takes_ten_minutes_at_most(tmp_path: Path) -> None:
    async def work() -> Any:
        async with service.opened(tmp_path) as here:
            provider = FakeProvider(START)
            logins = OidcLogins(here.identities, PROVIDER, provider.client())
            url, kept = await logins.begin("/")
            here.clock.time += 600
            with pytest.raises(OidcError, match="the login took too long; try again"):
                await logins.finish(provider.log_in(url), kept, ADDRESS)
            return kept

    assert KEY.kid not in within(work())


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param("/jobs?state=running", "/jobs?state=running", id="a page"),
        pytest.param("https://evil.example", "/", id="another site"),
        pytest.param("//evil.example", "/", id="another host"),
        pytest.param("/\\evil.example", "/", id="a backslash"),
        pytest.param("/\n/evil.example", "/", id="a line feed"),
        pytest.param("javascript:alert(1)", "/", id="a script"),
        pytest.param("", "/", id="nothing"),
    ],
)
def test_where_a_user_goes_after_a_login(wanted: str, expected: str) -> None:
    assert oidc.page_within(wanted) == expected


@given(st.text())
def test_a_user_never_leaves_this_service(wanted: str) -> None:
    found = oidc.page_within(wanted)
    assert found.startswith("/")
    assert not found.startswith(("//", "/\\"))


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    attempt = oidc.Attempt("a state", "a nonce", "a verifier", 1.0, "/")
    assert not any(each in repr(attempt) for each in ("a state", "a nonce", "a verifier"))
    assert PROVIDER.client_secret not in repr(PROVIDER)
