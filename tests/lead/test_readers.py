"""The document's own certificate for readers of metrics, and what a client's certificate is good for."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.lead_server import files
from minicluster.lead_server import lead_server as whole
from minicluster.lead_server.errors import FilesUnusable
from minicluster.lead_server.routes import Audience, Text
from minicluster.lead_server.server import Server
from minicluster.plan.objects.keys import LEAD_DOMAIN
from tests.lead.client import DEADLINE
from tests.lead.keys import NAME, Authority
from tests.lead.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOST = "mc-0.mc.research.svc"
REFUSED = r"(?i)unknown.ca|decrypt|reset|closed|EOF|broken"
ROUTES: dict[str, Any] = {
    "/metrics": {"GET": lambda _query, _body: Text("numbers\n", "text/plain")},
    "/v1/status": {"GET": lambda _query, _body: {}},
}


class LeadApi:
    """A door with a certificate for readers, which another authority signed than its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.own, self.readers, self.clients = Authority(), Authority(), Authority()
        self.own.write(folder / "door")
        self.readers.issue(folder / "readers", HOST)
        (folder / "readers" / "ca.crt").write_text(self.clients.certificate)
        self.log: list[str] = []
        self.credentials = files.ServerCredentials(
            str(folder / "door"), self.log.append, str(folder / "readers")
        )
        audiences = {"/metrics": Audience.METRICS}
        self.server = Server(0, self.credentials, ROUTES, self.log.append, audiences)

    def ask(self, path: str, client: Authority | None = None, name: str = HOST, **headers: str) -> int:
        """Ask as a client with a certificate, and return the status code. Raises OSError."""
        authority = self.own if name == NAME else self.readers
        context = ssl.create_default_context(cadata=authority.certificate)
        if client is not None:
            client.issue(self.folder / "client", "prometheus")
            context.load_cert_chain(self.folder / "client" / "tls.crt", self.folder / "client" / "tls.key")
        plain = socket.create_connection(("127.0.0.1", self.server.port), DEADLINE)
        with contextlib.closing(http.client.HTTPConnection(name)) as connection:
            connection.sock = context.wrap_socket(plain, server_hostname=name)
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status


@pytest.fixture
def lead_api(tmp_path: Path) -> Iterator[LeadApi]:
    made = LeadApi(tmp_path)
    with serving(made.server):
        yield made


def test_a_certificate_is_as_good_as_the_token_for_metrics(lead_api: LeadApi) -> None:
    assert lead_api.ask("/metrics", lead_api.clients) == 200


def test_it_is_good_for_nothing_else(lead_api: LeadApi) -> None:
    assert lead_api.ask("/v1/status", lead_api.clients) == 403


def test_without_one_the_token_is_needed_as_before(lead_api: LeadApi) -> None:
    assert lead_api.ask("/metrics") == 401
    token = lead_api.credentials.tokens["metrics"].decode()
    assert lead_api.ask("/metrics", Authorization=f"Bearer {token}") == 200


def test_one_of_another_authority_gets_no_answer(lead_api: LeadApi) -> None:
    with pytest.raises(OSError, match=REFUSED):
        lead_api.ask("/metrics", Authority())


@pytest.mark.parametrize("whose", ["own", "readers"])
def test_only_those_of_the_named_authority_count(lead_api: LeadApi, whose: str) -> None:
    """Not that of the door, nor that of the certificate which readers are shown."""
    with pytest.raises(OSError, match=REFUSED):
        lead_api.ask("/metrics", getattr(lead_api, whose))


def test_the_operator_is_shown_the_leads_own(lead_api: LeadApi) -> None:
    assert lead_api.ask("/metrics", name=NAME) == 401
    token = lead_api.credentials.token.decode()
    assert lead_api.ask("/v1/status", name=NAME, Authorization=f"Bearer {token}") == 200


def test_a_certificate_counts_by_the_readers_name_alone(lead_api: LeadApi) -> None:
    with pytest.raises(OSError, match=REFUSED):
        lead_api.ask("/metrics", lead_api.clients, NAME)


def test_it_may_be_rotated(lead_api: LeadApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the authority of those who read."""
    monkeypatch.setattr(files, "POLL_INTERVAL", 0.0)
    lead_api.readers, before = Authority(), lead_api.clients
    lead_api.readers.issue(lead_api.folder / "readers", HOST)
    lead_api.clients = Authority()
    (lead_api.folder / "readers" / "ca.crt").write_text(lead_api.clients.certificate)
    assert lead_api.ask("/metrics", lead_api.clients) == 200
    with pytest.raises(OSError, match=REFUSED):
        lead_api.ask("/metrics", before)


def test_while_files_are_no_good_those_from_before_stay(
    lead_api: LeadApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "POLL_INTERVAL", 0.0)
    (lead_api.folder / "readers" / "ca.crt").write_text("nonsense")
    assert lead_api.ask("/metrics", lead_api.clients) == 200
    assert [line.rpartition("; ")[2] for line in lead_api.log] == ["that from before stays in use"]
    assert "ca.crt is no certificate" in lead_api.log[0]


def test_without_good_ones_from_the_beginning_the_leads_own_is_shown(tmp_path: Path) -> None:
    """The operator must not be shut out for it."""
    Authority().write(tmp_path)
    log: list[str] = []
    files.ServerCredentials(str(tmp_path), log.append, str(tmp_path / "missing"))
    assert ("tls.crt: No such file" in log[0], log[0].endswith("the lead's own is shown")) == (True, True)


def test_the_lead_server_finds_them_where_broker_toml_has_them(tmp_path: Path) -> None:
    Authority().write(tmp_path)
    log: list[str] = []
    settings = {"directory": str(tmp_path), "metrics-tls": str(tmp_path / "readers")}
    whole.LeadServer(settings, lambda: pytest.fail("no link is needed"), log.append, lambda _: None)
    assert f"cannot read {tmp_path}/readers/tls.crt" in log[0]


@pytest.mark.parametrize(
    ("name", "spoil", "message"),
    [
        ("tls.crt", lambda file: file.write_text("x"), "are no certificate with its key"),
        ("tls.key", lambda file: file.unlink(), "No such file"),
        ("ca.crt", lambda file: file.write_text(""), "is no certificate"),
    ],
    ids=["certificate", "key", "authority"],
)
def test_a_file_that_is_no_good_is_named(
    tmp_path: Path, name: str, spoil: Callable[[Path], object], message: str
) -> None:
    Authority().issue(tmp_path, HOST)
    spoil(tmp_path / name)
    with pytest.raises(FilesUnusable, match=message) as raised:
        files.readers_context(str(tmp_path))
    assert str(tmp_path / name) in str(raised.value)


def test_without_an_authority_there_are_tokens_alone(tmp_path: Path) -> None:
    """A Secret of kind kubernetes.io/tls need not have one."""
    Authority().issue(tmp_path, HOST)
    (tmp_path / "ca.crt").unlink()
    assert files.readers_context(str(tmp_path)).cert_store_stats()["x509_ca"] == 0


def test_both_sides_know_the_leads_domain_by_one_name() -> None:
    assert f".{LEAD_DOMAIN}" == files.DOMAIN
