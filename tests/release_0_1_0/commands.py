"""`minicluster` as a user calls it, with a runtime directory of its own."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

from tests.release_0_1_0 import adapters, site

if TYPE_CHECKING:
    from pathlib import Path


class Commands:
    """Runs commands; the packages in `folders` come before all others."""

    def __init__(self, root: Path, *folders: Path) -> None:
        self.root = root
        self.environment = {**site.environment(*folders), "MINICLUSTER_RUNTIME_DIR": str(root)}

    def call(self, *words: object) -> subprocess.CompletedProcess[str]:
        """Run a command."""
        return subprocess.run(
            [*adapters.program(), *map(str, words)],
            env=self.environment,
            cwd=self.root.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def good(self, *words: object) -> str:
        """Run a command that must end with 0; its output."""
        done = self.call(*words)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout

    def rows(self, *words: object) -> Any:
        """Return what a command lists, as JSON."""
        return json.loads(self.good(*words, "--output", "json"))

    def inside(self, *words: object) -> str:
        """Run a command of the engine as a user in the cluster `mc` does."""
        return self.good("shell", "mc", "--", "flux", *words).strip()

    def flux(self, *words: object) -> str:
        """Run a command of the embedded engine on the cluster `mc`: quicker, without its environment."""
        mc = self.root / "mc"
        command = [str(mc / "bin" / "flux"), *map(str, words)]
        environment = {**self.environment, "FLUX_URI": f"local://{mc}/r/0/local"}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout.strip()
