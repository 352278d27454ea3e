"""What all nodes of a cluster share, and how nodes are added: network, DNS, programs and images."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.devcluster import control_groups, image_store, lookup, network, node_config, node_programs, nodes
from tests.devcluster.access import write_access
from tests.devcluster.errors import HarnessError
from tests.devcluster.network import ENFORCER
from tests.devcluster.node_config import NodeSettings
from tests.devcluster.nodes import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.devcluster.images import AnyImage
    from tests.devcluster.installation import Installation
    from tests.devcluster.lookup import Programs
    from tests.devcluster.network import Network
    from tests.devcluster.processes import OpenFile

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Supplies:
    """What nodes are made of: programs, network plug-ins, unpacked images; `lock_file` keeps these for us."""

    programs: Programs
    plugins: Path
    store: Path
    kept_open: OpenFile


@dataclass(frozen=True, slots=True)
class Rack:
    """What the nodes of one cluster share; `slot` keeps the network for it.

    `static_cores`: the kubelet of its one node gives containers cores of their own.
    """

    network: Network
    slot: OpenFile
    supplies: Supplies
    static_cores: bool = False

    @property
    def kept_open(self) -> tuple[OpenFile, ...]:
        """Return what must stay open for as long as the cluster lives."""
        return (self.slot, self.supplies.kept_open)


def supplies(images: Sequence[AnyImage] | None = None, version: str | None = None) -> Supplies:
    """Find, or make, all that nodes need; raises MissingProgramsError where there cannot be nodes."""
    plugins = node_programs.require()
    suites = lookup.kubernetes(version, nodes=True), lookup.CONTAINERD, lookup.COREDNS
    programs = {name: path for suite in suites for name, path in lookup.locate(suite).items()}
    if images is None:
        from tests.devcluster import node_images  # noqa: PLC0415 - it needs the project itself

        images = node_images.build()
    store, lock_file = image_store.store(images, programs)
    return Supplies(programs, plugins, store, lock_file)


def reserve(images: Sequence[AnyImage] | None, version: str | None) -> Rack:
    """Have all that nodes need, and choose a network; nothing is started yet."""
    node_programs.allow_watches()
    found = supplies(images, version)
    chosen, slot = network.take_slot()
    return Rack(chosen, slot, found)


def start_dns(installation: Installation, rack: Rack) -> None:
    """Start the cluster's DNS on this machine, and lead the nodes to it."""
    access = installation.user("test-dns")
    configuration = installation.directory / "Corefile"
    configuration.write_text(node_config.corefile(rack.network, installation.endpoint, access.kubeconfig))
    for path, document in node_config.objects(rack.network):
        installation.api.apply(
            path, {**document, "metadata": {**document.get("metadata", {}), **named(path)}}
        )
    installation.guardian.start("coredns", [rack.supplies.programs["coredns"], "-conf", configuration])
    url = f"http://{rack.network.host}:{node_config.DNS_PORT}/ready"
    installation.wait(lambda: nodes.answers(url), "coredns", "to be ready")


def start_enforcer(installation: Installation, network: Network) -> None:
    """Start what enforces NetworkPolicies; a pod that starts before it listens waits for it."""
    options: list[str | Path] = ["--kubeconfig", installation.user("test-enforcer").kubeconfig]
    options += ["--directory", installation.directory, "--slot", str(network.slot)]
    program = [sys.executable, "-m", "tests.devcluster.enforcer"]
    installation.guardian.start(ENFORCER, [*program, *options], {"PYTHONPATH": str(ROOT)})


def named(path: str) -> dict[str, str]:
    """Return the metadata that a resource path names."""
    parts = path.split("/")
    space = {"namespace": parts[parts.index("namespaces") + 1]} if "namespaces" in parts else {}
    return {"name": parts[-1], **space}


def existing(installation: Installation, rack: Rack) -> list[Node]:
    """List the nodes, in the order of their numbers."""
    folder = installation.directory / "nodes"
    numbers = sorted(int(path.name.partition("-")[2]) for path in folder.glob("node-*"))
    return [node(installation, rack, number) for number in numbers]


def node(installation: Installation, rack: Rack, number: int) -> Node:
    """Return the node of a number."""
    name = f"node-{number}"
    settings = NodeSettings(installation.directory / "nodes" / name, name, number, rack.network)
    settings = replace(settings, static_cores=rack.static_cores)
    return Node(settings, installation.guardian, rack.supplies.programs)


def add(installation: Installation, rack: Rack, count: int) -> list[Node]:
    """Add nodes until there are so many; returns all of them when they are Ready."""
    if rack.static_cores and count > 1:
        raise HarnessError("several kubelets with the static CPU manager would give away the same cores")
    if count >= network.NUMBERS.stop:
        raise HarnessError(f"{count} nodes are asked for; the network has room for {len(network.NUMBERS)}")
    present = existing(installation, rack)
    fresh = [node(installation, rack, number) for number in range(len(present) + 1, count + 1)]
    for one in fresh:
        furnish(installation, rack, one.settings)
        one.power_on()
    for one in fresh:
        one.start_kubelet()
    nodes.wait_ready(installation.api, fresh, installation.guardian)
    return [*present, *fresh]


def furnish(installation: Installation, rack: Rack, settings: NodeSettings) -> None:
    """Write a node's files: configurations, certificates, images."""
    for folder in (settings.folder / "cni", settings.folder / "containerd", settings.plugins):
        folder.mkdir(parents=True, mode=0o700)
    user = f"system:node:{settings.name}"
    pair = installation.users.issue(settings.name, user, ["system:nodes"], [settings.name, settings.address])
    authority = installation.users.file
    write_access(settings.folder / "kubelet.kubeconfig", installation.url, authority.read_bytes(), pair)
    group = control_groups.name_of(installation.directory, settings.name)
    node_config.write(settings.folder / "kubelet.yaml", node_config.kubelet(settings, group, authority, pair))
    proxy = installation.user("system:kube-proxy").kubeconfig
    node_config.write(settings.folder / "proxy.yaml", node_config.proxy(settings, proxy))
    (settings.folder / "resolv.conf").write_text(f"nameserver {rack.network.host}\n")
    (settings.folder / "containerd.toml").write_text(node_config.containerd(settings, rack.supplies.plugins))
    enforcer = installation.directory / ENFORCER
    (settings.folder / "cni" / "10-test.conflist").write_text(node_config.cni(settings, enforcer))
    plugin = settings.plugins / node_config.POLICIES
    plugin.write_text(node_config.plugin())
    plugin.chmod(0o700)
    image_store.give(rack.supplies.store, settings.folder / "containerd")
