"""A MiniCluster of real Flux with a queue policy of ours, and what its users do there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.lead.client import until

if TYPE_CHECKING:
    from tests.lead.pods import Pods

PENDING = "import flux, json; print(json.dumps(flux.Flux().rpc('minicluster-sched.pending').get()))"


def elastic(least: int, most: int) -> tuple[str, str]:
    return f"--setattr=user.elastic.min={least}", f"--setattr=user.elastic.max={most}"


class Instance:
    """A MiniCluster with a policy of ours, as its users see it."""

    def __init__(self, pods: Pods) -> None:
        self.pods = pods

    def submit(self, *words: str) -> str:
        return self.pods.run("submit", *words)

    def resources_of(self, job: str) -> dict[str, Any]:
        self.pods.run("job", "wait-event", "-t", "25", job, "alloc")
        return dict(json.loads(self.pods.run("job", "info", job, "R"))["execution"])

    def hosts_and_slots(self, job: str) -> tuple[str, int]:
        """The hosts of a job that started, and its slots."""
        execution = self.resources_of(job)
        return ",".join(execution["nodelist"]), execution["nslots"]

    def state(self, job: str) -> str:
        return self.pods.run("jobs", "-no", "{state}", job)

    def annotation(self, job: str, name: str) -> str:
        """Wait for it."""
        form = f"{{annotations.sched.{name}}}"
        return str(until(lambda: self.pods.run("jobs", "-no", form, job), f"{name} of {job}"))

    def pending(self) -> dict[str, Any]:
        return dict(json.loads(self.pods.run("python", "-c", PENDING)))

    def clear(self) -> None:
        """End every job."""
        self.pods.ran("cancel", "--all")
        self.pods.run("queue", "drain")
