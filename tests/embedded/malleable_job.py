"""A job of the program malleable_app.py, with real processes, and a job that comes before it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

APP = Path(__file__).with_name("malleable_app.py")
ROOT = Path(__file__).parents[2]
POLICY = '[minicluster]\nqueue-policy = "priority-elastic"\n[minicluster.scheduler-settings]\ngap = 0\n'


class MalleableJob:
    """It can have one to `most` workers, each of which has a core."""

    def __init__(self, instance: Any, directory: Path, *options: str, most: int = 6, **env: str) -> None:
        self.instance = instance
        self.here = directory
        settings = [f"--setattr=user.elastic.{key}" for key in ("min=1", f"max={most}", "malleable=true")]
        words = [f"--env={key}={value}" for key, value in {"PYTHONPATH": str(ROOT), **env}.items()]
        self.id = instance.flux(
            "submit", "-n1", *settings, *words, *options, sys.executable, str(APP), str(directory)
        ).stdout.strip()
        self.wait(lambda: self.task(0), "the first task")

    def wait(self, condition: Callable[[], object], what: str) -> Any:
        return self.instance.wait(condition, f"{what}; events: {self.events()}")

    def task(self, number: int) -> dict[str, Any] | None:
        file = self.here / f"task-{number}"
        return json.loads(file.read_text()) if file.exists() else None

    def events(self, name: str = "") -> list[dict[str, Any]]:
        log = self.instance.flux("job", "eventlog", "--format=json", self.id).stdout.splitlines()
        return [event for event in map(json.loads, log) if not name or event["name"] == name]

    def resized(self, size: int) -> bool:
        return any(event["context"]["size"] == size for event in self.events("resource-update"))

    def listed(self, field: str) -> str:
        return str(self.instance.flux("jobs", "-no", f"{{{field}}}", self.id).stdout.strip())

    def alive(self) -> dict[int, int]:
        """The tasks whose processes live, with the processes of their brokers."""
        tasks = {int(file.name[5:]): self.task(int(file.name[5:])) for file in self.here.glob("task-?")}
        return {
            n: seen["broker"]
            for n, seen in sorted(tasks.items())
            if seen and Path(f"/proc/{seen['pid']}").exists()
        }

    def brokers(self, *ranks: int) -> list[int]:
        return [self.instance.brokers[rank].pid for rank in ranks]

    def give_way(self, cores: int, *command: str) -> str:
        """Run a job that comes first, and that ends once there is a file `go`; return its id."""
        script = f"{' '.join(command)}\nuntil [ -e {self.here}/go ]; do sleep .02; done"
        words = ("submit", f"-n{cores}", "--urgency=20", "sh", "-c", script)
        other = str(self.instance.flux(*words).stdout.strip())
        seen = self.instance.flux("job", "wait-event", "-t", "60s", other, "start")
        assert seen.returncode == 0, seen.stderr
        return other

    def end(self) -> str:
        (self.here / "end").touch()
        self.instance.flux("job", "wait-event", "-t", "60s", self.id, "clean")
        return self.listed("status")
