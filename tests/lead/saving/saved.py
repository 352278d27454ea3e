"""A cluster that is saved over its lead's API, and what became of its jobs."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from broker_config.settings import ArchiveSettings
from tests.lead.client import until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.lead.pods import Pods


class Saved:
    """A cluster that saves: its archive, its ledger (a line each time that a job's work is done)."""

    def __init__(self, pods: Callable[..., Pods], directory: Path, size: int = 3, **more: Any) -> None:
        self.archive = directory / "saved" / "mc.tgz"
        self.archive.parent.mkdir(parents=True, exist_ok=True)
        self.ledger = directory / "ledger"
        self.gate = directory / "gate"  # some jobs end only once it is there
        self.pods = pods(size, archive=ArchiveSettings(str(self.archive), drain_timeout=60), **more)
        self.lead_api = self.pods.lead_api
        self.names: dict[str, str] = {}

    def up(self, *ranks: int) -> Saved:
        self.pods.start(*ranks)
        with self.lead_api.watch() as watch:
            watch.until(running=True)
        return self

    def submit(self, name: str, *options: str, gate: bool = False) -> str:
        """Submit a job that writes its name into the ledger, perhaps once the gate is open; its id."""
        line = f"[ $FLUX_TASK_RANK != 0 ] || echo {name} >>{self.ledger}"
        if gate:
            line = f"until [ -e {self.gate} ]; do sleep 0.1; done; {line}"
        self.names[name] = self.pods.run("submit", *options, "sh", "-c", line)
        return self.names[name]

    def running(self, *names: str) -> None:
        for name in names:
            until(lambda name=name: self.state(self.names[name]) == "RUN", f"{name} runs")  # type: ignore[misc]

    def state(self, jobid: str) -> str:
        return self.pods.run("jobs", "-n", "-o", "{state}", jobid)

    def result(self, jobid: str) -> str:
        return self.pods.run("jobs", "-n", "-o", "{result}", jobid)

    def save(self, timeout: float = 0) -> None:
        assert self.lead_api.ask("POST", "/v1/save", {"timeout": timeout}) == (202, {})

    def saved(self) -> dict[str, Any]:
        """Wait for the lead's end; return its termination message."""
        assert self.pods.wait() == 75, self.pods.log_text()
        return self.words()

    def words(self) -> dict[str, Any]:
        """Return the lead's last termination message."""
        message = json.loads((self.pods.directory / "termination-0").read_text())
        assert isinstance(message, dict)
        return message

    def lose_state(self) -> None:
        """Remove all but the archive, as a new pod would begin."""
        shutil.rmtree(self.pods.directory / "0")

    def phase(self, phase: str) -> dict[str, Any]:
        """Wait for a phase of saving."""

        def poll() -> dict[str, Any] | None:
            with suppress(OSError):
                code, status = self.lead_api.ask("GET", "/v1/status")
                saving = status.get("saving") if code == 200 else None
                if saving and saving["phase"] == phase:
                    return dict(saving)
            return None

        return dict(until(poll, f"phase {phase}"))

    def done(self) -> None:
        """Wait until no job is active."""
        until(lambda: not self.pods.run("jobs", "-n", "-o", "{id}"), "every job's end")

    def lines(self) -> Counter[str]:
        return Counter(self.ledger.read_text().split() if self.ledger.exists() else [])
