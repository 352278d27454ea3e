"""A real lead as the server of custom metrics: as its broker.toml and the document's Secret say."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_config import broker_toml
from broker_config.settings import LeadApiSettings
from tests.lead.client import DEADLINE, until
from tests.lead.keys import Authority

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lead.pods import Pods

HOST = "mc-metrics.default.svc"
VALUE = (
    "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/miniclusters.flux-framework.org/mc"
    "/flux_nodes_demanded"
)


def test_the_front_proxy_is_answered_and_nobody_else(pods: Callable[..., Pods]) -> None:
    """In the zip under Flux's own Python, where that is the engine."""
    cluster, serving, front = pods(2), Authority(), Authority()
    secret = cluster.directory / "readers"
    serving.issue(secret, HOST)
    front.issue(cluster.directory / "proxy", "front-proxy-client")
    (secret / "requestheader-client-ca-file").write_text(front.certificate)
    (secret / "apis-host").write_text(HOST)
    settings = LeadApiSettings(cluster.lead_api.port, str(cluster.secret), metrics_tls=str(secret))
    (cluster.config / "broker.toml").write_text(
        broker_toml.render(replace(cluster.settings, lead_api=settings))
    )
    cluster.start(0, 1)
    with cluster.lead_api.watch() as watch:
        watch.until(running=True)
    context = ssl.create_default_context(cadata=serving.certificate)
    assert ask(cluster.lead_api.port, context)[0] == 401
    context.load_cert_chain(cluster.directory / "proxy" / "tls.crt", cluster.directory / "proxy" / "tls.key")

    def value() -> str:
        code, body = ask(cluster.lead_api.port, context)
        return str(body["items"][0]["value"]) if code == 200 else ""

    assert until(value, "the first sample") == "1"


def ask(port: int, context: ssl.SSLContext) -> tuple[int, Any]:
    """Ask as the API server does for an administrator; return the status code and the answer."""
    plain = socket.create_connection(("127.0.0.1", port), DEADLINE)
    with contextlib.closing(http.client.HTTPConnection(HOST)) as connection:
        connection.sock = context.wrap_socket(plain, server_hostname=HOST)
        headers = {"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
        connection.request("GET", VALUE, headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
