"""An instance with jobs of all kinds, which is dumped; and what is to be seen of them after a restore."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from tests.release_0_1_0.commands import Commands

JSON = dict[str, Any]
COLUMNS = ("id.dec", "name", "urgency", "ntasks", "duration", "status", "result", "returncode")
PLAIN = ("--env=-*", "--cwd=/tmp")
"""Nothing of the machine on which a job was submitted."""


def bring_up(here: Commands, folder: Path, *words: object, engine: str = "embedded") -> None:
    """Have a cluster `mc` of one node with two cores."""
    document = folder / "mc.yaml"
    container = {"image": "none", "resources": {"limits": {"cpu": "2"}}}
    about = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": {"name": "mc"}}
    spec = {"size": 1, "interactive": True, "containers": [container]}
    document.write_text(json.dumps({**about, "spec": spec}))
    here.good("up", document, "--engine", engine, *words)


def fill(here: Commands) -> None:
    """Submit jobs: some end, others wait for different reasons."""

    def submit(name: str, *words: str) -> str:
        return here.flux("submit", f"--job-name={name}", *PLAIN, *words)

    ended = [
        submit("done", "sh", "-c", "echo precious"),
        submit("failed", "-n2", "sh", "-c", "exit 3"),
        submit("limited", "--setattr=user.color=red", "true"),
    ]
    for job in ended:
        here.flux("job", "wait-event", "-t", "30s", job, "clean")
    here.flux("queue", "stop")
    pending = submit("held", "--urgency=0", "--setattr=user.color=blue", "true")
    here.flux("cancel", submit("canceled", "true"))
    submit("low", "--urgency=5", "-n2", "-t", "5m", "true")
    elastic = ("--setattr=user.elastic.min=1", "--setattr=user.elastic.max=2")
    submit("high", "--urgency=20", "-n2", *elastic, "true")
    submit("behind", f"--dependency=afterok:{pending}", "true")


def listed(here: Commands) -> JSON:
    """Return all jobs by their ids, once nothing runs any more that can."""
    for name in ("low", "high"):
        job = here.flux("jobs", "-a", "-A", "-n", f"--name={name}", "-o", "{id.dec}")
        here.flux("job", "wait-event", "-t", "30s", job, "clean")
    form = "|".join(f"{{{each}}}" for each in COLUMNS)
    rows = here.flux("jobs", "-a", "-A", "-n", "-o", form).splitlines()
    found = {}
    for row in sorted(rows):
        number, *values = row.split("|")
        spec = json.loads(here.flux("job", "info", number, "jobspec"))
        spec["attributes"]["system"].pop("environment", None)
        log = here.flux("job", "eventlog", "--format=json", number).splitlines()
        found[number] = {
            **dict(zip(COLUMNS[1:], values, strict=True)),
            "jobspec": spec,
            "events": [json.loads(each)["name"] for each in log],
        }
    return found
