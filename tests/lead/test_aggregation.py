"""The door serves an API of the API server's: only its front proxy is believed, and in nothing else."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.lead_server import files
from minicluster.lead_server.aggregation import Aggregation
from minicluster.lead_server.errors import FilesUnusable
from minicluster.lead_server.front_proxy import Identity
from minicluster.lead_server.routes import AggregatedRequest, Audience, Text
from minicluster.lead_server.server import Server
from tests.lead.client import DEADLINE
from tests.lead.keys import NAME, Authority
from tests.lead.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READERS, HOST = "mc-0.mc.research.svc", "mc-metrics.research.svc"
AUTOSCALER = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
PROXY = "front-proxy-client"
REFUSED = r"(?i)unknown.ca|decrypt|reset|closed|EOF|broken|alert"
APIS = "/apis/custom.metrics.k8s.io"


class LeadApi:
    """A door that serves an API; all authorities have one name."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.secret = folder, folder / "readers"
        self.own, self.serving, self.clients, self.front = (Authority() for _ in range(4))
        self.own.write(folder / "door")
        self.serving.issue(self.secret, HOST)
        self.leave(
            **{
                "ca.crt": self.clients.certificate,
                "requestheader-client-ca-file": self.front.certificate,
                "requestheader-allowed-names": json.dumps([PROXY]),
                "apis-host": HOST,
            }
        )
        self.log: list[str] = []
        self.asked: list[AggregatedRequest] = []
        self.credentials = files.ServerCredentials(str(folder / "door"), self.log.append, str(self.secret))
        routes: Any = {"/metrics": {"GET": lambda _query, _body: Text("numbers\n", "text/plain")}}
        audiences = {"/metrics": Audience.METRICS}
        passed = {"apis": self.answer}
        self.server = Server(0, self.credentials, routes, self.log.append, audiences, passed)

    def leave(self, **texts: str) -> None:
        """Write files of the document's Secret."""
        for name, text in texts.items():
            (self.secret / name).write_text(text)

    def answer(self, request: AggregatedRequest) -> Text:
        self.asked.append(request)
        return Text("{}\n", "application/json", 200 if request.may_read else 403)

    @contextlib.contextmanager
    def connected(
        self, client: Authority | None, common_name: str = PROXY, name: str = HOST
    ) -> Iterator[http.client.HTTPConnection]:
        """Have a connection by a certificate of a client's."""
        context = ssl.create_default_context(cadata=(self.own if name == NAME else self.serving).certificate)
        context.check_hostname = False  # the certificate is for one of the names
        if client is not None:
            client.issue(self.folder / "client", common_name)
            context.load_cert_chain(self.folder / "client" / "tls.crt", self.folder / "client" / "tls.key")
        plain = socket.create_connection(("127.0.0.1", self.server.port), DEADLINE)
        with contextlib.closing(http.client.HTTPConnection(name)) as connection:
            connection.sock = context.wrap_socket(plain, server_hostname=name)
            yield connection

    def ask(
        self,
        client: Authority | None,
        path: str = APIS,
        name: str = HOST,
        common_name: str = PROXY,
        **headers: str,
    ) -> int:
        """Ask, and return the status code. Raises OSError."""
        with self.connected(client, common_name, name) as connection:
            return ask(connection, path, **headers)


def ask(
    connection: http.client.HTTPConnection, path: str = APIS, user: str = AUTOSCALER, **headers: str
) -> int:
    """Ask as the front proxy does."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    connection.request("GET", path, headers={**({"X-Remote-User": user} if user else {}), **named})
    answer = connection.getresponse()
    answer.read()
    return answer.status


@pytest.fixture
def lead_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LeadApi]:
    monkeypatch.setattr(files, "POLL_INTERVAL", 0.0)
    made = LeadApi(tmp_path)
    with serving(made.server):
        yield made


def test_the_front_proxys_requests_are_passed_on(lead_api: LeadApi) -> None:
    path = f"{APIS}/v1beta2/a%2Fb?labelSelector=x%3Dy"
    assert lead_api.ask(lead_api.front, path, X_Remote_Group="a", Accept="*/*") == 200
    [asked] = lead_api.asked
    assert asked == AggregatedRequest(
        "GET", f"{APIS}/v1beta2/a%2Fb", {"labelSelector": "x=y"}, "*/*", Identity(AUTOSCALER, ("a",)), True
    )


def test_a_connection_is_kept(lead_api: LeadApi) -> None:
    with lead_api.connected(lead_api.front) as connection:
        assert [ask(connection) for _ in range(3)] == [200] * 3


class TestOthers:
    """Whatever headers they send."""

    def test_without_a_certificate(self, lead_api: LeadApi) -> None:
        assert lead_api.ask(None) == 401

    def test_another_name_of_its_authority(self, lead_api: LeadApi) -> None:
        assert lead_api.ask(lead_api.front, common_name="somebody") == 401

    @pytest.mark.parametrize("whose", ["clients", "serving", "own"])
    def test_another_authority(self, lead_api: LeadApi, whose: str) -> None:
        """Those of readers, too; all the authorities here have one name."""
        with pytest.raises(OSError, match=REFUSED):
            lead_api.ask(getattr(lead_api, whose))

    def test_a_reader_by_the_readers_name(self, lead_api: LeadApi) -> None:
        assert lead_api.ask(lead_api.clients, name=READERS) == 403

    @pytest.mark.parametrize("name", [HOST, READERS])
    def test_a_token(self, lead_api: LeadApi, name: str) -> None:
        """The door's own says that there is nothing, that for metrics that it is none of its business."""
        found = [
            lead_api.ask(None, name=name, Authorization=f"Bearer {token.decode()}")
            for token in (lead_api.credentials.token, lead_api.credentials.tokens["metrics"])
        ]
        assert found == ([401, 401] if name == HOST else [404, 403])

    def test_the_front_proxy_that_does_not_name_who_asks(self, lead_api: LeadApi) -> None:
        with lead_api.connected(lead_api.front) as connection:
            assert ask(connection, user="") == 401

    def test_nobody_was_passed_on(self, lead_api: LeadApi) -> None:
        for client, name in ((None, HOST), (lead_api.clients, READERS)):
            lead_api.ask(client, name=name)
        assert lead_api.asked == []


class TestFrontProxy:
    """Its certificate is good for nothing else."""

    def test_metrics(self, lead_api: LeadApi) -> None:
        assert lead_api.ask(lead_api.front, "/metrics") == 401

    def test_by_another_name(self, lead_api: LeadApi) -> None:
        for name in (READERS, NAME):
            with pytest.raises(OSError, match=REFUSED):
                lead_api.ask(lead_api.front, "/metrics", name)

    def test_readers_have_theirs_as_before(self, lead_api: LeadApi) -> None:
        assert lead_api.ask(lead_api.clients, "/metrics", READERS) == 200

    def test_no_session_is_resumed(self, lead_api: LeadApi) -> None:
        """As one that a former front proxy has begun, or a reader."""
        with lead_api.connected(lead_api.front) as connection:
            assert isinstance(connection.sock, ssl.SSLSocket)
            assert (ask(connection), connection.sock.version()) == (200, "TLSv1.3")
            session = connection.sock.session
        assert session is None or not session.has_ticket


class TestWhoMayRead:
    @pytest.mark.parametrize(
        ("user", "groups", "code"),
        [
            (AUTOSCALER, "system:authenticated", 200),
            ("system:kube-aggregator", "system:masters", 200),
            ("jane", "system:authenticated", 403),
            ("system:masters", "", 403),
        ],
    )
    def test_by_default_autoscalers_and_masters(
        self, lead_api: LeadApi, user: str, groups: str, code: int
    ) -> None:
        with lead_api.connected(lead_api.front) as connection:
            assert ask(connection, user=user, X_Remote_Group=groups) == code

    def test_the_document_may_name_others(self, lead_api: LeadApi) -> None:
        lead_api.leave(**{"apis-users": '["jane"]', "apis-groups": '["team"]'})
        codes = []
        for user, group in (("jane", ""), ("joe", "team"), (AUTOSCALER, ""), ("team", "jane")):
            with lead_api.connected(lead_api.front) as connection:
                codes.append(ask(connection, user=user, X_Remote_Group=group))
        assert codes == [200, 200, 403, 403]

    def test_headers_may_have_other_names(self, lead_api: LeadApi) -> None:
        lead_api.leave(
            **{
                "requestheader-username-headers": '["X-User"]',
                "requestheader-group-headers": '["X-Group"]',
            }
        )
        assert lead_api.ask(lead_api.front) == 401
        assert lead_api.ask(lead_api.front, X_User="jane", X_Remote_Group="system:masters") == 403
        assert lead_api.ask(lead_api.front, X_User="jane", X_Group="system:masters") == 200


class TestChange:
    def test_a_former_front_proxy_is_not_believed_any_more(self, lead_api: LeadApi) -> None:
        """Not even on the connection that it has."""
        with lead_api.connected(lead_api.front) as connection:
            assert ask(connection) == 200
            other = Authority()
            lead_api.leave(**{"requestheader-client-ca-file": other.certificate})
            assert ask(connection) == 401
        with pytest.raises(OSError, match=REFUSED):
            lead_api.ask(lead_api.front)
        assert lead_api.ask(other) == 200

    def test_a_new_certificate_breaks_no_connection(self, lead_api: LeadApi) -> None:
        with lead_api.connected(lead_api.front) as connection:
            assert ask(connection) == 200
            lead_api.serving = Authority()
            lead_api.serving.issue(lead_api.secret, HOST)
            assert ask(connection) == 200
        assert lead_api.ask(lead_api.front) == 200

    def test_without_the_files_it_is_served_no_more(self, lead_api: LeadApi) -> None:
        (lead_api.secret / "apis-host").unlink()
        for name in ("requestheader-client-ca-file", "requestheader-allowed-names"):
            (lead_api.secret / name).unlink()
        assert lead_api.ask(None) == 401
        with pytest.raises(OSError, match=REFUSED):
            lead_api.ask(lead_api.front)
        assert lead_api.log == []

    def test_while_they_are_no_good_those_from_before_stay(self, lead_api: LeadApi) -> None:
        lead_api.leave(**{"requestheader-allowed-names": "nonsense"})
        assert lead_api.ask(lead_api.front) == 200
        [entry] = lead_api.log
        assert entry.startswith(
            f"the API server's front proxy: {lead_api.secret}: requestheader-allowed-names is"
        )
        assert entry.endswith("; that from before is believed")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"apis-host": ""}, "apis-host: the name of the APIService's Service is right: NAME.NAMESPACE.svc"),
        ({"apis-host": "*.svc"}, "apis-host: the name of"),
        ({"requestheader-client-ca-file": ""}, "there is no requestheader-client-ca-file"),
        ({"requestheader-client-ca-file": "x"}, "requestheader-client-ca-file holds no certificates"),
        ({"apis-users": '"jane"'}, "apis-users is no list of texts in JSON"),
        ({"apis-groups": "[1]"}, "apis-groups is no list of texts in JSON"),
    ],
    ids=["no host", "a pattern", "no authority", "nonsense", "no list", "numbers"],
)
def test_what_is_wrong_is_reported(change: dict[str, str], message: str) -> None:
    right = {"apis-host": HOST, "requestheader-client-ca-file": Authority().certificate}
    assert Aggregation.of(right).host == HOST
    with pytest.raises(FilesUnusable, match=message):
        Aggregation.of({**right, **change})


def test_one_that_was_no_good_from_the_beginning_is_reported(tmp_path: Path) -> None:
    """Readers have their certificate all the same."""
    Authority().write(tmp_path / "door")
    Authority().issue(tmp_path / "readers", READERS)
    (tmp_path / "readers" / "apis-host").write_text(HOST)
    log: list[str] = []
    found = files.ServerCredentials(str(tmp_path / "door"), log.append, str(tmp_path / "readers"))
    assert found.aggregation is None
    assert (len(log), log[0].endswith("; nobody is believed to be it")) == (1, True)
