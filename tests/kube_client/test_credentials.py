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
    assert (context.verify_mode, context.check_hostname) == (mode, not insecure)


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(ApiCredentials(server=SERVER, token="secret-1", password="secret-2"))
