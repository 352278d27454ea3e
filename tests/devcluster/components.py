"""The command lines of the control plane's programs, as pure functions.

Comments explain a flag where its name does not. All flags were tried on Kubernetes 1.36.3.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.devcluster.certificates import Pair

Flags = Mapping[str, str]

LOOPBACK = "127.0.0.1"
SERVICES = "10.96.0.0/16"
FIRST_SERVICE = "10.96.0.1"  # the Service `kubernetes` itself
# etcd listens on Unix sockets in the cluster's private directory, where all programs run: no port to choose,
# and no other user can connect. It wants a host and a port even then; the file's name has both.
ETCD, ETCD_PEERS = "unix://etcd:1", "unix://etcd:2"
# Garbage collected at five times what is in use, not at twice: the API server takes a sixth less of a core.
GO = {"GOGC": "400"}
# The default of 20 requests a second makes the controller-manager start its controllers one by one, for 8 s.
FAST = {"kube-api-qps": "500", "kube-api-burst": "1000"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the API server listens; an address beyond loopback is one that nodes can reach."""

    address: str
    port: int

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        return f"https://{self.address}:{self.port}"

    @property
    def hosts(self) -> list[str]:
        """The names and addresses by which clients may call the server."""
        service = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        return [*service, f"{service[-1]}.cluster.local", "localhost", LOOPBACK, self.address, FIRST_SERVICE]


@dataclass(frozen=True, slots=True)
class Keys:
    """The files that the programs authenticate with."""

    authority: Path
    server: Pair
    kubelet_client: Pair
    front_proxy_authority: Path
    front_proxy: Pair
    service_accounts: Pair


def etcd(data: Path) -> dict[str, str]:
    """Return etcd's flags; nothing needs to outlive the machine, so it does not wait for the disk."""
    return {
        "name": "test",
        "data-dir": str(data),
        "unsafe-no-fsync": "true",
        "listen-client-urls": ETCD,
        "advertise-client-urls": ETCD,
        "listen-peer-urls": ETCD_PEERS,
        "initial-advertise-peer-urls": ETCD_PEERS,
        "initial-cluster": f"test={ETCD_PEERS}",
        "log-level": "warn",
        "quota-backend-bytes": str(2 << 30),
    }


def apiserver(endpoint: Endpoint, keys: Keys) -> dict[str, str]:
    """Return kube-apiserver's flags; on loopback it lists no endpoint of itself (that would be refused)."""
    loopback = endpoint.address == LOOPBACK
    return {
        "etcd-servers": ETCD,
        "bind-address": endpoint.address,
        "advertise-address": endpoint.address,
        "secure-port": str(endpoint.port),
        "endpoint-reconciler-type": "none" if loopback else "lease",
        # An aggregated API behind an ExternalName Service on loopback works only without, one behind
        # EndpointSlices (there are nodes) only with it.
        "enable-aggregator-routing": "false" if loopback else "true",
        "service-cluster-ip-range": SERVICES,
        "tls-cert-file": str(keys.server.certificate),
        "tls-private-key-file": str(keys.server.key),
        "client-ca-file": str(keys.authority),
        "kubelet-client-certificate": str(keys.kubelet_client.certificate),
        "kubelet-client-key": str(keys.kubelet_client.key),
        "kubelet-preferred-address-types": "InternalIP",
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": str(keys.service_accounts.certificate),
        "service-account-signing-key-file": str(keys.service_accounts.key),
        "requestheader-client-ca-file": str(keys.front_proxy_authority),
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": str(keys.front_proxy.certificate),
        "proxy-client-key-file": str(keys.front_proxy.key),
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        "profiling": "false",
    }


def attentive() -> tuple[dict[str, str], dict[str, str]]:
    """Return what lets API server and controller-manager notice within seconds that a node died.

    By default that takes 40 s, and its pods are given up after 5 min. Longer than 7 s: for so long a kubelet
    may wait before it asks again an API server that was away or busy (`maxBackoff` of its lease), and its
    pods must outlive that.
    """
    seconds = {f"default-{what}-toleration-seconds": "10" for what in ("not-ready", "unreachable")}
    return seconds, {"node-monitor-period": "1s", "node-monitor-grace-period": "8s"}


def audit(policy: Path, log: Path) -> dict[str, str]:
    """Return the further flags of an API server that logs every request."""
    return {"audit-policy-file": str(policy), "audit-log-path": str(log), "audit-log-mode": "blocking"}


def controller_manager(kubeconfig: Path, keys: Keys) -> dict[str, str]:
    """Return kube-controller-manager's flags."""
    return {
        "kubeconfig": str(kubeconfig),
        "use-service-account-credentials": "true",
        "service-account-private-key-file": str(keys.service_accounts.key),
        "root-ca-file": str(keys.authority),
        "controllers": "*",
        "concurrent-job-syncs": "10",
        **alone(),
    }


def scheduler(kubeconfig: Path) -> dict[str, str]:
    """Return kube-scheduler's flags."""
    return {"kubeconfig": str(kubeconfig), **alone()}


def alone() -> dict[str, str]:
    """Return the flags of a controller that has no rival and no clients (so it needs no port)."""
    return {"leader-elect": "false", "secure-port": "0", "profiling": "false", **FAST}


def command(program: Path, flags: Flags, changes: Flags) -> list[str]:
    """Write a command line; a caller's change replaces a flag of the same name."""
    return [str(program), *(f"--{name}={value}" for name, value in {**flags, **changes}.items())]
