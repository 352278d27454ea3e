"""The HTTPS server by itself: who is let in, by which token and over which TLS."""

from __future__ import annotations

import socket
import ssl
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.lead.client import DEADLINE, Client
from tests.lead.keys import NAME, Authority
from tests.lead.server.served import Served, talk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="none"),
        pytest.param({"Authorization": "Bearer"}, id="no token"),
        pytest.param({"Authorization": "Bearer wrong"}, id="wrong token"),
        pytest.param({"Authorization": "Basic {token}"}, id="other scheme"),
        pytest.param({"Authorization": "{token}"}, id="no scheme"),
        pytest.param({"Authorization": "Bearer {token}x"}, id="longer"),
        pytest.param({"Authorization": "Bearer \u00e9"}, id="not ascii"),
    ],
)
@pytest.mark.parametrize("path", ["/echo", "/nowhere"])
def test_without_the_token(lead_api: Client, served: Served, headers: dict[str, str], path: str) -> None:
    """401 and nothing else, whatever was asked for."""
    headers = {key: value.format(token=lead_api.token) for key, value in headers.items()}
    assert lead_api.ask("POST", path, {"ranks": "1"}, headers) == (401, None)
    assert served.bodies == []


def test_the_scheme_is_named(lead_api: Client) -> None:
    """As HTTP wants it of a 401."""
    with closing(lead_api.keep()) as connection:
        connection.request("GET", "/echo")
        response = connection.getresponse()
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert response.headers["Connection"] == "close"


def test_two_authorizations_are_none(lead_api: Client) -> None:
    """A proxy might look at the other one."""
    header = f"Authorization: Bearer {lead_api.token}\r\n"
    assert talk(lead_api, f"GET /echo HTTP/1.1\r\n{header}{header}\r\n".encode()).startswith(b"HTTP/1.1 401")


def test_the_scheme_may_be_written_in_any_case(lead_api: Client) -> None:
    """RFC 9110."""
    assert lead_api.ask("GET", "/echo", headers={"Authorization": f"bearer  {lead_api.token}"})[0] == 200


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(
            {"name": "other.door.minicluster"}, "Hostname mismatch", id="another MiniCluster's name"
        ),
        pytest.param(
            {"authority": Authority().certificate}, "signature failure|self-signed|unable to get", id="CA"
        ),
    ],
)
def test_a_client_names_the_wrong_server(lead_api: Client, change: dict[str, str], reason: str) -> None:
    """By its certificate."""
    other = Client(
        **{"port": lead_api.port, "authority": lead_api.authority, "token": lead_api.token, **change}
    )
    with pytest.raises(ssl.SSLCertVerificationError, match=reason):
        other.connection()


def test_old_tls_is_refused(lead_api: Client) -> None:
    """1.2 is the oldest."""
    context = ssl.create_default_context(cadata=lead_api.authority)
    context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with (
        socket.create_connection(("127.0.0.1", lead_api.port), DEADLINE) as plain,
        pytest.raises(OSError, match=r"alert|version|reset|EOF|closed"),
    ):
        context.wrap_socket(plain, server_hostname=NAME)


def raw(lead_api: Client, path: str, token: str = "") -> tuple[int, str | None, str]:
    """The code, the Content-Type and the text of an answer."""
    with closing(lead_api.keep()) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()


def test_text_is_sent_as_it_is(lead_api: Client) -> None:
    assert raw(lead_api, "/text", lead_api.token) == (503, "text/plain", "plain\n")


def test_parts_are_sent_as_they_are(lead_api: Client) -> None:
    assert raw(lead_api, "/pieces", lead_api.token) == (200, "text/event-stream", "data: 1\n\ndata: 2\n\n")


@pytest.mark.parametrize(
    ("path", "whole", "metrics", "none"),
    [
        pytest.param("/echo", 200, 403, 401, id="the-doors-own"),
        pytest.param("/nothing", 404, 403, 401, id="nothing"),
        pytest.param("/text", 503, 503, 401, id="metrics"),
        pytest.param("/health", 200, 200, 200, id="everybody"),
    ],
)
def test_who_may_ask(
    lead_api: Client, keys: tuple[Authority, str, Path], path: str, whole: int, metrics: int, none: int
) -> None:
    """With the door's token, with that for metrics, without one."""
    token = (keys[2] / "metrics.token").read_text().strip()
    assert [raw(lead_api, path, each)[0] for each in (lead_api.token, token, "")] == [whole, metrics, none]
