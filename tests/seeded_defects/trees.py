"""A checked-out tree: whether it can be worked with, its tests run, and a defect in one of its files."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.devcluster import building
from tests.seeded_defects.errors import SeedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tests.seeded_defects.defects import Edition

PACKAGES = ("broker_config", "queue_policies", "metrics_api", "minicluster")
_PLUGINS = ("-p", "no:randomly", "-p", "no:cacheprovider")
GRACE_PERIOD = 20.0
"""Seconds that pytest has after SIGINT, to end what its tests have started."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A worktree of this repository, with an environment of its own in `.venv`."""

    path: Path

    @property
    def python(self) -> Path:
        """Return the interpreter of its environment."""
        return self.path / ".venv" / "bin" / "python"

    @property
    def cache(self) -> Path:
        """Return the directory, outside the tree, for what is measured of its code. Raises SeedError."""
        code = self._git("rev-parse", *(f"HEAD:{each}" for each in PACKAGES))
        key = hashlib.sha256(os.fsencode(self.path) + code.encode()).hexdigest()[:12]
        return building.cache_folder(os.environ).parent / "seeded-defects" / key

    def check(self) -> None:
        """Raise SeedError where defects cannot be seeded into it."""
        if not self.python.exists():
            raise SeedError(f"{self.path} has no environment: make -C {self.path} .venv/.ready")
        changed = self._git("status", "--porcelain", "--untracked-files=no")
        if changed:
            raise SeedError(f"{self.path} is not clean: commit or stash\n{changed}")

    def _git(self, *arguments: str) -> str:
        command = ("git", "-C", str(self.path), *arguments)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SeedError(f"{self.path} is no tree of this repository: {done.stderr.strip()}")
        return done.stdout.rstrip()

    @contextlib.contextmanager
    def seeded(self, edition: Edition) -> Iterator[None]:
        """Have a defect in one of its files, which is as before afterwards, whatever happens.

        With its former time as well, so that what was compiled of it still counts. Raises SeedError.
        """
        file = self.path / edition.file
        before, status = file.read_bytes(), file.stat()
        seeded = edition.seeded(before.decode())
        try:
            file.write_text(seeded, encoding="utf-8", newline="")
            yield
        finally:
            with _undisturbed():
                file.write_bytes(before)
                os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    def pytest(
        self, arguments: Sequence[str], *, seconds: float | None = None, env: Mapping[str, str] | None = None
    ) -> tuple[int, str]:
        """Run its tests; return pytest's exit code and the end of its output. Raises TimeoutError.

        The examples of property tests are the same ones each time, and nothing is compiled into the tree.
        """
        environment = {**os.environ, "CI": "1", "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
        process = subprocess.Popen(
            (str(self.python), "-m", "pytest", "-q", *_PLUGINS, *arguments),
            cwd=self.path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"not done within {seconds:g} s") from None
        finally:
            _end(process)
        return process.returncode, output[-2000:]


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Have signals that would end this process wait."""
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def _end(process: subprocess.Popen[str]) -> None:
    """End a run of pytest that is not over: first as Ctrl-C does, so that fixtures clean up."""
    for signum in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=GRACE_PERIOD)
