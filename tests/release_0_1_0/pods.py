"""Pods of 0.1.0 on this machine: its start script and configuration, engine and side files of choice."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tests.devcluster import waiting
from tests.release_0_1_0 import adapters
from tests.release_0_1_0.adapters import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

DEADLINE = 60.0
OWN = ("start.sh", "broker.toml", "R")
"""What a pod of 0.1.0 keeps of its own where only its side files are replaced."""


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for the condition's first true value, and return it."""
    return waiting.until(condition, what, DEADLINE)


def old_files(mode: str) -> dict[str, bytes]:
    """Return what 0.1.0 had in the ConfigMap of such a MiniCluster."""
    files = {each.name: each.read_bytes() for each in (DATA / "pods" / mode).iterdir()}
    zips = adapters.ZIPS if "minicluster-sched.py" in files else adapters.ZIPS[:1]
    return files | {name: (DATA / name).read_bytes() for name in zips}


def new_files(mode: str) -> dict[str, bytes]:
    """Return what such a MiniCluster's ConfigMap has today."""
    return adapters.pod_files((DATA / "documents" / f"pods-{mode}.yaml").read_text())


def _placed(data: bytes, directory: Path, ports: Mapping[int, int]) -> bytes:
    """Return a file with this machine's folders and ports in place of what stands for them."""
    text = data.decode()
    for name in ("config", "secret", "archive", "run"):
        text = text.replace(f"/@{name}@", str(directory / name))
    for old, new in ports.items():
        text = text.replace(str(old), str(new))
    return text.encode()


class Pods:
    """Brokers of one MiniCluster, `flux` the folder of their engine's command."""

    def __init__(self, directory: Path, flux: Path, files: Mapping[str, bytes]) -> None:
        self.directory = directory
        self.flux = flux
        self.config = directory / "config"
        self.archive = directory / "archive" / "mc.tgz"
        authority, token, _ = adapters.lead_files(directory / "secret")
        self._ports = {adapters.PORT: adapters.free_port(), adapters.LEAD_API_PORT: adapters.free_port()}
        self.lead = adapters.lead_client(self._ports[adapters.LEAD_API_PORT], authority, token)
        certificate = directory / "secret" / "curve.cert"
        certificate.write_text(adapters.curve_certificate())
        certificate.chmod(0o400)
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.update(files)

    def update(self, files: Mapping[str, bytes]) -> None:
        """Have the ConfigMap's files replaced, as a kubelet does: at once, by other ones."""
        fresh = self.directory / f"config-{time.monotonic_ns()}"
        fresh.mkdir()
        for name, data in files.items():
            (fresh / name).write_bytes(
                data if name.endswith(".zip") else _placed(data, self.directory, self._ports)
            )
        link = self.directory / "config.new"
        link.symlink_to(fresh)
        link.replace(self.config)

    def start(self, *ranks: int) -> Pods:
        """Start brokers."""
        for rank in ranks:
            (self.directory / "run").mkdir(exist_ok=True)
            with self._log(rank).open("ab") as log:
                self.processes[rank] = subprocess.Popen(
                    ["sh", str(self.config / "start.sh")],
                    env=self.environment(rank),
                    cwd=self.directory,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        return self

    def environment(self, rank: int) -> dict[str, str]:
        """Return what a broker's container has."""
        return {
            "PATH": f"{self.flux}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.directory),
            "LANG": "C.UTF-8",
            "MINICLUSTER_CONFIG": str(self.config),
            "MINICLUSTER_CURVE": str(self.directory / "secret" / "curve.cert"),
            "MINICLUSTER_RUN": str(self.directory / str(rank)),
            "MINICLUSTER_TERMINATION_LOG": str(self.termination(rank)),
            "JOB_COMPLETION_INDEX": str(rank),
        }

    def termination(self, rank: int) -> Path:
        """Return where the container's last message is."""
        return self.directory / f"termination-{rank}"

    def _log(self, rank: int) -> Path:
        return self.directory / f"log-{rank}"

    def log_text(self, rank: int = 0) -> str:
        """Return what a broker's container has written."""
        return self._log(rank).read_text(errors="replace")

    def status(self, **wanted: object) -> dict[str, Any]:
        """Wait until the lead reports these values."""

        def asked() -> dict[str, Any] | None:
            with contextlib.suppress(OSError):
                code, answer = self.lead.ask("GET", "/v1/status")
                if code == 200 and all(answer[key] == value for key, value in wanted.items()):
                    return dict(answer)
            return None

        found: dict[str, Any] = until(asked, f"{wanted} of the lead; it wrote {self.log_text()[-2000:]}")
        return found

    def visit(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the start script for somebody who comes into the lead's container."""
        return subprocess.run(
            ["sh", str(self.config / "start.sh"), *words],
            env=self.environment(0),
            cwd="/",
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )

    def relay(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Ask by the start script's relay, as `minicluster --on kubernetes` does; return its first lines."""
        with subprocess.Popen(
            ["sh", str(self.config / "start.sh"), "relay"],
            env=self.environment(0),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            lines = [json.loads(process.stdout.readline()) for _ in range(2)]
            process.stdin.close()
            assert process.wait(DEADLINE) == 0
        return lines

    def run(self, *words: str) -> str:
        """Run a command of the engine there, which must succeed."""
        done = self.visit("shell", "--", "flux", *words)
        assert done.returncode == 0, done.stderr + self.log_text()[-2000:]
        return done.stdout.strip()

    def jobs(self) -> dict[str, str]:
        """Return all jobs' names and states."""
        listed = self.run("jobs", "-a", "-A", "-no", "{name}:{status}").splitlines()
        return dict(each.split(":") for each in listed)

    def wait(self, rank: int) -> int:
        """Wait for the end of a container; its exit code."""
        return self.processes.pop(rank).wait(DEADLINE)

    def last_message(self) -> dict[str, Any]:
        """Return the lead's termination message."""
        found: dict[str, Any] = json.loads(self.termination(0).read_text())
        return found

    def close(self) -> None:
        """End what still runs."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
