"""A control plane on this machine: etcd, kube-apiserver, kube-controller-manager and kube-scheduler."""

import contextlib
import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.devcluster import audit, components, fake_nodes, lookup, network, rack, state
from tests.devcluster.access import Access, write_access
from tests.devcluster.api import Api
from tests.devcluster.apiserver import ApiServer
from tests.devcluster.certificates import Pair, authority, signing_pair
from tests.devcluster.components import Endpoint, Keys
from tests.devcluster.errors import HarnessError
from tests.devcluster.installation import Installation
from tests.devcluster.lookup import Programs
from tests.devcluster.network import IP_FREEBIND
from tests.devcluster.nodes import Node
from tests.devcluster.options import PLAIN, Object, Options
from tests.devcluster.processes import Guardian, launch
from tests.devcluster.rack import Rack
from tests.devcluster.waiting import until

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running control plane; `admin` may do everything, `rack` is there with real nodes only."""

    options: Options
    installation: Installation
    apiserver: ApiServer
    admin: Access
    rack: Rack | None = None

    @property
    def directory(self) -> Path:
        """Where its files are."""
        return self.installation.directory

    @property
    def guardian(self) -> Guardian:
        """What has started its processes, and ends them."""
        return self.installation.guardian

    @property
    def api(self) -> Api:
        """The administrator's client."""
        return self.installation.api

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.admin.kubeconfig

    @property
    def url(self) -> str:
        """The API server's base URL."""
        return self.installation.url

    @property
    def audit_log(self) -> Path:
        """The API server's audit log, with the option `audit`."""
        return self.apiserver.audit_log

    @property
    def version(self) -> str:
        """The API server's version, such as v1.36.3."""
        return str(self.api.get("/version")["gitVersion"])

    def user(self, name: str, groups: Iterable[str] = ()) -> Access:
        """Return a way in for a user that has no rights but those bound to its name and groups."""
        return self.installation.user(name, groups)

    def requests(self, skip: int = 0) -> Iterator[audit.Request]:
        """Read what the API server was asked for, in order, from a byte of its audit log on."""
        return audit.read(self.audit_log, skip)

    def add_fake_nodes(self, count: int) -> list[str]:
        """Have this many fake nodes (fake-0, …), all ready; their pods run at once, see stages.yaml."""
        if "kwok" not in self.guardian.pids():
            kwok = lookup.locate(lookup.KWOK)["kwok"]
            home = {"KWOK_WORKDIR": str(self.directory / "kwok")}  # else it reads a configuration at home
            self.guardian.start("kwok", components.command(kwok, fake_nodes.flags(self.kubeconfig), {}), home)
        names = [f"fake-{number}" for number in range(count)]
        fake_nodes.add(self.api, names)
        return names

    @property
    def nodes(self) -> list[Node]:
        """The real nodes, in the order of their numbers."""
        return [] if self.rack is None else rack.existing(self.installation, self.rack)

    def add_nodes(self, count: int) -> list[Node]:
        """Have this many real nodes (node-1, …), all Ready, with what the first ones have."""
        if self.rack is None:
            raise HarnessError("nodes need a network: start the cluster with Options(nodes=1), or more")
        return rack.add(self.installation, self.rack, count)

    def reach(self, other: "ControlPlane") -> None:
        """Let nodes and pods of two clusters reach each other by their addresses; at first they do not."""
        for plane in (self, other):
            network.forward(network_of(plane), on=True)

    def part(self, other: "ControlPlane") -> None:
        """End what `reach` began, with any other cluster as well: packets are lost without a word."""
        for plane in (self, other):
            network.forward(network_of(plane), on=False)

    def stop(self) -> None:
        """End every process and remove every file; a second call does nothing."""
        self.api.hang_up()
        self.guardian.end()
        state.clean()


def network_of(plane: ControlPlane) -> network.Network:
    """Return the network of a cluster with nodes."""
    if plane.rack is None:
        raise HarnessError("only clusters with nodes have a network: Options(nodes=1), or more")
    return plane.rack.network


def start(options: Options = PLAIN, *, name: str | None = None, detached: bool = False) -> ControlPlane:
    """Start a control plane; it ends with this process, unless detached; a name is given to one at a time.

    Raises MissingProgramsError before anything is started, ComponentError for what does not come up.
    """
    nodes = options.nodes > 0
    shared = rack.reserve(options.images, options.version) if nodes else None
    if shared is not None:
        shared = replace(shared, static_cores=options.static_cores)
    found = {**lookup.locate(lookup.kubernetes(options.version, nodes=nodes)), **lookup.locate(lookup.ETCD)}
    kept_open = [] if shared is None else [*shared.kept_open]
    with contextlib.ExitStack() as undone:
        for one in kept_open:
            undone.callback(one.close)
        created = state.create(name)
        undone.callback(forget, created)
        port = reserve(options.address) if shared is None else reserve(shared.network.host, early=True)
        undone.callback(port.close)
        endpoint = Endpoint(*port.getsockname())
        guardian = launch(created, [port, *kept_open], detached=detached)
        undone.pop_all()
    try:
        guardian.start(
            "etcd", components.command(found["etcd"], components.etcd(created.directory / "data"), {})
        )
        plane = prepare(created.directory, options, endpoint, guardian, found)
        plane = replace(plane, rack=shared)
        bring_up(plane)
    except BaseException:
        guardian.end()
        state.clean()
        raise
    return plane


def forget(created: state.State) -> None:
    """Remove the directory of a cluster that has no guardian."""
    shutil.rmtree(created.directory, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.close(created.lock)


@contextlib.contextmanager
def cluster(options: Options = PLAIN) -> Iterator[ControlPlane]:
    """Have a control plane for as long as the block takes."""
    plane = start(options)
    try:
        yield plane
    finally:
        plane.stop()


def reserve(address: str, *, early: bool = False) -> socket.socket:
    """Choose a free port and keep it from others; early: before this machine has the address.

    It is bound but not listening. A program can still listen on it with SO_REUSEADDR, as Go does. Neither a
    search for a free port nor an outgoing connection gets it.
    """
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if early:
        reserved.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
    reserved.bind((address, 0))
    return reserved


def prepare(
    directory: Path, options: Options, endpoint: Endpoint, guardian: Guardian, found: Programs
) -> ControlPlane:
    """Make the certificates and the administrator's kubeconfig."""
    folder = directory / "pki"
    folder.mkdir(mode=0o700)
    users, front_proxy = authority(folder, "ca"), authority(folder, "front-proxy-ca")
    masters = ["system:masters"]
    keys = Keys(
        authority=users.file,
        server=users.issue("apiserver", "kube-apiserver", hosts=endpoint.hosts),
        kubelet_client=users.issue("kubelet-client", "kube-apiserver-kubelet-client", masters),
        front_proxy_authority=front_proxy.file,
        front_proxy=front_proxy.issue("front-proxy-client", "front-proxy-client"),
        service_accounts=signing_pair(folder, "service-accounts"),
    )
    pair: Pair = users.issue("admin", "test-admin", masters)
    admin = write_access(directory / "kubeconfig", endpoint.url, users.file.read_bytes(), pair)
    installation = Installation(directory, found, guardian, endpoint, users, Api(admin))
    return ControlPlane(options, installation, ApiServer(installation, keys, options), admin)


def bring_up(plane: ControlPlane) -> None:
    """Start the API server, then its clients: the controller-manager gives up where there is no server."""
    installation, options = plane.installation, plane.options
    if plane.rack is not None:
        network.bring_up(plane.rack.network, plane.guardian)
    plane.apiserver.start()
    for crd in options.crds:
        plane.api.create(CRDS, crd)
    for crd in options.crds:
        wait_established(plane.api, crd)
    manager = plane.user("system:kube-controller-manager").kubeconfig
    scheduler = plane.user("system:kube-scheduler").kubeconfig
    flags = components.controller_manager(manager, plane.apiserver.keys)
    if plane.rack is not None:
        flags |= components.attentive()[1]
    installation.run("kube-controller-manager", flags, options.controller_manager)
    installation.run("kube-scheduler", components.scheduler(scheduler), options.scheduler)
    for crd in options.crds:
        wait_served(plane.api, crd)
    account = "kube-controller-manager", "to make the default service account"
    installation.wait(lambda: plane.api.exists(DEFAULT_ACCOUNT), *account)
    if plane.rack is not None:
        rack.start_dns(installation, plane.rack)
        rack.start_enforcer(installation, plane.rack.network)
        rack.add(installation, plane.rack, options.nodes)


def wait_established(api: Api, crd: Object) -> None:
    """Wait until the API server has accepted a CRD's names."""
    path = f"{CRDS}/{crd['metadata']['name']}"

    def poll() -> bool:
        conditions = api.get(path).get("status", {}).get("conditions") or []
        return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

    until(poll, f"{path} to be established")


def wait_served(api: Api, crd: Object) -> None:
    """Wait until objects can be listed: about a second after the CRD's condition Established."""
    version = next(one["name"] for one in crd["spec"]["versions"] if one["served"])
    path = f"/apis/{crd['spec']['group']}/{version}/{crd['spec']['names']['plural']}"
    until(lambda: api.exists(path), f"{path} to be served")
