"""Connects to an instance: finds which engine serves an address, and which `flux` is real Flux."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import struct
import subprocess
from typing import TYPE_CHECKING, Literal

from minicluster.instance.errors import InstanceGone, NoEngine
from minicluster.instance.links.flux import FluxEndpoint
from minicluster.instance.rpc_instance import RpcInstance

if TYPE_CHECKING:
    from minicluster.instance.port import Instance

EngineChoice = Literal["auto", "flux", "embedded"]

PROBE_TIMEOUT = 5.0
"""Seconds that a broker has for answering the probe."""


def connect(uri: str | None = None, engine: EngineChoice = "auto") -> Instance:
    """Connect to the instance at `uri`, by default the one that FLUX_URI names.

    With `engine` "auto" the broker itself is asked what it is. Raises InstanceGone where no broker answers,
    and NoEngine where real Flux answers but there is no flux-core on PATH.
    """
    address = uri or os.environ.get("FLUX_URI", "")
    if not address:
        raise InstanceGone("no address given and FLUX_URI is not set: name the instance, or run inside one")
    if "://" not in address:
        raise InstanceGone(
            f"{address!r} is no address, as FLUX_URI has one; a cluster of this machine is found by its name:"
            f" minicluster.local.connection.of({address!r})"
        )
    if engine == "auto":
        engine = engine_of(address)
    if engine == "embedded":
        from minicluster.instance.links.embedded import EmbeddedEndpoint  # noqa: PLC0415 - only where it is used

        return RpcInstance(EmbeddedEndpoint(address))
    return RpcInstance(FluxEndpoint(address, real_flux()))


def real_flux(path: str | None = None) -> str:
    """Return the flux-core command on PATH (or `path`, like it).

    Other programs are called `flux` too, a GitOps tool among them, and so is the embedded instance's own
    command. Raises NoEngine with what was found instead.
    """
    found: list[str] = []
    for folder in (os.environ.get("PATH", "") if path is None else path).split(os.pathsep):
        command = shutil.which("flux", path=folder) if folder else None
        if command is not None and command not in found:
            if is_flux_core(command):
                return command
            found.append(command)
    other = f"; {', '.join(found)} is another program of that name" if found else ""
    raise NoEngine(f"real Flux is needed here, but there is no flux-core on PATH{other}")


def is_flux_core(command: str) -> bool:
    """Return whether `command` is flux-core's."""
    return bool(core_version(command))


def core_version(command: str) -> str:
    """Return the version of the flux-core whose `command` this is; empty: it is another program's.

    Only flux-core's prints the version of its own libflux-core.
    """
    try:
        completed = subprocess.run(
            [command, "version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"^libflux-core:\s*(\S+)", completed.stdout, re.MULTILINE)
    is_core = completed.returncode == 0 and "embedded" not in completed.stdout
    return found[1] if found and is_core else ""


def engine_of(uri: str) -> Literal["flux", "embedded"]:
    """Ask the broker at `uri` what it is. Raises InstanceGone where no broker answers.

    Only real Flux has addresses other than local://. On a local socket real Flux sends one byte, and hangs up
    on a message that it does not know. The embedded instance answers it with a frame, which is longer.
    """
    scheme, _, path = uri.partition("://")
    if scheme != "local":
        return "flux"
    question = json.dumps({"id": 1, "topic": "attr.get", "payload": {"name": "version"}}).encode("ascii")
    try:
        with socket.socket(socket.AF_UNIX) as broker:
            broker.settimeout(PROBE_TIMEOUT)
            broker.connect(path)
            broker.sendall(struct.pack(">I", len(question)) + question)
            answer = _at_most(broker, 5)
    except OSError as error:
        raise InstanceGone(f"{uri}: no broker answers: {error.strerror or error}") from error
    return "embedded" if len(answer) == 5 and answer[4:] == b"{" else "flux"


def _at_most(broker: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        try:
            more = broker.recv(size - len(received))
        except ConnectionResetError:
            break
        if not more:
            break
        received += more
    return received
