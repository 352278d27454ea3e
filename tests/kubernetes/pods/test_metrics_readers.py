"""On real nodes: who has a certificate of the document's authority reads metrics, by the Secret it names."""

import contextlib
import http.client
import socket
import ssl
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.devcluster import ControlPlane, until
from tests.kubernetes.live import SECONDS, Live
from tests.lead.keys import Authority

HOST = "mc-0.mc.research.svc"
PORT = 8443


def test_a_certificate_reads_metrics(nodes: ControlPlane, live: Live, tmp_path: Path) -> None:
    """Kubelet gives the files to the broker's user, who is not root; a Prometheus has no token then."""
    readers, clients = Authority(), Authority()
    readers.issue(tmp_path / "door", HOST)
    clients.issue(tmp_path / "client", "prometheus")
    files = {name: (tmp_path / "door" / name).read_text() for name in ("tls.crt", "tls.key")}
    secret = {"metadata": {"name": "readers"}, "stringData": {**files, "ca.crt": clients.certificate}}
    nodes.api.create(f"/api/v1/namespaces/{live.namespace}/secrets", secret)
    live.create(maxSize=2, minSize=2, autoscaling={"tlsSecret": "readers"}).joined(2)
    address = live.pods.running(0)["status"]["podIP"]
    context = ssl.create_default_context(cadata=readers.certificate)
    assert ask(address, context)[0] == 401
    context.load_cert_chain(tmp_path / "client" / "tls.crt", tmp_path / "client" / "tls.key")

    def numbers() -> dict[str, float]:
        code, text = ask(address, context)
        families = text_string_to_metric_families(text) if code == 200 else ()
        return {each.name: each.value for family in families for each in family.samples}

    found = until(numbers, "the first sample", SECONDS)
    assert (found["flux_nodes_demanded"], found["flux_nodes_up"]) == (2, 2)


def ask(address: str, context: ssl.SSLContext) -> tuple[int, str]:
    """Ask for the metrics; return the status code and the text."""
    plain = socket.create_connection((address, PORT), SECONDS)
    with contextlib.closing(http.client.HTTPConnection(HOST)) as connection:
        connection.sock = context.wrap_socket(plain, server_hostname=HOST)
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
