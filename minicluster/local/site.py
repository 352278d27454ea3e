"""The resources of this machine: ports, cores, and an engine."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.local.errors import EngineMissing, PortTaken, SizeRefused

if TYPE_CHECKING:
    from broker_config.settings import BrokerEndpoint
    from minicluster.document import MiniCluster
    from minicluster.local.state_directory import ClusterDirectory
    from minicluster.plan.records import Site

ADDRESS = "127.0.0.1"
ENGINES = ("auto", "flux", "embedded")
MAX_BROKERS_PER_CORE = 64
"""On two cores 64 brokers came up in 17 s; more than twice as many are taken for a mistake."""
MAX_RESERVED_PORTS = 256
"""Ports are open files, of which a process may have 1,024."""
DEVICES = Path("/dev")
GPU_DEVICES = ("nvidia[0-9]*", "dri/renderD*")
"""The devices of GPUs there: NVIDIA's, and those of the kernel's own drivers."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine that runs the brokers."""

    name: str
    """"flux" or "embedded"."""
    program: str = ""
    """Real Flux's command."""


def engine(wanted: str) -> Engine:
    """Return the engine to use; "auto" is real Flux where it is on PATH. Raises EngineMissing."""
    if wanted == "embedded":
        return Engine("embedded")
    if wanted == "auto" and shutil.which("flux") is None:
        return Engine("embedded")
    from minicluster.instance.connection import real_flux
    from minicluster.instance.errors import NoEngine

    try:
        return Engine("flux", real_flux())
    except NoEngine as error:
        if wanted == "auto":
            return Engine("embedded")
        raise EngineMissing(f"--engine flux: {error}; install flux-core, or use --engine embedded") from error


def cores_of_machine() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


def check_brokers(size: int, *, oversubscribe: bool) -> None:
    """Raise SizeRefused where this machine is asked for far more brokers than it has cores."""
    cores = cores_of_machine()
    most = MAX_BROKERS_PER_CORE * cores
    if size > most and not oversubscribe:
        has = "1 core" if cores == 1 else f"{cores} cores"
        raise SizeRefused(
            f"{size} brokers are too many for {has}: each is a process, and this machine should have at most"
            f" {most}. Take fewer with --size, or start them all the same with --oversubscribe"
        )


def gpu_notice(cluster: MiniCluster) -> str:
    """Return what the GPUs of a document mean on this machine; empty: they are there, or there are none."""
    from minicluster.document import rank_resources, runner_index

    resources = cluster.spec.containers[runner_index(cluster.spec)].resources
    asked = rank_resources.gpus(resources)
    found = max(len(list(DEVICES.glob(pattern))) for pattern in GPU_DEVICES)
    if not asked or (asked <= found and cluster.spec.size == 1):
        return ""
    names = ", ".join(rank_resources.gpu_names(resources))
    gpus = "1 GPU" if asked == 1 else f"{asked} GPUs"
    return (
        f"each broker schedules {gpus} ({names}) because the document asks for them; this machine has"
        f" {found or 'none'}, and brokers do not share them out"
    )


def local_site(
    cluster: MiniCluster, hosts: tuple[str, ...], directory: ClusterDirectory, ports: contextlib.ExitStack
) -> Site:
    """Return the site for a cluster on this machine, whose ports `ports` reserves. Raises PortTaken."""
    from minicluster.plan.records import Site

    return Site(
        cores=max(1, cores_of_machine() // max(cluster.spec.size, 1)),
        label_output=cluster.spec.tasks != 1,
        passes_input=True,
        endpoints=endpoints(hosts, _port(cluster), ports),
        config_dir=str(directory.config),
        curve_dir=str(directory.path),
        curve_path=str(directory.curve),
    )


def endpoints(
    hosts: tuple[str, ...], port: int | None, ports: contextlib.ExitStack
) -> tuple[BrokerEndpoint, ...]:
    """Return the endpoint of each broker: at ports from `port` on, or at free ones. Raises PortTaken.

    Until `ports` is closed nobody else is given one of them, nor may listen there without SO_REUSEADDR, which
    brokers set. A port that is merely free can be another program's before the broker has started.
    """
    from broker_config.settings import BrokerEndpoint

    with contextlib.ExitStack() as sockets:
        numbers = [_bound(sockets, port + rank if port else 0) for rank in range(len(hosts))]
        if len(hosts) <= MAX_RESERVED_PORTS:
            ports.enter_context(sockets.pop_all())
    uris = [f"tcp://{ADDRESS}:{number}" for number in numbers]
    return tuple(BrokerEndpoint(host, uri, uri) for host, uri in zip(hosts, uris, strict=True))


def _port(cluster: MiniCluster) -> int | None:
    network = cluster.spec.network
    return network.port if "port" in network.model_fields_set else None


def _bound(sockets: contextlib.ExitStack, port: int) -> int:
    """Bind a port, and return its number."""
    listener = sockets.enter_context(socket.socket())
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
    except OSError as error:
        raise PortTaken(
            f"port {port} on {ADDRESS}: {(error.strerror or 'refused').lower()};"
            " another program listens there. Set spec.network.port to another one, or leave it out"
        ) from error
    return int(listener.getsockname()[1])


def own_programs() -> Path:
    """Return the directory of the programs installed beside this one, such as `lmp`."""
    import sysconfig

    return Path(sysconfig.get_path("scripts"))
