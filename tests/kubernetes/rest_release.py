"""The RESTful API's chart on a cluster with nodes, with what it needs, and a way to it from this machine."""

import base64
import contextlib
import os
import secrets
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.database import postgresql
from tests.deploy.files import REST_CHART
from tests.devcluster import ControlPlane, certificates, lookup, until
from tests.devcluster.network import Network
from tests.devcluster.release import NAMESPACE, Release
from tests.kubernetes.reach import Endpoint
from tests.ports import free_port

NAME = "minicluster-rest"
PORT = 8443  # of a pod, for users
SELECTOR = f"app.kubernetes.io/name={NAME}"
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
SECONDS = 300.0  # it takes 5 s; a machine that does other things as well takes longer


@dataclass(frozen=True, slots=True)
class RestRelease:
    """The release, and where this machine reaches it: the forwarder leads to one of its pods."""

    nodes: ControlPlane
    helm: Release
    authority: Path
    """The certificate of who vouches for it."""
    port: int

    @property
    def url(self) -> str:
        """Where users of this machine reach it."""
        return f"https://localhost:{self.port}"

    def install(self, **values: Any) -> None:
        """Install it, or upgrade it, and wait until its pods are ready; `__` is a dot in a value's name."""
        host, api = network_of(self.nodes).host, urlsplit(self.nodes.url).port
        given = {
            "url": self.url,
            "masterKey.secretName": "master-key",
            "tls.secretName": "rest-tls",
            "networkPolicy.apiServers[0].ipBlock.cidr": f"{host}/32",
            "networkPolicy.apiServerPorts": f"{{{api}}}",
            **{name.replace("__", "."): value for name, value in values.items()},
        }
        self.helm.install(*(word for each in given.items() for word in ("--set", "=".join(map(str, each)))))
        try:
            until(self.helm.ready, "the pods of the release", SECONDS)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.picture()}") from error

    def restart(self) -> None:
        """Have all its pods replaced, as after a renewed password, and wait for it."""
        self.kubectl("rollout", "restart", f"deployment/{NAME}")
        self.kubectl("rollout", "status", f"deployment/{NAME}", f"--timeout={SECONDS:.0f}s")

    def pods(self) -> list[dict[str, Any]]:
        """Return those of its pods that are ready, and stay."""
        found = self.nodes.api.items(PODS, labelSelector=SELECTOR)
        return [each for each in found if "deletionTimestamp" not in each["metadata"] and is_ready(each)]

    def endpoints(self) -> list[Endpoint]:
        """Return these pods as ends of connections."""
        names = {each["metadata"]["name"]: each["status"]["podIP"] for each in self.pods()}
        running = {each.pod: each.pid for node in self.nodes.nodes for each in node.pods()}
        return [Endpoint(running[name], address) for name, address in names.items()]

    def kubectl(self, *words: str) -> str:
        """Run kubectl in its namespace; return what it prints."""
        program = lookup.locate(lookup.kubernetes())["kubectl"]
        argv = [str(program), "--namespace", NAMESPACE, *words]
        environment = {**os.environ, "KUBECONFIG": str(self.nodes.kubeconfig)}
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, f"{done.stderr}{self.picture()}"
        return done.stdout

    def admin_link(self) -> str:
        """Return the link by which the first admin logs in, by the command that the notes name."""
        words = ("exec", f"deploy/{NAME}", "--", "minicluster", "rest-api", "admin-link")
        return self.kubectl(*words).strip()

    def picture(self) -> str:
        """Describe its pods for the message of a test that fails."""
        parts = []
        for pod in self.nodes.api.items(PODS, labelSelector=SELECTOR):
            name = pod["metadata"]["name"]
            parts.append(f"--- {name}: {pod['status']}")
            for container in ("migrate", "rest-api"):
                path = f"{PODS}/{name}/log?container={container}"
                parts.append(self.nodes.api.send("GET", path)[1].decode(errors="replace"))
        return "\n".join(parts)


def network_of(nodes: ControlPlane) -> Network:
    """Return the network of a cluster's nodes and pods."""
    assert nodes.rack is not None
    return nodes.rack.network


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod is in its Services."""
    conditions = pod["status"].get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


@contextlib.contextmanager
def prepared(nodes: ControlPlane, folder: Path) -> Iterator[RestRelease]:
    """Give a release that is still to be installed, with its Secrets; in the end nothing of it is left."""
    own = certificates.authority(folder, "authority")
    found = RestRelease(
        nodes, Release(nodes.api, nodes.kubeconfig, folder, REST_CHART, NAME), own.file, free_port()
    )
    pair = own.issue("service", "service", hosts=["localhost"])
    tls = {"tls.crt": pair.certificate.read_bytes(), "tls.key": pair.key.read_bytes()}
    store(nodes, "rest-tls", tls, "kubernetes.io/tls")
    store(nodes, "master-key", {"master.key": secrets.token_bytes(32)})
    try:
        with forwarding(found):
            yield found
    finally:
        found.helm.run("uninstall", "--ignore-not-found")
        nodes.api.call("DELETE", f"{PODS}?labelSelector={SELECTOR}&gracePeriodSeconds=0")
        until(lambda: not nodes.api.items(PODS, labelSelector=SELECTOR), "its pods to go", SECONDS)


def store(nodes: ControlPlane, name: str, files: Mapping[str, bytes], kind: str = "Opaque") -> None:
    """Make a Secret in the release's namespace, or replace it."""
    data = {key: base64.b64encode(content).decode() for key, content in files.items()}
    item = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": kind, "data": data}
    nodes.api.apply(f"{SECRETS}/{name}", item)


@contextlib.contextmanager
def server(nodes: ControlPlane) -> Iterator[str]:
    """Have PostgreSQL on this machine, where pods reach it; give the URL of a database there."""
    network = network_of(nodes)
    found = postgresql.Server(postgresql.programs(), network.host, network.pods)
    try:
        name = urlsplit(found.database()).path
        yield f"postgresql://{found.user}:{found.password}@{network.host}{name}"
    finally:
        found.remove()


@contextlib.contextmanager
def forwarding(release: RestRelease) -> Iterator[None]:
    """Lead connections to the release's port of this machine to its pods, as `kubectl port-forward` does."""

    class Forwarded(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            for pod in release.pods()[:1]:
                with (
                    contextlib.suppress(OSError),
                    socket.create_connection((pod["status"]["podIP"], PORT), SECONDS) as other,
                ):
                    other.settimeout(None)
                    back = threading.Thread(target=pump, args=(other, self.request), daemon=True)
                    back.start()
                    pump(self.request, other)
                    back.join()

    class Forwarder(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

    with Forwarder(("127.0.0.1", release.port), Forwarded) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            made.shutdown()


def pump(source: socket.socket, target: socket.socket) -> None:
    """Hand over what comes, until one end is closed."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
