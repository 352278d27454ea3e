"""The broker pods of a MiniCluster with the lead API, on this machine: rendered files, the start script."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from broker_config import broker_toml, curve, instance_resources, start_script
from broker_config.settings import BrokerEndpoint, BrokerSettings, FluxView, LeadApiSettings, NetworkSettings
from minicluster import flux_zips
from tests.lead.client import DEADLINE, Client, until
from tests.lead.keys import Authority
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _descendants(pid: int) -> Iterator[int]:
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, children.read_text().split()):
                yield child
                yield from _descendants(child)


def _lead_servers(script: int) -> Iterator[int]:
    for pid in _descendants(script):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"minicluster.lead_server." in command or b"minicluster.embedded_lead." in command:
                yield pid


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it has begun."""
    for pid in [*_descendants(process.pid), process.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(DEADLINE)


class Pods:
    """`flux` is the folder of the engine's command; the lead starts with `start(0)`."""

    def __init__(self, flux: Path, directory: Path, settings: BrokerSettings) -> None:
        self.flux = flux
        self.directory = directory
        self.config = directory / "config"
        self.config.mkdir()
        authority = Authority()
        self.secret = directory / "secret"
        token = authority.write(self.secret)
        self.lead_api = Client(free_port(), authority.certificate, token)
        lead = f"tcp://127.0.0.1:{free_port()}"
        self.settings = replace(
            settings,
            config_dir=str(self.config),
            curve_path=str(directory / "curve.cert"),
            logs=str(directory / "logs"),
            network=NetworkSettings(endpoints=(BrokerEndpoint(settings.hosts[0], lead, lead),)),
            view=FluxView(disable=True),
            lead_api=LeadApiSettings(self.lead_api.port, str(self.secret), tokens=str(directory / "tokens")),
        )
        self._write()
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.wrapper: list[str] = []  # words before the start script's own command line

    def _write(self) -> None:
        texts = {
            "broker.toml": broker_toml.render(self.settings),
            "R": instance_resources.render(self.settings),
            "start.sh": start_script.render(self.settings),
            **start_script.companion_files(self.settings),
            **flux_zips.module_files(),
            **(flux_zips.scheduler_files() if self.settings.scheduler.in_flux else {}),
        }
        for name, text in texts.items():
            (self.config / name).write_text(text)
        (self.config / flux_zips.ZIP).write_bytes(flux_zips.pack())
        if self.settings.scheduler.in_flux:
            (self.config / flux_zips.SCHEDULER_ZIP).write_bytes(flux_zips.pack_scheduler())
        self.certificate()

    def certificate(self, name: str = "curve.cert") -> Path:
        """A CURVE certificate; one of another name is another one."""
        path = self.directory / name
        path.write_text(curve.render("mc", curve.generate()))
        path.chmod(0o400)
        return path

    def start(self, *ranks: int, **environment: str) -> Pods:
        for rank in ranks:
            variables = {
                "PATH": f"{self.flux}:/usr/local/bin:/usr/bin:/bin",
                "HOME": str(self.directory),
                "LANG": "C.UTF-8",
                "MINICLUSTER_CONFIG": str(self.config),
                "MINICLUSTER_CURVE": self.settings.curve_path,
                "MINICLUSTER_RUN": str(self.directory / str(rank)),
                "MINICLUSTER_TERMINATION_LOG": str(self.directory / f"termination-{rank}"),
                "JOB_COMPLETION_INDEX": str(rank),
                **environment,
            }
            with self._log(rank).open("ab") as log:
                self.processes[rank] = subprocess.Popen(
                    [*self.wrapper, "sh", str(self.config / "start.sh")],
                    env=variables, cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    start_new_session=True,
                )  # fmt: skip
        return self

    def _log(self, rank: int) -> Path:
        return self.directory / f"log-{rank}"

    def log_text(self, rank: int = 0) -> str:
        return self._log(rank).read_text(errors="replace")

    def wait_for_log(self, text: str, rank: int = 0) -> str:
        """Wait until the broker's log holds `text`."""
        until(lambda: text in self.log_text(rank), f"{text!r} in the log of {rank}")
        return self.log_text(rank)

    def run(self, *words: str) -> str:
        """Run a flux command against the lead; its output."""
        done = self.ran(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def ran(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a flux command against the lead, which may fail."""
        environment = {
            "PATH": f"{self.flux}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.directory),
            "LANG": "C.UTF-8",
            "FLUX_URI": f"local://{self.directory}/0/local",
        }
        return subprocess.run(
            ["flux", *words], env=environment, capture_output=True, text=True, timeout=DEADLINE, check=False
        )

    def lead_server_process(self) -> int:
        """Return the process id of the lead server."""
        return int(until(lambda: next(_lead_servers(self.processes[0].pid), 0), "a door's process"))

    def brokers(self, rank: int) -> list[int]:
        """The process ids of a rank's broker, also of one whose script is gone."""
        mark = f"-Srundir={self.directory}/{rank}/flux".encode()
        return [
            int(file.parent.name)
            for file in Path("/proc").glob("[0-9]*/cmdline")
            if mark in _bytes(file).split(b"\0")
        ]

    def end(self, rank: int) -> int:
        """Terminate a pod; return its exit code."""
        self.processes[rank].terminate()
        return self.wait(rank)

    def kill(self, rank: int = 0) -> None:
        """Kill all processes of a pod at once, as when its node fails."""
        process = self.processes.pop(rank)
        process.send_signal(signal.SIGSTOP)
        _kill(process)

    def wait(self, rank: int = 0) -> int:
        return self.processes.pop(rank).wait(DEADLINE)

    def close(self) -> None:
        """End everything, by force."""
        for process in self.processes.values():
            _kill(process)
        for pid in (pid for rank in range(self.settings.size) for pid in self.brokers(rank)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
