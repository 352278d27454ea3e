"""A local cluster on the embedded instance for real malleable jobs, and figures from their eventlogs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from engines import MINICLUSTER, wait_for

from minicluster.instance.records import Event, JobRequest
from minicluster.local import connection, ownership

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from minicluster.instance.rpc_instance import RpcInstance

ROOT = Path(__file__).parents[1]
JACOBI = ROOT / "examples" / "jacobi" / "jacobi.py"
EDGE = 64  # rows of the plate: more than any job has tasks, and quickly computed
TIMEOUT = 300.0
NAME = "live"
EXEC = "guest.exec.eventlog"
DOCUMENT = """
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {{name: {name}}}
spec:
  size: {brokers}
  interactive: true
  flux: {{brokerConfig: {config}}}
  containers: [{{image: any, resources: {{limits: {{cpu: "{cores}"}}}}}}]
"""


@dataclass(frozen=True)
class Cluster:
    """A running cluster. Sizes of jobs are numbers of workers: tasks of one core."""

    instance: RpcInstance

    def jacobi(
        self,
        sizes: tuple[int, int],
        iterations: int,
        pace: Mapping[int, float],
        urgency: int = 16,
    ) -> int:
        """Submit a malleable Jacobi of a size between these; `pace` is seconds of an iteration by size.

        It listens for orders after each iteration, and fails where its answer is wrong.
        """
        table = ",".join(f"{size}:{seconds:.6f}" for size, seconds in pace.items())
        words = ("--size", str(EDGE), "--iterations", str(iterations), "--every", "1", "--pace", table)
        elastic = {"min": sizes[0], "max": sizes[1], "malleable": True}
        command = (sys.executable, str(JACOBI), *words, "--check")
        return self._submit(command, sizes[0], urgency, {"elastic": elastic})

    def rigid(self, size: int, *command: str) -> int:
        """Submit a job that holds so many cores, before all others."""
        return self._submit(command, size, 31, {})

    def _submit(self, command: tuple[str, ...], tasks: int, urgency: int, attributes: dict[str, Any]) -> int:
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG")}
        environment = {**kept, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
        return self.instance.jobs.submit(
            JobRequest(
                command, tasks, environment=environment, cwd="/", urgency=urgency, attributes=attributes
            )
        )

    def ended_well(self, job: int) -> None:
        """Wait until the job has ended, which must be with 0."""
        if self.instance.jobs.wait(job, TIMEOUT).returncode != 0:
            raise SystemExit(f"a job failed; it said:\n{self.output(job)}")

    def output(self, job: int) -> str:
        """What the job has printed so far."""
        with self.instance.jobs.output(job) as chunks:
            return b"".join(chunk.data for chunk in chunks).decode()

    def log(self, job: int) -> list[Event]:
        """The job's events, with those of its execution."""
        with self.instance.jobs.events(job) as events:
            found = list(events)
        text = self.instance.links.rpc("job-info.lookup", {"id": job, "keys": [EXEC], "flags": 0})[EXEC]
        found += [
            Event(job, record["timestamp"], record["name"], record.get("context", {}))
            for record in map(json.loads, text.splitlines())
        ]
        return sorted(found, key=lambda event: event.timestamp)

    def wait_for_event(self, job: int, name: str, count: int = 1) -> Event:
        """Wait for the job's event of this name, the `count`-th."""
        found: list[Event] = []

        def there() -> bool:
            with self.instance.jobs.events(job) as events:
                found[:] = [event for event in events if event.name == name]
            return len(found) >= count

        if not wait_for(there):
            raise SystemExit(f"a job has no {name}; it said:\n{self.output(job)}")
        return found[count - 1]


@contextlib.contextmanager
def live(policy: str, brokers: int, cores: int, *words: str, config: str = "") -> Iterator[Cluster]:
    """Bring up a cluster whose brokers have so many cores each, independent of the machine, and end it.

    `words` are further ones of `minicluster up`, and `config` is of broker.toml.
    """
    with tempfile.TemporaryDirectory(prefix="mcb-", dir="/tmp") as directory:
        os.environ[ownership.ROOT_VARIABLE] = f"{directory}/m"
        document = Path(directory, "live.yaml")
        document.write_text(
            DOCUMENT.format(name=NAME, brokers=brokers, cores=cores, config=json.dumps(config))
        )
        _minicluster("up", str(document), "--engine", "embedded", "--policy", policy, *words)
        try:
            with contextlib.closing(cast("RpcInstance", connection.of(NAME))) as instance:
                yield Cluster(instance)
        finally:
            _minicluster("down", NAME)


def _minicluster(*words: str) -> None:
    done = subprocess.run([str(MINICLUSTER), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"minicluster {' '.join(words)}: exit {done.returncode}\n{done.stderr}")


@dataclass(frozen=True)
class Moved:
    """What a program reports of one resize: from and to how many tasks, and the seconds of the move."""

    old: int
    new: int
    seconds: float


def moved(output: str) -> list[Moved]:
    """Read it from what the Jacobi printed."""
    lines = re.findall(r"from (\d+) to (\d+) tasks in ([\d.]+) s", output)
    return [Moved(int(old), int(new), float(seconds)) for old, new, seconds in lines]


def sizes_printed(output: str) -> list[int]:
    """Read from its last line but one on how many tasks the Jacobi ran, one after the other."""
    found = re.search(r"iterations on ([\d →]+) tasks", output)
    if found is None:
        raise SystemExit(f"a job did not say on how many tasks it ran:\n{output}")
    return [int(size) for size in found[1].split(" → ")]
