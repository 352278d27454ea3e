"""What a program learns that asks for another size: where it runs, what is missing, who refuses and why."""

from __future__ import annotations

import http.client
import json
import socket
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import minicluster
from minicluster import within
from minicluster.document.names import PLURAL
from minicluster.plan.constants import API_VERSION
from minicluster.within import context, service_account

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.within.errors import WithinError

FORBIDDEN = (
    'miniclusters.flux-framework.org "mc" is forbidden: User "system:serviceaccount:research:default" cannot'
    ' patch resource "miniclusters/scale" in API group "flux-framework.org" in the namespace "research"'
)
TOO_MANY = {"details": {"causes": [{"message": "Invalid value: size must not be greater than maxSize"}]}}
# What the API server answers: status and body; then the error, and what it says.
REFUSALS = {
    "no-right": (403, {"message": FORBIDDEN}, within.DeniedError, "--serviceaccount=research:default"),
    "no-right-unnamed": (403, {}, within.DeniedError, "--serviceaccount=research:SERVICE_ACCOUNT"),
    "bad-token": (401, {"message": "Unauthorized"}, within.DeniedError, "does not accept the pod's token"),
    "gone": (404, {"message": "not found"}, within.NotInsideError, "MiniCluster mc in namespace research"),
    "too-many": (422, TOO_MANY, within.RefusedError, "cannot have 9 brokers: size must not be greater"),
    "busy": (429, {"message": "later"}, within.UnreachableError, "cannot do it now (429): later"),
    "ill": (500, {"message": "etcd"}, within.UnreachableError, "cannot do it now (500): etcd"),
    "no-json": (400, "<html>", within.RefusedError, "cannot have 9 brokers: <html>"),
}


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (context.NAME, context.CONTROL, "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def pod(tmp_path: Path) -> context.PodContext:
    """A pod of MiniCluster mc, with a token."""
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "namespace").write_text("research")
    return context.PodContext("mc", "research", "api.example.org", 6443, tmp_path)


class Server:
    """The API server as a connection to it; `asked` is what it was asked."""

    def __init__(self, status: int, body: object) -> None:
        self.status = status
        self._text = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.asked: list[Any] = []

    def __call__(self, host: str, port: int, **_: object) -> Server:
        self.asked += [host, port]
        return self

    def request(self, *words: object) -> None:
        self.asked += words

    def getresponse(self) -> Server:
        return self

    def read(self) -> bytes:
        return self._text

    def close(self) -> None:
        self.asked.append("closed")


def played(monkeypatch: pytest.MonkeyPatch, server: object) -> None:
    monkeypatch.setattr(http.client, "HTTPSConnection", server)
    monkeypatch.setattr(service_account, "_trusting", lambda _: None)


def test_nothing_but_the_size_of_this_one_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, pod: context.PodContext
) -> None:
    server = Server(200, {})
    played(monkeypatch, server)
    service_account.scale(pod, 9)
    host, port, method, path, body, headers, last = server.asked
    assert (host, port, method, last) == ("api.example.org", 6443, "PATCH", "closed")
    assert path.partition("?")[0] == f"/apis/{API_VERSION}/namespaces/research/{PLURAL}/mc/scale"
    assert json.loads(body) == {"spec": {"replicas": 9}}
    assert headers["Authorization"] == "Bearer secret"


@pytest.mark.parametrize(("status", "body", "kind", "message"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_reports_why(
    monkeypatch: pytest.MonkeyPatch,
    pod: context.PodContext,
    status: int,
    body: object,
    kind: type[WithinError],
    message: str,
) -> None:
    played(monkeypatch, Server(status, body))
    with pytest.raises(kind) as refused:
        service_account.scale(pod, 9)
    assert message in str(refused.value)
    assert "secret" not in str(refused.value)


def test_an_api_server_that_is_away_is_named(
    monkeypatch: pytest.MonkeyPatch, pod: context.PodContext
) -> None:
    def unreachable(*_: object, **__: object) -> Server:
        raise ConnectionRefusedError(111, "Connection refused")

    server = Server(200, {})
    monkeypatch.setattr(server, "request", unreachable)
    played(monkeypatch, server)
    with pytest.raises(within.UnreachableError, match=r"api\.example\.org:6443 does not answer: .*refused"):
        service_account.scale(pod, 9)
    assert server.asked[-1] == "closed"


@pytest.mark.parametrize("content", [None, b"no certificate"], ids=["absent", "damaged"])
def test_an_authority_that_is_no_good_is_named(pod: context.PodContext, content: bytes | None) -> None:
    if content is not None:
        pod.authority.write_bytes(content)
    with pytest.raises(within.NotInsideError, match=r"authority .*ca\.crt cannot be read"):
        service_account.scale(pod, 9)


@pytest.mark.usefixtures("outside")
def test_outside_of_any_it_reports_it() -> None:
    assert not within.is_inside()
    with pytest.raises(within.NotInsideError, match="does not run inside of a MiniCluster"):
        minicluster.scale(2)


@pytest.mark.usefixtures("outside")
def test_a_pod_without_a_token_reports_how_it_gets_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    environment = {context.NAME: "mc", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    with pytest.raises(within.NotInsideError, match="automountServiceAccountToken: true"):
        context.in_pod(environment, tmp_path)


@pytest.mark.usefixtures("outside")
def test_a_run_in_the_foreground_keeps_its_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(context.CONTROL, str(tmp_path / "control"))
    with pytest.raises(within.NotInsideError, match="begun with `minicluster run` it keeps it"):
        minicluster.scale(2)


@pytest.mark.usefixtures("outside")
def test_none_is_no_size() -> None:
    with pytest.raises(within.RefusedError, match="0 brokers: at least 1"):
        minicluster.scale(0)


def test_both_sides_know_the_kind_by_one_name() -> None:
    found = f"{service_account.GROUP}/{service_account.VERSION}", service_account.PLURAL
    assert found == (API_VERSION, PLURAL)


class Supervisor:
    """A cluster's supervisor, which answers one order."""

    def __init__(self, control: Path, answer: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(control))
        self._listener.listen()
        self._answer = answer
        self.order: dict[str, Any] = {}
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with self._listener, self._listener.accept()[0] as connection:
            self.order = json.loads(connection.makefile("rb").readline())
            connection.sendall(self._answer.encode())

    def ended(self) -> None:
        self._thread.join(20)


@pytest.fixture
def control(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The socket of the cluster that this process runs in."""
    with tempfile.TemporaryDirectory(prefix="mct-", dir="/tmp") as folder:  # a socket's path is short
        monkeypatch.setenv(context.CONTROL, f"{folder}/control")
        yield Path(folder, "control")


def test_on_this_machine_the_supervisor_is_asked_to_begin(control: Path) -> None:
    """It does not wait: to shrink may take until the job that asks has ended."""
    supervisor = Supervisor(control, '{"done": {}}\n')
    minicluster.scale(3)
    supervisor.ended()
    assert supervisor.order == {"order": "scale", "size": 3, "wait": False}
    assert within.is_inside()


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        ('{"error": "scale 9: cluster mc knows 4 hosts"}\n', within.RefusedError, "mc knows 4 hosts"),
        ("", within.UnreachableError, "ended before it answered"),
    ],
    ids=["refused", "ended"],
)
def test_what_a_supervisor_answers_is_reported(
    control: Path, answer: str, kind: type[WithinError], message: str
) -> None:
    supervisor = Supervisor(control, answer)
    with pytest.raises(kind, match=message):
        minicluster.scale(9)
    supervisor.ended()


def test_a_supervisor_that_does_not_answer_is_reported(control: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(control))
    with pytest.raises(within.UnreachableError, match=r"supervisor does not answer: .*refused"):
        minicluster.scale(2)
