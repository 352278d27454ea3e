"""A MiniCluster of real Flux whose scheduler is ours, and where its jobs' tasks are.

Commands that are programs of Flux's own start in milliseconds; those that are Python take a quarter of a
second each.
"""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from broker_config import broker_toml
from broker_config.formats import jobspec, resource_set
from broker_config.scheduler_settings import SchedulerSettings
from tests.lead.client import until

if TYPE_CHECKING:
    import subprocess

    from broker_config.formats.resource_set import Allocation
    from tests.lead.pods import Pods

CPUS = (
    "echo $FLUX_TASK_RANK ${MINICLUSTER_WORKER--} "
    "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
)
SLEEP = ("sleep", "inf")
_LATER = re.compile("has not registered yet|has another order under way")
_TASK = re.compile(r"cpu-affinity: task (\d+): cpus: (\S+)")


def request(slots: int, *, nodes: int = 0, cores: int = 1, affinity: str = "", **user: Any) -> Any:
    """Return the resources of a jobspec, its shell options and its user attributes."""
    wanted = jobspec.slot(slots, cores)
    if nodes:
        wanted = jobspec.node(nodes, wanted)
    options = {"cpu-affinity": affinity} if affinity else {}
    system = {"duration": 0, "shell": {"options": options}}
    return jobspec.build(("true",), wanted, {"per_slot": 1}, system, user)


class PlacedInstance:
    """It is left without jobs by each test."""

    def __init__(self, pods: Pods, brokers: int) -> None:
        self.pods = pods
        self._jobs: list[str] = []
        with pods.lead_api.watch() as watch:
            watch.until(online=f"0-{brokers - 1}" if brokers > 1 else "0", running=True)

    def submit(self, spec: Any, *command: str) -> str:
        """Submit a job; its id."""
        self._jobs.append(self.submitted(spec, *command).stdout.strip())
        return self._jobs[-1]

    def submitted(self, spec: Any, *command: str) -> subprocess.CompletedProcess[str]:
        """Submit a job, which may be refused."""
        spec = copy.deepcopy(spec)
        spec["tasks"][0]["command"] = list(command or ("true",))
        jobspec.complete(spec, {"PATH": "/usr/local/bin:/usr/bin:/bin"}, str(self.pods.directory))
        file = self.pods.directory / "jobspec.json"
        file.write_text(json.dumps(spec))
        return self.pods.ran("job", "submit", str(file))

    def reaches(self, job: str, event: str) -> None:
        self.pods.run("job", "wait-event", "-q", "-t", "30", job, event)

    def allocation(self, job: str) -> Allocation:
        """What a job has, once it has it."""
        self.reaches(job, "alloc")
        return resource_set.allocation_of(json.loads(self.pods.run("job", "info", job, "R")))

    def tasks(self, spec: Any) -> list[list[str]]:
        """Run a job; number, worker and CPUs of each task."""
        job = self.submit(spec, "sh", "-c", CPUS)
        return sorted(line.split() for line in self.pods.run("job", "attach", job).splitlines())

    def planned(self, spec: Any) -> dict[int, str]:
        """Run a job whose shells only print the CPUs to which they would bind each task."""
        printed = self.pods.ran("job", "attach", self.submit(spec)).stderr
        return {int(task): cpus for task, cpus in _TASK.findall(printed)}

    def reconfigure(self, **more: Any) -> None:
        """Load the scheduler again with another placement, as when the lead starts with another document."""
        self.pods.settings = replace(self.pods.settings, scheduler=SchedulerSettings("easy", **more))
        (self.pods.config / "broker.toml").write_text(broker_toml.render(self.pods.settings))
        self.pods.run("config", "reload")
        self.pods.run("module", "reload", "minicluster-sched")
        assert self.stats()["placement"].partition(":")[0] == more["placement"]

    def resized(self, job: str, workers: int) -> bool:
        """Have a malleable job get so many workers; false: its program takes no orders yet, or has one."""
        number = int(self.pods.run("job", "id", "--to=dec", job))
        asked = {"id": number, "workers": workers, "wait": True}
        script = f"import flux; flux.Flux().rpc('minicluster-sched.resize', {asked}).get()"
        self.reaches(job, "start")
        done = self.pods.ran("python", "-c", script)
        assert done.returncode == 0 or _LATER.search(done.stderr), done.stderr
        return done.returncode == 0

    def knows_domains(self, count: int) -> None:
        """Wait until as many are known: nodes are asked while jobs are placed already."""
        until(lambda: self.stats()["domains"] == count, f"{count} domains")

    def stats(self) -> dict[str, Any]:
        return dict(json.loads(self.pods.run("module", "stats", "minicluster-sched")))

    def clear(self) -> None:
        """End every job."""
        self.pods.run("job", "raiseall", "--force", "--severity=0", "cancel")
        while self._jobs:
            self.reaches(self._jobs.pop(), "clean")
