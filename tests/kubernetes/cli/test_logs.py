"""`logs` through a real API server; the kubelet that it asks is the test's own."""

import http.server
import ssl
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.devcluster import Api, ControlPlane
from tests.kubernetes.command_line import CommandLine, Operator

NODE = "log-keeper"


class Kubelet(http.server.BaseHTTPRequestHandler):
    """Serves /containerLogs/NAMESPACE/POD/CONTAINER: two lines, the second without its end."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        _, kind, _, pod, container = url.path.split("/")
        assert kind == "containerLogs"
        follows = parse_qs(url.query).get("follow") == ["true"]
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.chunk(f"{container} of {pod}\nbye".encode())
        if follows:
            self.chunk(b", later\n")
        self.chunk(b"")

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def kubelet(plane: ControlPlane) -> Iterator[None]:
    """A Node whose kubelet keeps logs; nothing is scheduled to it."""
    pair = plane.installation.users.issue(NODE, NODE, hosts=["127.0.0.1"])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Kubelet)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": server.server_address[1]}},
    }
    node = {"metadata": {"name": NODE}, "spec": {"unschedulable": True}, "status": status}
    plane.api.create("/api/v1/nodes", node)
    yield
    plane.api.delete(f"/api/v1/nodes/{NODE}")
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def minicluster(api: Api, namespace: str) -> Iterator[CommandLine]:
    program = CommandLine(api.access.kubeconfig, namespace, api.access.context or "")
    yield program
    program.end()


def pod(
    api: Api, namespace: str, name: str, labels: dict[str, str], *containers: str, node: str = NODE
) -> None:
    labels = {"app.kubernetes.io/name": "minicluster", "app.kubernetes.io/instance": "mc", **labels}
    spec: dict[str, Any] = {
        "containers": [{"name": each, "image": "x"} for each in containers],
        "terminationGracePeriodSeconds": 0,
        "schedulerName": "nobody",  # earlier tests leave nodes, and without one it is to have none
    }
    if node:
        spec["nodeName"] = node
    path = f"/api/v1/namespaces/{namespace}/pods"
    api.create(path, {"metadata": {"name": name, "labels": labels}, "spec": spec})


def broker(api: Api, namespace: str, rank: int, *containers: str, node: str = NODE) -> None:
    labels = {
        "app.kubernetes.io/component": "broker",
        "batch.kubernetes.io/job-completion-index": str(rank),
    }
    pod(api, namespace, f"mc-{rank}-abcde", labels, "flux", *containers, node=node)


@pytest.fixture
def pods(kubelet: None, api: Api, namespace: str) -> None:
    """Two brokers, the first with a sidecar, and the services."""
    Operator(api, namespace).make()
    broker(api, namespace, 1)
    broker(api, namespace, 0, "side")
    pod(api, namespace, "mc-services", {"app.kubernetes.io/component": "services"}, "database")


def test_one_brokers_log_is_as_it_was_written(pods: None, minicluster: CommandLine) -> None:
    done = minicluster("logs", "mc", "--rank", 1)
    assert (done.returncode, done.stdout) == (0, "flux of mc-1-abcde\nbye\n"), done.stderr


def test_all_logs_have_their_pod_before_each_line(pods: None, minicluster: CommandLine) -> None:
    """By rank, the services last; what runs beside a broker, and each service, with its own name."""
    assert minicluster("logs", "mc").stdout.splitlines() == [
        "mc-0: flux of mc-0-abcde",
        "mc-0: bye",
        "mc-0/side: side of mc-0-abcde",
        "mc-0/side: bye",
        "mc-1: flux of mc-1-abcde",
        "mc-1: bye",
        "mc-services/database: database of mc-services",
        "mc-services/database: bye",
    ]


def test_follow_goes_on_to_the_end(pods: None, minicluster: CommandLine) -> None:
    lines = minicluster("logs", "mc", "--follow").stdout.splitlines()
    assert {"mc-0: bye, later", "mc-1: bye, later", "mc-services/database: bye, later"} <= set(lines)


def test_the_pod_that_stays_counts(pods: None, minicluster: CommandLine, api: Api, namespace: str) -> None:
    """While a lost pod goes, its rank has two."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    api.merge(f"{path}/mc-1-abcde", {"metadata": {"finalizers": ["test.minicluster/held"]}})
    api.delete(f"{path}/mc-1-abcde")
    labels = {"app.kubernetes.io/component": "broker", "batch.kubernetes.io/job-completion-index": "1"}
    pod(api, namespace, "mc-1-fghij", labels, "flux")
    done = minicluster("logs", "mc", "--rank", 1)
    api.merge(f"{path}/mc-1-abcde", {"metadata": {"finalizers": None}})
    assert done.stdout == "flux of mc-1-fghij\nbye\n"


def test_a_log_that_cannot_be_read_leaves_the_others(
    pods: None, minicluster: CommandLine, api: Api, namespace: str
) -> None:
    broker(api, namespace, 2, node="")
    done = minicluster("logs", "mc")
    assert done.returncode == 0
    assert "mc-1: bye" in done.stdout
    assert done.stderr == "minicluster: mc-2-abcde: has no node yet, so nothing was written\n"


def test_follow_waits_for_a_pod_to_start(
    kubelet: None, api: Api, namespace: str, minicluster: CommandLine
) -> None:
    Operator(api, namespace).make()
    broker(api, namespace, 0, node="")
    process = minicluster.begin("logs", "mc", "--follow")
    assert process.stderr is not None
    assert process.stderr.readline() == "minicluster: mc-0-abcde: has no node yet, so nothing was written\n"
    target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
    path = f"/api/v1/namespaces/{namespace}/pods/mc-0-abcde/binding"
    api.create(path, {"metadata": {"name": "mc-0-abcde"}, "target": target})
    assert process.communicate(timeout=30)[0] == "mc-0: flux of mc-0-abcde\nmc-0: bye, later\n"


def test_where_no_log_can_be_read_it_is_an_error(minicluster: CommandLine, api: Api, namespace: str) -> None:
    Operator(api, namespace).make()
    broker(api, namespace, 0, node="")
    done = minicluster("logs", "mc", "--rank", 0)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == "minicluster: cluster mc: no log could be read"


@pytest.mark.parametrize(
    ("options", "what"), [((), "no pods"), (("--rank", 7), "no pod of rank 7")], ids=["none", "rank"]
)
def test_no_such_pod(
    minicluster: CommandLine, api: Api, namespace: str, options: tuple[object, ...], what: str
) -> None:
    operator = Operator(api, namespace)
    operator.make()
    if options:
        broker(api, namespace, 0, node="")
    operator.report_status(
        "Suspended", "Suspended", "Suspended", "suspended; it goes on when spec.suspend is false"
    )
    done = minicluster("logs", "mc", *options)
    assert (done.returncode, done.stderr) == (
        1,
        (
            f"minicluster: cluster mc: there are {what} in namespace {namespace}"
            " (Suspended: suspended; it goes on when spec.suspend is false)\n"
        ),
    )


def test_whoever_may_not_read_logs_is_refused(
    pods: None, plane: ControlPlane, api: Api, namespace: str
) -> None:
    """Logs are read with the person's own rights."""
    group = "rbac.authorization.k8s.io"
    rules = [
        {"apiGroups": ["flux-framework.org"], "resources": ["miniclusters"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    path = f"/apis/{group}/v1/namespaces/{namespace}"
    api.create(f"{path}/roles", {"metadata": {"name": "looker"}, "rules": rules})
    api.create(
        f"{path}/rolebindings",
        {
            "metadata": {"name": "looker"},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "looker"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "joe"}],
        },
    )
    done = CommandLine(plane.user("joe").kubeconfig, namespace)("logs", "mc", "--rank", 0)
    assert done.returncode == 1
    assert 'User "joe" cannot get resource "pods/log"' in done.stderr
