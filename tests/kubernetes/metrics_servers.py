"""Kubernetes' metrics-server as a process beside a cluster with nodes: it reports what their pods use."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.devcluster import ControlPlane
from tests.kubernetes import adapters, operators
from tests.ports import free_port

API = "v1beta1.metrics.k8s.io"


@contextlib.contextmanager
def running(plane: ControlPlane, program: Path, folder: Path) -> Iterator[None]:
    """Have it measure as often as it can, every 10 s; the API server asks it for `metrics.k8s.io`."""
    assert plane.rack is not None
    address = plane.rack.network.host
    port = free_port(address)
    options = {
        "kubeconfig": plane.kubeconfig,
        "authentication-kubeconfig": plane.kubeconfig,
        "authorization-kubeconfig": plane.kubeconfig,
        "bind-address": address,
        "secure-port": port,
        "cert-dir": folder / "keys",
        "kubelet-insecure-tls": "true",  # their certificates are their own
        "kubelet-preferred-address-types": "InternalIP",
        "metric-resolution": "10s",
        "kubelet-request-timeout": "5s",
    }
    command = [str(program), *(f"--{name}={value}" for name, value in options.items())]
    operators.grant(plane.api)  # the namespace is made with it
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with adapters.aggregated(plane.api, API, address, port, "metrics-server", folder / "log"):
            yield
    finally:
        process.kill()
        process.wait()
