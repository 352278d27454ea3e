"""Other ways to log in: which options go together, and what they stand for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from restful.cli import login_options, login_providers
from restful.cli.errors import ServeError, WrongOptions
from restful.cli.login_options import LoginOptions
from restful.identity.pam_accounts import PamAccounts
from restful.identity.settings import IdentitySettings
from tests.restful.identity import service
from tests.restful.identity.service import within

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "client's secret at the provider"
ISSUER = "https://idp.example"


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(LoginOptions(), id="none"),
        pytest.param(LoginOptions(ISSUER, "mc", "/run/secret"), id="a provider"),
        pytest.param(
            LoginOptions("https://idp.example:8443/realms/x", "mc", "/run/secret"), id="with a path"
        ),
        pytest.param(LoginOptions("http://127.0.0.1:9000", "mc", "/run/secret"), id="on this machine"),
        pytest.param(LoginOptions("http://127.0.0.2:9000", "mc", "/run/secret"), id="loopback"),
        pytest.param(LoginOptions(pam="minicluster"), id="pam"),
        pytest.param(LoginOptions(pam="minicluster", pam_allow=("dora", "@hpc")), id="pam for some"),
    ],
)
def test_options_that_go_together(options: LoginOptions) -> None:
    login_options.check(options, login=True)
    assert options.any is (options != LoginOptions())


@pytest.mark.parametrize(
    ("options", "login", "message"),
    [
        (
            LoginOptions(ISSUER),
            True,
            "go together: give --oidc-client-id and --oidc-client-secret-file as well",
        ),
        (LoginOptions("", "mc", "/run/secret"), True, "go together: give --oidc-issuer as well"),
        (LoginOptions("http://idp.example", "mc", "x"), True, "--oidc-issuer http://idp.example: needed is"),
        (LoginOptions("https://idp.example?x", "mc", "x"), True, "needed is https://HOST"),
        (LoginOptions("https://a:b@idp.example", "mc", "x"), True, "needed is https://HOST"),
        (LoginOptions("https://[", "mc", "x"), True, "needed is https://HOST"),
        (LoginOptions(pam="../passwd"), True, "--pam ../passwd: needed is the name of a file in /etc/pam.d"),
        (LoginOptions(session_lifetime=60.0), True, "--session-lifetime 60s: needed is from 15m to 90d"),
        (LoginOptions(session_lifetime=1e8), True, "--session-lifetime 1e+08s: needed is from 15m to 90d"),
        (LoginOptions(pam_allow=("dora",)), True, "--pam-allow is about logins by PAM: give --pam as well"),
        (
            LoginOptions(pam="login", pam_allow=("a:b",)),
            True,
            "--pam-allow a:b: needed is the name of a user",
        ),
        (LoginOptions(pam="login"), False, "--no-auth needs no login: leave out --no-auth, or"),
    ],
)
def test_options_that_do_not(options: LoginOptions, login: bool, message: str) -> None:
    with pytest.raises(WrongOptions) as caught:
        login_options.check(options, login=login)
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [SECRET, f"{SECRET}\n", f"{SECRET}\r\n"])
def test_a_secret_is_read_without_its_lines_end(tmp_path: Path, content: str) -> None:
    file = tmp_path / "secret"
    file.write_bytes(content.encode())
    found = login_providers.load(LoginOptions(ISSUER, "mc", str(file)))
    assert found.oidc is not None
    assert (found.oidc.issuer, found.oidc.id, found.oidc.secret) == (ISSUER, "mc", SECRET)
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "No such file or directory", id="absent"),
        pytest.param(b"", "needed is one line with the secret", id="empty"),
        pytest.param(b"\n", "needed is one line with the secret", id="an empty line"),
        pytest.param(b"a\nb", "needed is one line with the secret", id="two lines"),
        pytest.param(b"x" * 5000, "of 4096 bytes at most", id="long"),
        pytest.param(b"\xff", "is no text", id="no text"),
    ],
)
def test_a_file_without_a_secret(tmp_path: Path, content: bytes | None, message: str) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ServeError) as caught:
        login_providers.load(LoginOptions(ISSUER, "mc", str(file)))
    assert f"--oidc-client-secret-file {file}: " in str(caught.value)
    assert message in str(caught.value)


def test_a_provider_leads_back_to_the_page(tmp_path: Path) -> None:
    async def test() -> tuple[str, str, bool]:
        async with service.opened(tmp_path) as here:
            client = login_providers.OidcClient(ISSUER, "mc", SECRET)
            found = login_providers.oidc_logins(client, here.identities)
            assert found is not None
            await found.http.aclose()
            return found.provider.redirect_uri, found.provider.client_secret, found.http.follow_redirects

    assert within(test()) == ("https://mc.example/callback", SECRET, False)


def test_a_browsers_session_lives_as_long_as_is_asked_for() -> None:
    assert login_options.lifetime(login_options.SESSION_LIFETIME) == IdentitySettings().session_lifetime
    assert login_options.lifetime("12h") == 12 * 3600.0
    assert login_providers.load(LoginOptions(session_lifetime=3600.0)).session_lifetime == 3600.0


def test_a_lifetime_that_is_none() -> None:
    with pytest.raises(WrongOptions, match="--session-lifetime 'x'"):
        login_options.lifetime("x")


def test_without_options_there_is_nobody_else(tmp_path: Path) -> None:
    found = login_providers.load(LoginOptions())
    assert (found.authenticators, found.oidc) == ((), None)

    async def test() -> object:
        async with service.opened(tmp_path) as here:
            return login_providers.oidc_logins(found.oidc, here.identities)

    assert within(test()) is None


def test_pam_is_asked_about_the_service_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[object]()

    def authenticate(name: str, password: str, service: str) -> bool:
        asked.append((name, password, service))
        return True

    (tmp_path / "sshd").write_text("auth required pam_unix.so\n")
    monkeypatch.setattr(login_providers, "PAM_FOLDER", tmp_path)
    monkeypatch.setattr("importlib.import_module", lambda _: SimpleNamespace(authenticate=authenticate))
    monkeypatch.setattr(PamAccounts, "admits", lambda _, name: name == "dora")
    found = login_providers.load(LoginOptions(pam="sshd")).authenticators
    assert [each.issuer for each in found] == ["pam"]
    assert within(found[0].authenticate("dora", "there"))
    assert not within(found[0].authenticate("root", "there"))
    assert asked == [("dora", "there", "sshd")]


def test_who_logs_in_by_pam_does_not_become_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    login_providers.require_no_root(LoginOptions(ISSUER, "mc", "/run/secret"))
    with pytest.raises(ServeError, match="--pam as root: all jobs run as the user of this service, so each"):
        login_providers.require_no_root(LoginOptions(pam="sshd"))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    login_providers.require_no_root(LoginOptions(pam="sshd"))


def test_a_service_of_pam_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_providers, "PAM_FOLDER", tmp_path)
    with pytest.raises(ServeError, match=rf"--pam sshd: there is no file {tmp_path}/sshd"):
        login_providers.load(LoginOptions(pam="sshd"))


def test_pam_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ImportError("pam")

    (tmp_path / "sshd").write_text("auth required pam_unix.so\n")
    monkeypatch.setattr(login_providers, "PAM_FOLDER", tmp_path)
    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(ServeError, match="--pam needs a package that is not installed"):
        login_providers.load(LoginOptions(pam="sshd"))
