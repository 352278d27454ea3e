"""Runs `minicluster` as a user does, in the test's own state directory, and finds what it left behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from minicluster.instance.connection import is_flux_core
from minicluster.local import processes
from tests import forked, inside
from tests.devcluster.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

T = TypeVar("T")
PROGRAM = (sys.executable, "-m", "minicluster.cli")
SHORT = frozenset({"cancel", "down", "jobs", "list", "scale", "status", "submit", "top"})
"""Commands that ask for something and print the answer: nothing that they begin outlives them."""


def document(
    directory: Path,
    name: str = "mc",
    *,
    size: int = 2,
    spec: Mapping[str, Any] | None = None,
    **container: Any,
) -> Path:
    """Write a document and return its path; values are written as JSON, which is YAML too."""
    body = {
        "apiVersion": "flux-framework.org/v1alpha2",
        "kind": "MiniCluster",
        "metadata": {"name": name},
        "spec": {"size": size, **(spec or {}), "containers": [{"image": "test", **container}]},
    }
    path = directory / f"{name}.yaml"
    path.write_text(json.dumps(body))
    return path


@dataclass
class Machine:
    """A state directory, and what runs in it."""

    root: Path
    engine: str
    environment: dict[str, str] = field(default_factory=dict)
    as_processes: Collection[str] = ()
    """Short commands that get a process of their own all the same."""

    def call(
        self, *arguments: str | Path, timeout: float = 60, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run `minicluster` and return the ended process, which need not have begun as such."""
        words = list(map(str, arguments))
        is_usual = not options and "PYTHONPATH" not in self.environment
        if is_usual and words[0] in SHORT and words[0] not in self.as_processes:
            return inside.completed(words, self._environment())
        if is_usual:
            return forked.completed(words, self._environment(), timeout=timeout)
        return subprocess.run(
            [*PROGRAM, *words],
            env=self._environment(),
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
            check=False,
            **options,
        )

    def run(
        self, path: Path, *arguments: str, timeout: float = 60, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """`minicluster run`."""
        return self.call("run", path, "--engine", self.engine, *arguments, timeout=timeout, **options)

    def up(self, path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`minicluster up`."""
        return self.call("up", path, "--engine", self.engine, *arguments)

    def start(self, *arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
        """Start `minicluster` and return at once."""
        return subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            env=self._environment(),
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        """Return the rows of a listing, from its JSON."""
        rows: list[dict[str, Any]] = json.loads(self.good(*arguments, "--output", "json").stdout)
        return rows

    def good(self, *arguments: str | Path, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run `minicluster`, which must end with 0."""
        done = self.call(*arguments, timeout=timeout)
        assert done.returncode == 0, done.stderr + done.stdout
        return done

    def directories(self) -> list[Path]:
        """Return the directories of clusters."""
        return sorted(self.root.iterdir()) if self.root.exists() else []

    def processes(self) -> list[str]:
        """Return the processes that still run of any cluster of this machine."""
        needle = f"{processes.MARKER}={self.root}/".encode()
        return [
            _read(entry / "cmdline").replace(b"\0", b" ").decode(errors="replace")
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit() and needle in _read(entry / "environ")
        ]

    def left(self) -> tuple[list[Path], list[str]]:
        """Return what should not be there once everything has ended: directories and processes."""
        return self.directories(), self.processes()

    def broker(self, rank: int) -> int:
        """Return the process id of a rank's broker (not of the script around it)."""
        return eventually(lambda: self._broker(rank), f"a broker of rank {rank}")

    def _broker(self, rank: int) -> int | None:
        ending = f"/r/{rank}/flux".encode()
        for entry in Path("/proc").iterdir():
            words = _read(entry / "cmdline").split(b"\0") if entry.name.isdigit() else []
            rundirs = [word for word in words if word.startswith((b"-Srundir=", b"--setattr=rundir="))]
            ours = [word for word in rundirs if word.endswith(ending) and str(self.root).encode() in word]
            if ours and not words[0].endswith(b"sh"):
                return int(entry.name)
        return None

    def _environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("FLUX_")}
        # bash(1): with a socket as standard input, as Flux gives, a first-level shell reads ~/.bashrc.
        kept["SHLVL"] = "2"
        return {**kept, "MINICLUSTER_RUNTIME_DIR": str(self.root), **self.environment}


def engines() -> Sequence[str]:
    """Return the engines that tests can run on: real Flux where it is on PATH."""
    found = shutil.which("flux")
    return ("embedded", "flux") if found and is_flux_core(found) else ("embedded",)


def eventually(ask: Callable[[], T | None], what: str, deadline: float = 20.0) -> T:
    """Ask until the answer is true; fail after `deadline` seconds."""
    return until(ask, what, deadline)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
