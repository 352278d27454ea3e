"""KEDA as two processes beside a cluster with nodes: it makes autoscalers of ScaledObjects and feeds them."""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.devcluster import Api, ControlPlane
from tests.devcluster.building import required
from tests.devcluster.certificates import authority
from tests.devcluster.lookup import KEDA, Programs
from tests.kubernetes import adapters, operators
from tests.kubernetes.adapters import LOOPBACK
from tests.kubernetes.operators import SYSTEM
from tests.manifests import documents
from tests.ports import free_port

API = "v1beta1.external.metrics.k8s.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# The names of lead brokers are known in the cluster alone: KEDA's operator has an /etc/hosts of its own.
WITH_HOSTS = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"')
Options = Mapping[str, object]


def define(api: Api) -> None:
    """Create the resources of KEDA, where they are not there yet."""
    folder = required(KEDA.sources, "github.com/kedacore/keda/v2") / "config/crd/bases"
    for file in sorted(folder.iterdir()):
        (definition,) = documents(file.read_text())
        if not api.exists(f"{DEFINITIONS}/{definition['metadata']['name']}"):
            api.create(DEFINITIONS, definition)


@contextlib.contextmanager
def running(
    plane: ControlPlane, programs: Programs, folder: Path, hosts: Mapping[str, str]
) -> Iterator[None]:
    """Have KEDA feed the autoscalers that it makes; `hosts` are the addresses of the names that it asks."""
    assert plane.rack is not None
    operators.grant(plane.api)  # the namespace is made with it
    define(plane.api)
    keys = folder / "keda"
    keys.mkdir()
    authority(keys, "ca").issue("tls", "keda", hosts=["localhost"])
    (folder / "hosts").write_text("".join(f"{address} {name}\n" for name, address in hosts.items()))
    address, asked = plane.rack.network.host, free_port()
    port = free_port(address)
    operator: Options = {
        "cert-dir": keys,
        "metrics-service-bind-address": f"{LOOPBACK}:{asked}",
        "metrics-bind-address": f"{LOOPBACK}:0",
        "health-probe-bind-address": f"{LOOPBACK}:0",
        "enable-webhook-patching": "false",
        "enable-apiservice-patching": "false",
    }
    adapter: Options = {
        "cert-dir": keys,
        "tls-cert-file": keys / "tls.crt",
        "tls-private-key-file": keys / "tls.key",
        "bind-address": address,
        "secure-port": port,
        "port": free_port(),
        "metrics-service-address": f"{LOOPBACK}:{asked}",
        "metrics-service-grpc-authority": "localhost",
        **{f"{what}-kubeconfig": plane.kubeconfig for what in ("authentication", "authorization", "lister")},
    }
    environment = {
        **os.environ,
        "KUBECONFIG": str(plane.kubeconfig),
        "WATCH_NAMESPACE": "",
        "POD_NAMESPACE": SYSTEM,
        "KEDA_CLUSTER_OBJECT_NAMESPACE": SYSTEM,
    }
    log = folder / "log"
    with contextlib.ExitStack() as processes:
        for command, options in (
            ([*WITH_HOSTS, folder / "hosts", programs["operator"]], operator),
            ([programs["adapter"]], adapter),
        ):
            words = [*command, *(f"--{name}={value}" for name, value in options.items())]
            with log.open("ab") as output:
                process = subprocess.Popen(words, env=environment, stdout=output, stderr=output)
            processes.enter_context(process)
            processes.callback(process.kill)
        with adapters.aggregated(plane.api, API, address, port, "keda", log):
            yield
