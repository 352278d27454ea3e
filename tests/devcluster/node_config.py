"""The files that a node's programs, and the cluster's DNS, are configured with; all were tried on 1.36.3.

A node's programs run in a mount namespace with a /run of its own: the paths below it are the usual ones, and
belong to one node only.
"""

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.devcluster.certificates import Pair
from tests.devcluster.components import FAST, Endpoint
from tests.devcluster.network import Network

PAUSE = "localhost/pause:1"  # the image of the container that holds a pod's namespaces
DOMAIN = "cluster.local"
DNS_SERVICE = "10.96.0.10"
RUN = "/run/containerd"
SOCKET = f"{RUN}/containerd.sock"
PROXY_PORT = 10256
DNS_PORT = 8181  # of its readiness endpoint
STATIC_CORES = {
    "cpuManagerPolicy": "static",
    "cpuManagerReconcilePeriod": "1s",
    "topologyManagerPolicy": "best-effort",
    "reservedSystemCPUs": "0",
}
POLICIES = "pod-address"  # the network plug-in
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """The settings of one node: the folder of its files, its name, its number, its network.

    It joins with these labels and taints (KEY=VALUE, KEY=VALUE:EFFECT). `static_cores`: its kubelet gives
    Guaranteed pods with whole CPUs cores of their own, all but core 0.
    """

    folder: Path
    name: str
    number: int
    network: Network
    labels: tuple[str, ...] = ()
    taints: tuple[str, ...] = ()
    static_cores: bool = False

    @property
    def address(self) -> str:
        """The node's address."""
        return self.network.node(self.number)

    @property
    def plugins(self) -> Path:
        """The folder of the network plug-in that is ours."""
        return self.folder / "plugins"


def containerd(settings: NodeSettings, plugins: Path) -> str:
    """Return containerd's configuration.

    Without the right to raise limits (CAP_SYS_RESOURCE) runc cannot give a container a negative OOM score.
    """
    runtime = "plugins.'io.containerd.cri.v1.runtime'"
    images = "plugins.'io.containerd.cri.v1.images'"
    return f"""\
version = 3
root = "{settings.folder}/containerd"
state = "{RUN}/state"
disabled_plugins = [
  "io.containerd.nri.v1.nri",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.tracing.processor.v1.otlp",
  "io.containerd.internal.v1.tracing",
]
[grpc]
  address = "{SOCKET}"
[ttrpc]
  address = "{SOCKET}.ttrpc"
[{images}]
  snapshotter = "overlayfs"
  [{images}.pinned_images]
    sandbox = "{PAUSE}"
[{runtime}]
  restrict_oom_score_adj = true
  [{runtime}.cni]
    bin_dirs = ["{plugins}", "{settings.plugins}"]
    conf_dir = "{settings.folder}/cni"
    use_internal_loopback = true
  [{runtime}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [{runtime}.containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def cni(settings: NodeSettings, enforcer: Path) -> str:
    """Return how pods get their network: a bridge in the node, an address of the node's range.

    Last the enforcer, by its socket, is told the address.
    """
    ranges = [[{"subnet": settings.network.pods_of(settings.number)}]]
    addresses = {
        "type": "host-local",
        "dataDir": f"{settings.folder}/addresses",
        "ranges": ranges,
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "hairpinMode": True}
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    policies = {"type": POLICIES, "socket": str(enforcer)}
    plugins = [{**bridge, "ipam": addresses}, ports, policies]
    return json.dumps({"cniVersion": "1.0.0", "name": "test", "plugins": plugins})


def plugin() -> str:
    """Return the network plug-in as a program: pod_address.py, without what Python loads unasked.

    At the end of a pod, where there is nothing to do, not even that.
    """
    program = Path(__file__).with_name("pod_address.py")
    python = f"exec {shlex.quote(sys.executable)} -I -S {shlex.quote(str(program))}"
    return f'#!/bin/sh\n[ "$CNI_COMMAND" = DEL ] && exit\n{python}\n'


def kubelet(settings: NodeSettings, group: str, authority: Path, pair: Pair) -> Document:
    """Return the kubelet's configuration: it evicts and collects nothing for want of room here."""
    free = ("memory.available", "nodefs.available", "nodefs.inodesFree")
    images = ("imagefs.available", "imagefs.inodesFree")
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": group,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "localStorageCapacityIsolation": False,
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "clusterDNS": [DNS_SERVICE],
        "clusterDomain": DOMAIN,
        "resolvConf": f"{settings.folder}/resolv.conf",
        "podLogsDir": f"{settings.folder}/pod-logs",
        "address": settings.address,
        "healthzPort": 0,
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(pair.certificate),
        "tlsPrivateKeyFile": str(pair.key),
        "evictionHard": dict.fromkeys((*free, *images), "0%"),
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "serializeImagePulls": False,
        # So that a node that died is noticed within seconds, see `components.attentive`.
        "nodeStatusUpdateFrequency": "2s",
        "nodeLeaseDurationSeconds": 4,
        "kubeAPIQPS": int(FAST["kube-api-qps"]),
        "kubeAPIBurst": int(FAST["kube-api-burst"]),
        "eventRecordQPS": 0,
        "registryPullQPS": 0,
        "volumeStatsAggPeriod": "-1s",
        "shutdownGracePeriod": "0s",
        **(STATIC_CORES if settings.static_cores else {}),
    }


def kubelet_flags(settings: NodeSettings, configuration: Path, kubeconfig: Path) -> dict[str, str]:
    """Return the flags of the kubelet: what has no field in its configuration."""
    return {
        "config": str(configuration),
        "kubeconfig": str(kubeconfig),
        "root-dir": f"{settings.folder}/kubelet",
        "cert-dir": f"{settings.folder}/kubelet/pki",
        "hostname-override": settings.name,
        "node-ip": settings.address,
        **({"node-labels": ",".join(settings.labels)} if settings.labels else {}),
        **({"register-with-taints": ",".join(settings.taints)} if settings.taints else {}),
    }


def proxy(settings: NodeSettings, kubeconfig: Path) -> Document:
    """Return kube-proxy's configuration; limits of the kernel's tables are not for it to set."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": settings.network.pods,
        "hostnameOverride": settings.name,
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "healthzBindAddress": f"{settings.address}:{PROXY_PORT}",
        "metricsBindAddress": "127.0.0.1:10249",
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "nftables": {"minSyncPeriod": "0s", "syncPeriod": "30s"},
    }


def corefile(network: Network, endpoint: Endpoint, kubeconfig: Path) -> str:
    """Return the configuration of the DNS: the cluster's names, no others, and nothing is remembered.

    Names that are not the cluster's have a block of their own: within one, `template` would come first.
    """
    return f"""\
{DOMAIN}:53 in-addr.arpa:53 {{
    bind {network.host}
    errors
    ready {network.host}:{DNS_PORT}
    kubernetes {DOMAIN} in-addr.arpa {{
        endpoint {endpoint.url}
        kubeconfig {kubeconfig} test
        ttl 0
    }}
}}
.:53 {{
    bind {network.host}
    template ANY ANY . {{
        rcode NXDOMAIN
    }}
}}
"""


def objects(network: Network) -> list[tuple[str, Document]]:
    """Return, by path, what DNS, proxies and enforcer need: the DNS's Service, and their rights."""
    rights = "/apis/rbac.authorization.k8s.io/v1"
    system = "/namespaces/kube-system"
    ports = [{"name": name.lower(), "port": 53, "protocol": name} for name in ("UDP", "TCP")]
    listed = {"verbs": ["get", "list", "watch"]}
    followed = [
        {"apiGroups": [""], "resources": ["pods", "namespaces"], **listed},
        {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], **listed},
    ]
    rules = [
        {"apiGroups": [""], "resources": ["services", "pods", "namespaces", "nodes", "endpoints"], **listed},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], **listed},
    ]
    return [
        (
            f"/api/v1{system}/services/kube-dns",
            {"apiVersion": "v1", "kind": "Service", "spec": {"clusterIP": DNS_SERVICE, "ports": ports}},
        ),
        (
            f"/apis/discovery.k8s.io/v1{system}/endpointslices/kube-dns",
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"labels": {"kubernetes.io/service-name": "kube-dns"}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": [network.host], "conditions": {"ready": True}}],
                "ports": ports,
            },
        ),
        (f"{rights}/clusterroles/test-dns", {**rbac("ClusterRole"), "rules": rules}),
        (f"{rights}/clusterrolebindings/test-dns", bound("test-dns", "test-dns")),
        (f"{rights}/clusterroles/test-enforcer", {**rbac("ClusterRole"), "rules": followed}),
        (f"{rights}/clusterrolebindings/test-enforcer", bound("test-enforcer", "test-enforcer")),
        (f"{rights}/clusterrolebindings/test-proxy", bound("system:node-proxier", "system:kube-proxy")),
    ]


def rbac(kind: str) -> dict[str, Any]:
    """Begin an object of the rights' API."""
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind}


def bound(role: str, user: str) -> Document:
    """Bind a user to a cluster role."""
    group = "rbac.authorization.k8s.io"
    return {
        **rbac("ClusterRoleBinding"),
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


def write(file: Path, document: Document) -> Path:
    """Write a configuration that is a YAML document."""
    file.write_text(yaml.safe_dump(dict(document), sort_keys=False))
    return file
