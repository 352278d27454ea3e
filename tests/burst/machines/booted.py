"""Machines that are none, on the network of a test cluster: they boot what instances of Compute Engine boot.

Each has namespaces of its own: a network on the cluster's bridge, a file system with an image of the nodes
(`node_images`: sh, Python and Flux, and little else), and processes, which end with it. Who has a fake that
sells them sets `cloud.started = machines.started` and `cloud.ended = machines.ended`.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tests.devcluster import network, until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from burst.rehearsal.cloud import CloudMachine
    from tests.devcluster import ControlPlane
    from tests.devcluster.images import Image

SECONDS = 120.0
PROJECT = Path(__file__).parents[3]
FIRST_NUMBER, MAX_MACHINES = 61, 100
"""Addresses of machines are behind those of nodes, on the same cable."""
NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts", "--ipc")


@dataclass
class BootedMachine:
    """One machine."""

    name: str
    address: str
    folder: Path
    process: subprocess.Popen[str]

    @property
    def console(self) -> str:
        """All that is on its serial console."""
        try:
            return (self.folder / "console").read_text()
        except OSError:
            return ""

    @property
    def is_off(self) -> bool:
        """Whether it is switched off."""
        return self.process.poll() is not None

    def boot(self) -> None:
        """Have the guest agent run the startup script, as at every boot."""
        assert self.process.stdin is not None
        self.process.stdin.write("boot\n")
        self.process.stdin.flush()

    def went_off(self, seconds: float = SECONDS) -> str:
        """Wait until it has switched itself off; return its console."""
        until(lambda: self.is_off, f"{self.name} to be off: {self.console}", seconds)
        assert self.process.returncode == 0, self.console
        return self.console

    def in_its_root(self, *words: str) -> str:
        """Return what a program prints that root runs on the machine."""
        [first] = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        root = self.folder / "disk" / "root"
        enter = [network.program("nsenter"), "-t", first, "--mount", "--net", "--pid", "--"]
        return network.call([*enter, "chroot", str(root), *words])

    def reset(self) -> None:
        """Kill all that runs on it, and boot it again; its disk stays."""
        self.in_its_root("sh", "-c", "kill -s KILL -- -1")
        self.boot()

    def cut(self) -> None:
        """Pull its cable."""
        network.commands(["link set eth0 down"], self.process.pid)

    def kill(self) -> None:
        """Take its power."""
        with contextlib.suppress(OSError, ValueError):
            assert self.process.stdin is not None
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@dataclass
class Machines:
    """Those on the network of one cluster, whose image is unpacked when the first one starts.

    Any thread may use it: fakes start machines in those of their servers.
    """

    plane: ControlPlane
    folder: Path
    image: Image
    metadata: Callable[[CloudMachine], Mapping[str, str]] = lambda _machine: {}
    """What a fake has as metadata of a machine that it sells."""
    now: Callable[[], float] = time.time
    """The fake's clock, which runs as fast as ours."""
    made: list[BootedMachine] = field(default_factory=list)
    """All that were started, the newest last; several may have had one name."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self._ends: dict[str, threading.Timer] = {}

    def started(self, machine: CloudMachine) -> None:
        """Boot a machine that a fake has sold."""
        self.start(machine.name, self.metadata(machine)).boot()

    def ended(self, machine: CloudMachine) -> None:
        """Take the power of a machine at its end, which may be decided anew."""
        found = next((each for each in reversed(self.made) if each.name == machine.name), None)
        if found is None or machine.ended is None:
            return
        timer = threading.Timer(max(machine.ended - self.now(), 0.0), found.kill)
        timer.daemon = True
        if (before := self._ends.pop(machine.name, None)) is not None:
            before.cancel()
        self._ends[machine.name] = timer
        timer.start()

    def start(self, name: str, attributes: Mapping[str, str]) -> BootedMachine:
        """Make a machine, which does nothing before its boot."""
        with self._lock:
            image = self._unpacked()
            number = FIRST_NUMBER + self._count % MAX_MACHINES
            self._count += 1
        folder = self.folder / f"{name}-{self._count}"
        folder.mkdir(parents=True)
        (folder / "metadata.json").write_text(json.dumps({"name": name, "attributes": dict(attributes)}))
        program = ["-m", "tests.burst.machines.firmware", str(folder), str(image)]
        process = subprocess.Popen(
            [network.program("unshare"), *NAMESPACES, "--", sys.executable, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
        )
        made = BootedMachine(name, self._address(number), folder, process)
        self.made.append(made)
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise AssertionError(f"{name} has not begun, with {process.wait()}")
        self._plug(made)
        return made

    def close(self) -> None:
        """Take the power of all."""
        for timer in self._ends.values():
            timer.cancel()
        for each in self.made:
            each.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _address(self, number: int) -> str:
        assert self.plane.rack is not None
        return f"{self.plane.rack.network.prefix}.0.{number}"

    def _plug(self, machine: BootedMachine) -> None:
        rack = self.plane.rack
        assert rack is not None
        cable = f"vm{machine.process.pid}"  # that of an earlier machine may take a moment to go
        bridge = self.plane.guardian.pids()[network.RACK]
        network.commands(
            [
                f"link add {cable} type veth peer name eth0 netns {machine.process.pid}",
                f"link set {cable} master bridge",
                f"link set {cable} up",
            ],
            bridge,
        )
        network.commands(
            [
                f"addr add {machine.address}/24 dev eth0",
                "link set eth0 up",
                f"route add default via {rack.network.host}",
            ],
            machine.process.pid,
        )

    def _unpacked(self) -> Path:
        root = self.folder / "image"
        if not root.exists():
            root.mkdir(parents=True)
            for each in self.image.layers:
                subprocess.run(["tar", "-C", str(root), "-xf", str(each.file)], check=True)
        return root
