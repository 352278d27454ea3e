"""What a server is shown, and how its own certificate is checked."""

import ssl
from typing import Any

import pytest

from minicluster.kube_client.credentials import ApiCredentials

SERVER = "https://api.example.org:6443"

HEADERS = [
    pytest.param({}, {}, id="nothing"),
    pytest.param({"token": "t"}, {"Authorization": "Bearer t"}, id="a token"),
    pytest.param({"token": "t", "scheme": "Token"}, {"Authorization": "Token t"}, id="of another scheme"),
    pytest.param(
        {"username": "änna", "password": "p"}, {"Authorization": "Basic w6RubmE6cA=="}, id="a password"
    ),
    pytest.param({"username": "anna", "token": "t"}, {"Authorization": "Bearer t"}, id="no password"),
]


@pytest.mark.parametrize(("given", "headers"), HEADERS)
def test_the_header_shows_who_asks(given: dict[str, Any], headers: dict[str, str]) -> None:
    assert ApiCredentials(server=SERVER, **given).headers() == headers


@pytest.mark.parametrize(
    ("insecure", "mode"),
    [
        pytest.param(False, ssl.CERT_REQUIRED, id="certificates are checked"),
        pytest.param(True, ssl.CERT_NONE, id="unless that is refused"),
    ],
)
def test_the_servers_certificate_is_checked(insecure: bool, mode: ssl.VerifyMode) -> None:
    context = ApiCredentials(server=SERVER, insecure=insecure).ssl_context()
    assert isinstance(context, ssl.SSLContext)
    assert (context.verify_mode, context.check_hostname) == (mode, not insecure)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"server": "http://localhost:8001"}, False),
        ({"server": "http://localhost:8001", "proxy_url": "https://proxy.example.org"}, True),
        ({"server": SERVER}, True),
    ],
    ids=["nothing is encrypted", "its proxy is", "it is"],
)
def test_this_machines_authorities_are_read_where_something_is_encrypted(
    given: dict[str, str], read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts: list[object] = []
    monkeypatch.setattr(ssl, "create_default_context", lambda cafile: contexts.append(cafile) or "a context")
    assert ApiCredentials(**given).ssl_context() == ("a context" if read else True)
    assert contexts == [None] * read


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(ApiCredentials(server=SERVER, token="secret-1", password="secret-2"))
