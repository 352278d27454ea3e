"""Metrics adapters as processes with the shipped rights, and MiniClusters whose leads are played."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.purpose_keys import METRICS
from minicluster.plan.constants import LEAD_API_PORT
from tests.devcluster import Api, ControlPlane, until
from tests.kubernetes import operators
from tests.kubernetes.operators import SYSTEM
from tests.metrics_api.adapter.played import Lead, Leads

NAME = "minicluster-operator-adapter"
ACCOUNT = f"system:serviceaccount:{SYSTEM}:{NAME}"
SERVICES = f"/api/v1/namespaces/{SYSTEM}/services"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
APIS = (
    "v1beta1.custom.metrics.k8s.io",
    "v1beta2.custom.metrics.k8s.io",
    "v1beta1.external.metrics.k8s.io",
)
AGGREGATED_BY = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
"""The ConfigMap in which the API server publishes how its front proxy authenticates."""
V1, V2 = "/apis/custom.metrics.k8s.io/v1beta1", "/apis/custom.metrics.k8s.io/v1beta2"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1"
SPEC = {"schedulerName": "nobody", "containers": [{"name": "app", "image": "example.org/app:1"}]}
Program = tuple[str, ...]
PROGRAM: Program = ("-m", "minicluster.cli")
HTTPS = 443
LOOPBACK = "127.0.0.1"
MARKER = "metrics are served on "


@dataclass
class Adapter:
    """A running adapter."""

    process: subprocess.Popen[bytes]
    log: Path
    port: int = field(default=0, init=False)

    def text(self) -> str:
        """Return what it has logged."""
        return self.log.read_text()

    def listening(self) -> int:
        """Return its port, 0 before it has one; raise with its log if it has ended."""
        if self.process.poll() is not None:
            raise AssertionError(f"the adapter has ended with {self.process.returncode}:\n{self.text()}")
        found = self.text().rpartition(MARKER)[2].split('"')[0].split() if MARKER in self.text() else []
        self.port = int(found[0].rpartition(":")[2]) if found else 0
        return self.port

    def kill(self) -> None:
        """End it without a word."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """End it in good order; return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


def launch(
    kubeconfig: Path,
    log: Path,
    lead_api_port: int,
    service_port: int,
    port: int = 0,
    program: Program = PROGRAM,
    address: str = LOOPBACK,
) -> Adapter:
    """Start an adapter, for a Service that leads to another port perhaps."""
    command = [sys.executable, *program, "metrics-adapter", "--log-format", "json"]
    command += ["--listen", f"{address}:{port}", "--door-port", str(lead_api_port), "--owner", NAME]
    command += ["--service", f"{SYSTEM}/{NAME}:{service_port}"]
    env = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    env.pop("KUBERNETES_SERVICE_HOST", None)
    with log.open("ab") as output:
        process = subprocess.Popen(command, env=env, stdout=output, stderr=output)
    adapter = Adapter(process, log)
    until(adapter.listening, "the adapter to listen", operators.SECONDS)
    return adapter


def account(plane: ControlPlane) -> Path:
    """Return a kubeconfig of the adapter's account, with the rights that are shipped."""
    operators.grant(plane.api)
    resource_path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{NAME}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}}
    token = plane.api.create(resource_path, request)["status"]["token"]
    document = yaml.safe_load(plane.kubeconfig.read_text())
    document["users"][0]["user"] = {"token": token}
    file = plane.directory / "adapter.kubeconfig"
    file.touch(mode=0o600)
    file.write_text(yaml.safe_dump(document))
    return file


def expose(api: Api) -> None:
    """Make the Service behind which an adapter on this machine's loopback is found."""
    spec = {"type": "ExternalName", "externalName": LOOPBACK}
    path = f"{SERVICES}/{NAME}"
    api.apply(path, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": NAME}, "spec": spec})


def expose_at(api: Api, address: str, port: int, name: str = NAME) -> None:
    """Make the Service behind which a server on this machine is found from a cluster with nodes."""
    ports = [{"name": "https", "port": HTTPS, "targetPort": port}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": ports}}
    api.apply(f"{SERVICES}/{name}", service)
    leading = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address]}],
        "ports": [{"name": "https", "port": port}],
    }
    api.apply(f"/apis/discovery.k8s.io/v1/namespaces/{SYSTEM}/endpointslices/{name}", leading)


@contextlib.contextmanager
def aggregated(api: Api, name: str, address: str, port: int, service: str, log: Path) -> Iterator[None]:
    """Have the API server pass an API (`VERSION.GROUP`) to a program here; its certificate is not checked."""
    version, group = name.split(".", 1)
    reference = {"namespace": SYSTEM, "name": service, "port": HTTPS}
    spec = {"group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100}
    spec |= {"service": reference, "insecureSkipTLSVerify": True}
    expose_at(api, address, port, service)
    try:
        api.create(API_SERVICES, {"metadata": {"name": name}, "spec": spec})
        try:
            wait_available(api, name)
        except TimeoutError as error:
            raise AssertionError(f"{error}\n{log.read_text()}") from error
        yield
    finally:
        withdraw(api, name)


def leave_keys(api: Api, authority: LeadAuthority) -> None:
    """Leave the keys for lead brokers, as an operator in the cluster does."""
    item = authority.purpose(METRICS).secret(SYSTEM)
    api.apply(f"/api/v1/namespaces/{SYSTEM}/secrets/{item['metadata']['name']}", item)


@contextlib.contextmanager
def running(
    plane: ControlPlane, leads: Leads, log: Path, port: int, program: Program = PROGRAM
) -> Iterator[Adapter]:
    """Have an adapter that the API server passes requests on to; no defect may show."""
    kubeconfig = account(plane)
    expose(plane.api)
    leave_keys(plane.api, leads.authority)
    adapter = launch(kubeconfig, log, leads.port, port, port, program)
    with ending(plane.api, adapter):
        yield adapter


@contextlib.contextmanager
def beside(plane: ControlPlane, operator: operators.Operator, log: Path) -> Iterator[Adapter]:
    """Have an adapter for the MiniClusters of an operator on a cluster with nodes; no defect may show."""
    assert plane.rack is not None
    kubeconfig, address = account(plane), plane.rack.network.host
    leave_keys(plane.api, operator.keys)
    adapter = launch(kubeconfig, log, LEAD_API_PORT, HTTPS, address=address)
    expose_at(plane.api, address, adapter.port)
    try:
        with ending(plane.api, adapter):
            yield adapter
    finally:
        withdraw(plane.api, *APIS)


def withdraw(api: Api, *names: str) -> None:
    """Delete APIServices, where they are: an API without a server keeps namespaces from being deleted."""
    for name in names:
        if api.exists(f"{API_SERVICES}/{name}"):
            api.delete(f"{API_SERVICES}/{name}")


@contextlib.contextmanager
def ending(api: Api, adapter: Adapter) -> Iterator[None]:
    """Wait until the API server passes requests on to an adapter, and kill it at the end."""
    try:
        for name in APIS:
            until(lambda name=name: available(api, name), f"{name}; {adapter.text()}", operators.SECONDS)
        yield
    finally:
        adapter.kill()
    assert "defect" not in adapter.text()


def wait_available(api: Api, name: str) -> None:
    """Wait until the API server can reach the server of an APIService."""
    until(lambda: available(api, name), f"{name} to be available", operators.SECONDS)


def available(api: Api, name: str) -> bool:
    """Whether the API server can reach the server of an APIService, by its condition Available."""
    if not api.exists(f"{API_SERVICES}/{name}"):
        return False
    found = api.get(f"{API_SERVICES}/{name}").get("status", {}).get("conditions") or []
    return any(each["type"] == "Available" and each["status"] == "True" for each in found)


def cluster(api: Api, leads: Leads, namespace: str, name: str = "mc", size: int = 2, **spec: Any) -> Lead:
    """Make a MiniCluster without an operator: its pods run by word alone, and its lead is played."""
    made = operators.create(api, namespace, name, size=size, **spec)
    status = {"size": size, "selector": f"hpa-selector={name}", "phase": "Running"}
    api.merge(operators.path(namespace, name, "status"), {"status": status})
    lead = leads.add(made["metadata"]["uid"])
    labels = {
        "app.kubernetes.io/name": "minicluster",
        "app.kubernetes.io/managed-by": "minicluster",
        "app.kubernetes.io/instance": name,
    }
    service = {"metadata": {"name": name, "labels": labels}, "spec": {"ports": [{"port": 8050}]}}
    api.create(f"/api/v1/namespaces/{namespace}/services", service)
    for index in range(size):
        own = {
            **labels,
            "app.kubernetes.io/component": "broker",
            "batch.kubernetes.io/job-completion-index": str(index),
            "hpa-selector": name,
        }
        body = {
            "metadata": {"name": f"{name}-{index}", "labels": own},
            # No scheduler gives it a node, and no kubelet has another view of it.
            "spec": {
                "schedulerName": "nobody",
                "containers": [{"name": "app", "image": "example.org/app:1"}],
            },
        }
        api.create(f"/api/v1/namespaces/{namespace}/pods", body)
        run_pod_at(api, namespace, f"{name}-{index}", lead.address if index == 0 else "127.7.255.1")
    return lead


def run_pod_at(api: Api, namespace: str, pod: str, address: str) -> None:
    """Have a pod run at an address."""
    status = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    api.merge(f"/api/v1/namespaces/{namespace}/pods/{pod}/status", {"status": status})
